/* check.c: rules → results. See check.h. */
#include "analyze/check.h"
#include "base/mem.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>

static void result(struct check *c, const char *rule, uint8_t device, bool passed, double value, double limit,
                   char *text)
{
	*VEC_PUSH(c->v, c->n, c->cap) = (struct check_result){.rule = rule,
	                                                      .device = device,
	                                                      .passed = passed,
	                                                      .known = !isnan(value),
	                                                      .value = value,
	                                                      .limit = limit,
	                                                      .text = text};
	c->failed += !passed;
}

static void bytes_rule(struct check *c, const char *rule, uint8_t device, uint64_t value, uint64_t limit)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	if (limit == CHECK_NO_LIMIT)
		return;
	if (value == MODEL_UNKNOWN)
		result(c, rule, device, false, NAN, (double)limit,
		       mem_printf("not known, %s allowed", text_bytes(b, limit)));
	else
		result(c, rule, device, value <= limit, (double)value, (double)limit,
		       mem_printf("%s, %s allowed", text_bytes(a, value), text_bytes(b, limit)));
}

static const char no_history[] = "not known: no history was recorded";

static void leak_rule(struct check *c, const struct report *r, const struct report_device *d, uint64_t limit)
{
	const char *doubt = leak_doubt(r->m, d->device);

	if (!doubt && r->m->history == HISTORY_NONE)
		doubt = no_history;
	if (limit == CHECK_NO_LIMIT)
		return;
	if (doubt)
		result(c, "max-leak", d->device, false, NAN, (double)limit, mem_strdup(doubt));
	else
		bytes_rule(c, "max-leak", d->device, d->leaks.bytes, limit);
}

static void growth_rule(struct check *c, const struct report *r, const struct report_device *d,
                        uint64_t limit)
{
	bool tells = r->m->history != HISTORY_NONE && !r->m->frees_left_out;

	if (limit != CHECK_NO_LIMIT)
		bytes_rule(c, "max-growth", d->device, tells ? d->growth.bytes : MODEL_UNKNOWN, limit);
}

static void frag_rule(struct check *c, const struct report *r, const struct report_device *d, double limit)
{
	const struct space *s = r->m->history == HISTORY_NONE ? &d->end_space : &d->peak_space;

	if (limit < 0)
		return;
	if (!s->known)
		result(c, "max-frag", d->device, true, NAN, limit, mem_strdup("passed over: no segments were recorded"));
	else
		result(c, "max-frag", d->device, space_external(s) <= limit, space_external(s), limit,
		       mem_printf("%.1f %%, %.1f %% allowed", 100 * space_external(s), 100 * limit));
}

static void failure_rule(struct check *c, const struct report *r, const struct report_device *d, uint64_t limit)
{
	if (limit == CHECK_NO_LIMIT)
		return;
	if (r->m->history == HISTORY_NONE)
		result(c, "max-failures", d->device, false, NAN, (double)limit, mem_strdup(no_history));
	else
		result(c, "max-failures", d->device, d->ooms.n <= limit, (double)d->ooms.n, (double)limit,
		       mem_printf("%zu, %llu allowed", d->ooms.n, (unsigned long long)limit));
}

static const struct report_device *same_device(const struct report *r, uint8_t device)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->devices[i].device == device)
			return &r->devices[i];
	return NULL;
}

static void baseline_rule(struct check *c, const char *rule, uint8_t device, uint64_t value, uint64_t before,
                          double tolerance)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];
	double limit = (double)before * (1 + tolerance);

	if (before == MODEL_UNKNOWN || value == MODEL_UNKNOWN)
		result(c, rule, device, false, NAN, NAN, mem_strdup("not known"));
	else
		result(c, rule, device, (double)value <= limit, (double)value, limit,
		       mem_printf("%s, was %s (%+.1f %%, %.1f %% tolerated)", text_bytes(a, value),
		                  text_bytes(b, before),
		                  before  ? 100 * ((double)value / (double)before - 1)
		                  : value ? 100.0
		                          : 0.0,
		                  100 * tolerance));
}

static void against(struct check *c, const struct report_device *now, const struct report_device *before,
                    double tolerance)
{
	const struct amount *a = now->t->amount, *b = before->t->amount;

	baseline_rule(c, "baseline-peak", now->device, a[TOTAL_REQUESTED].peak, b[TOTAL_REQUESTED].peak,
	              tolerance);
	baseline_rule(c, "baseline-end", now->device, a[TOTAL_REQUESTED].end, b[TOTAL_REQUESTED].end,
	              tolerance);
	if (b[TOTAL_RESERVED].peak != MODEL_UNKNOWN)
		baseline_rule(c, "baseline-reserved", now->device, a[TOTAL_RESERVED].peak,
		              b[TOTAL_RESERVED].peak, tolerance);
}

void check_make(struct check *c, const struct report *r, const struct check_limits *l,
                const struct report *baseline)
{
	size_t i;

	*c = (struct check){0};
	if (!r->n)
		result(c, "recorded", 0, false, NAN, NAN,
		       mem_strdup(r->m->why_nothing ? r->m->why_nothing : "nothing was recorded"));
	for (i = 0; i < r->n; i++) {
		const struct report_device *d = &r->devices[i], *before;

		if (d->device == MODEL_NO_DEVICE)
			continue;
		bytes_rule(c, "max-peak", d->device, d->t->amount[TOTAL_REQUESTED].peak, l->max_peak);
		bytes_rule(c, "max-reserved", d->device, d->t->amount[TOTAL_RESERVED].peak, l->max_reserved);
		bytes_rule(c, "max-end", d->device, d->t->amount[TOTAL_REQUESTED].end, l->max_end);
		leak_rule(c, r, d, l->max_leak);
		growth_rule(c, r, d, l->max_growth);
		frag_rule(c, r, d, l->max_frag);
		failure_rule(c, r, d, l->max_failures);
		before = baseline ? same_device(baseline, d->device) : NULL;
		if (before)
			against(c, d, before, l->tolerance);
		else if (baseline)
			result(c, "baseline-peak", d->device, false, NAN, NAN,
			       mem_strdup("this device does not occur in the baseline"));
	}
}

void check_free(struct check *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		free(c->v[i].text);
	free(c->v);
	*c = (struct check){0};
}
