/* verdict.c: where memory went. What is wrong with it is in verdict_trouble.c. */
#include "analyze/verdict.h"
#include "analyze/frames.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void verdict_say(struct verdict *v, enum tone tone, int weight, const char *fmt, ...)
{
	struct sentence *s = VEC_PUSH(v->v, v->n, v->cap);
	va_list ap;

	s->tone = tone;
	s->weight = weight;
	va_start(ap, fmt);
	if (vasprintf(&s->text, fmt, ap) < 0)
		s->text = mem_strdup("");
	va_end(ap);
}

void verdict_free(struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		free(v->v[i].text);
	free(v->v);
	*v = (struct verdict){0};
}

void verdict_place(struct text *t, const struct model *m, uint32_t stack)
{
	size_t at[3], n, i, shown = frames_shown(m, stack, at, 3);
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	if (!shown)
		text_puts(t, "a place without a stack");
	for (i = 0; i < shown; i++) {
		text_puts(t, !i ? "" : i == 1 ? ", called by " : " from ");
		frames_label(t, m, frame[at[i]]);
	}
}

/* "GPU 0", "GPU 1 (NVIDIA H200)", "The host". */
static void device_name(struct text *t, const struct report *r, const struct report_device *d)
{
	if (d->device == MODEL_NO_DEVICE)
		text_puts(t, "The host");
	else
		text_printf(t, "GPU %u", d->device);
	(void)r;
}

static void moment(struct text *t, const struct model *m, int64_t event, int64_t t_ns)
{
	char time[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];

	text_count(count, (uint64_t)event);
	if (m->has_time)
		text_printf(t, "%s in, event %s", text_ns(time, t_ns), count);
	else
		text_printf(t, "event %s", count);
}

static void share_of_device(struct text *t, const struct model *m, const struct report_device *d,
                            uint64_t bytes)
{
	uint64_t total = m->device[d->device].total;
	char size[TEXT_SIZE_MAX];

	double percent = 100.0 * (double)bytes / (double)total;

	if (total == MODEL_UNKNOWN || !total || bytes > total)
		return;
	text_bytes(size, total);
	if (percent < 0.05)
		text_printf(t, ", less than 0.1 %% of its %s", size);
	else
		text_printf(t, ", %.1f %% of its %s", percent, size);
}

static void say_where(struct verdict *v, const struct report *r, const struct report_device *d)
{
	const struct amount *a = &d->t->amount[TOTAL_REQUESTED];
	char size[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	struct text t = {0};

	device_name(&t, r, d);
	if (a->peak == MODEL_UNKNOWN) {
		text_printf(&t, " holds %s in %s live block%s; no history recorded: the peak is unknown",
		            text_bytes(size, a->end), text_count(count, d->t->live_blocks),
		            d->t->live_blocks == 1 ? "" : "s");
	} else if (!a->peak) {
		text_puts(&t, " had nothing allocated at any time");
	} else if (d->peak_event < 0) {
		text_printf(&t, " was highest %s began, with %s",
		            r->m->narrowed ? "when the part asked for" : "before the recording",
		            text_bytes(size, a->peak));
		share_of_device(&t, r->m, d, a->peak);
	} else {
		text_printf(&t, " needed at most %s", text_bytes(size, a->peak));
		share_of_device(&t, r->m, d, a->peak);
		text_puts(&t, " (");
		moment(&t, r->m, d->peak_event, d->peak_t_ns);
		text_puts(&t, ")");
	}
	if (a->peak != MODEL_UNKNOWN && a->end)
		text_printf(&t, "; at the end %s %s live in %s block%s", text_bytes(size, a->end),
		            d->t->live_blocks == 1 ? "is" : "are", text_count(count, d->t->live_blocks),
		            d->t->live_blocks == 1 ? "" : "s");
	else if (a->peak != MODEL_UNKNOWN && a->peak)
		text_puts(&t, "; everything was given back at the end");
	verdict_say(v, TONE_PLAIN, 90, "%s.", t.s);
	text_free(&t);
}

/* Bytes live at the peak that were there before the window began, without a stack. */
static uint64_t older_stackless(const struct model *m, const struct report_device *d)
{
	const struct columns *c = &m->ev;
	size_t after = d->peak_row + 1, row;
	uint64_t bytes = 0;
	uint8_t role[256];

	live_roles(d->t->level, role);
	for (row = 0; row < m->n_initial; row++)
		if (role[c->op[row]] == LIVE_ALLOC && c->device[row] == d->device && c->peer[row] >= after &&
		    m->stacks.at[c->stack[row] + 1] == m->stacks.at[c->stack[row]])
			bytes += c->size[row];
	return bytes;
}

static void say_who(struct verdict *v, const struct report *r, const struct report_device *d)
{
	bool known = d->t->amount[TOTAL_REQUESTED].peak != MODEL_UNKNOWN;
	const struct model *m = r->m;
	const struct live *l = known ? &d->peak : &d->end;
	const struct live_row *first = NULL; /* the largest with a stack */
	const char *when = known ? "at the peak" : "now";
	uint64_t stackless = 0;
	char size[TEXT_SIZE_MAX];
	struct text t = {0};
	size_t i;

	if (!l->n || !l->bytes)
		return;
	for (i = 0; i < l->n; i++) {
		bool has_stack = m->stacks.at[l->rows[i].stack + 1] > m->stacks.at[l->rows[i].stack];

		if (!has_stack)
			stackless += l->rows[i].bytes;
		else if (!first)
			first = &l->rows[i];
	}
	if (first) {
		double share = 100.0 * (double)first->bytes / (double)l->bytes;

		verdict_place(&t, m, first->stack);
		verdict_say(v, TONE_PLAIN, 70, "The largest part of it %s, %s (%.*f %%), was asked for by %s.", when,
		            text_bytes(size, first->bytes), share < 2 ? 1 : 0, share, t.s);
		text_free(&t);
	}
	if (stackless == l->bytes && m->source == SOURCE_RMM)
		verdict_say(v, TONE_PLAIN, 52, "RMM's logs have no stacks: --threads, --streams and --sizes say who asked for it.");
	else if (stackless == l->bytes && m->history == HISTORY_NONE)
		verdict_say(v, TONE_WARNING, 52, "No stacks were recorded, so who asked for it cannot be told.");
	else if (stackless * 4 > l->bytes && older_stackless(m, d) * 2 > stackless)
		verdict_say(v, TONE_WARNING, 52,
		            "%.0f %% of the memory live %s has no stack: it is older than the recording.",
		            100.0 * (double)stackless / (double)l->bytes, when);
	else if (stackless * 4 > l->bytes)
		verdict_say(v, TONE_WARNING, 52,
		            "%.0f %% of the memory live %s has no stack, so who asked for that "
		            "cannot be told.",
		            100.0 * (double)stackless / (double)l->bytes, when);
}

/* Pinned host memory: the driver's, or else what a framework's allocator handed out. */
static void say_host(struct verdict *v, const struct report *r, const struct report_device *d)
{
	const struct kind_total *k = d->t->kind;
	const struct kind_total *host = &k[k[GMS_K_PINNED].allocs || k[GMS_K_PINNED].end ? GMS_K_PINNED : GMS_K_HOST_BLOCK];
	char peak[TEXT_SIZE_MAX], end[TEXT_SIZE_MAX];
	bool alone = r->n == 1;
	const char *apart = alone || d->ooms.n ? "" : ", apart from the above";

	if (!host->peak || (host->peak < 1 << 20 && !alone))
		return;
	text_bytes(end, host->end);
	if (host->peak == MODEL_UNKNOWN)
		verdict_say(v, TONE_PLAIN, 30, "Pinned host memory%s: %s is live.", apart, end);
	else
		verdict_say(v, TONE_PLAIN, 30, "Pinned host memory%s: at most %s; at the end %s is live.", apart,
		            text_bytes(peak, host->peak), end);
}

static bool heavier(const struct sentence *s, size_t n, size_t i)
{
	size_t k, above = 0;

	for (k = 0; k < n; k++)
		above += s[k].weight > s[i].weight || (s[k].weight == s[i].weight && k < i);
	return above < VERDICT_MOST;
}

/* Keep the heaviest, in the order they were said. */
static void shorten(struct verdict *v)
{
	struct sentence *kept = mem_alloc(v->n * sizeof *kept);
	size_t i, n = 0;

	for (i = 0; i < v->n; i++)
		if (heavier(v->v, v->n, i))
			kept[n++] = v->v[i];
		else
			free(v->v[i].text);
	free(v->v);
	*v = (struct verdict){kept, n, n};
}

/* What the events reach back to, where that is not the beginning. */
static void say_history(struct verdict *v, const struct model *m)
{
	size_t n = m->ev.n - m->n_initial;
	char span[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];

	if (m->history != HISTORY_PARTIAL || !n)
		return;
	text_count(count, n);
	if (m->dropped_events)
		verdict_say(v, TONE_PLAIN, 54,
		            "The history covers the last %s events; %llu older ones were dropped, but "
		            "what is live is known exactly.",
		            count, (unsigned long long)m->dropped_events);
	else if (m->has_time)
		verdict_say(v, TONE_PLAIN, 54,
		            "The history covers the last %s (%s events); of what was before, only what "
		            "was still live is known.",
		            text_ns(span, m->ev.t_ns[m->ev.n - 1] - m->ev.t_ns[m->n_initial]), count);
	else
		verdict_say(v, TONE_PLAIN, 54,
		            "The history covers the last %s events; of what was before, only what was "
		            "still live is known.",
		            count);
}

static void say_about_recording(struct verdict *v, const struct report *r)
{
	const struct model *m = r->m;

	say_history(v, m);
	if (!m->complete)
		verdict_say(v, TONE_WARNING, 85,
		            "The recording is not whole%s%s%s: what was still live when it ended "
		            "is not called a leak.",
		            m->why_incomplete && *m->why_incomplete ? " (" : "",
		            m->why_incomplete ? m->why_incomplete : "",
		            m->why_incomplete && *m->why_incomplete ? ")" : "");
	if (m->frees_left_out)
		verdict_say(v, TONE_WARNING, 88,
		            "Frees were left out of this recording on purpose: peaks count what "
		            "was allocated and never what was given back, and nothing is called a leak.");
}

static void say_device(struct verdict *out, const struct report *r, const struct report_device *d)
{
	if (d->device == MODEL_NO_DEVICE) {
		verdict_oom(out, r, d);
		verdict_apart(out, d);
		say_host(out, r, d);
		return;
	}
	say_where(out, r, d);
	say_who(out, r, d);
	verdict_pool(out, r, d);
	verdict_trouble(out, r, d);
}

void verdict_make(const struct report *r, struct verdict *out)
{
	size_t i;

	*out = (struct verdict){0};
	if (r->m->why_nothing)
		verdict_say(out, TONE_WARNING, 100, "Nothing in this recording is what was asked for: %s.",
		            r->m->why_nothing);
	else if (!r->n)
		verdict_say(out, TONE_WARNING, 100, "Nothing was recorded: there is no event and no memory in this file.");
	/* What failed comes first, and the host comes last anyway. */
	for (i = 0; i < r->n; i++)
		if (r->devices[i].ooms.n)
			say_device(out, r, &r->devices[i]);
	for (i = 0; i < r->n; i++)
		if (!r->devices[i].ooms.n)
			say_device(out, r, &r->devices[i]);
	say_about_recording(out, r);
	if (out->n > VERDICT_MOST)
		shorten(out);
}
