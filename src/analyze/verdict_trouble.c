/* verdict_trouble.c: the sentences about what is wrong on one device, and what to do about it. */
#include "analyze/verdict.h"
#include "base/text.h"
#include <stdio.h>

#define MIB (1024ull * 1024)

/* "about 3.00 MiB per step", or the number of blocks where a rate would mean nothing. */
static void growth_rate(struct text *t, const struct report *r, const struct growth *g)
{
	const struct columns *c = &r->m->ev;
	char size[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	bool seconds = g->unit == GROWTH_PER_SECOND && c->t_ns[c->n - 1] - c->t_ns[r->m->n_initial] > 2000000000;

	if (g->unit == GROWTH_PER_STEP || seconds)
		text_printf(t, "about %s per %s", text_bytes(size, (uint64_t)g->rows[0].slope),
			    seconds ? "second" : "step");
	else
		text_printf(t, "in %s block%s", text_count(count, g->rows[0].count), g->rows[0].count == 1 ? "" : "s");
}

static void say_growth(struct verdict *v, const struct report *r, const struct report_device *d)
{
	const struct growth_row *g = d->growth.rows;
	char grown[TEXT_SIZE_MAX], more[96] = "";
	struct text place = {0}, rate = {0};
	size_t others = 0, i;

	/* Growth that cannot matter is in the table, not in the verdict. */
	if (!d->growth.n || (g->bytes < MIB && g->bytes < d->t->amount[TOTAL_REQUESTED].peak / 100) ||
	    (d->growth.unit != GROWTH_PER_STEP && g->bytes < d->t->amount[TOTAL_REQUESTED].peak / 200))
		return;
	verdict_place(&place, r->m, g->stack);
	growth_rate(&rate, r, &d->growth);
	for (i = 1; i < d->growth.n; i++)
		others += d->growth.rows[i].bytes >= g->bytes / 100; /* the rest is in the table */
	if (others)
		snprintf(more, sizeof more, "; %zu other stack%s grow%s too", others, others > 1 ? "s" : "",
			 others > 1 ? "" : "s");
	text_bytes(grown, g->bytes);
	verdict_say(v, TONE_BAD, 95, "Memory grows: %s more, %s, kept by %s%s.", grown, rate.s, place.s, more);
	verdict_say(v, TONE_ADVICE, 60,
	            "Look there for what is stored and never dropped, such as results kept with their graph, "
	            "a cache or a list.");
	text_free(&place);
	text_free(&rate);
}

static void say_leaks(struct verdict *v, const struct report *r, const struct report_device *d)
{
	char bytes[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	const struct leaks *l = &d->leaks;
	struct text place = {0};

	if (l->basis != LEAK_LIVE_AT_END || !l->count)
		return;
	verdict_place(&place, r->m, l->rows[0].stack);
	verdict_say(v, TONE_BAD, 94, "%s in %s block%s were never freed; %.0f %% of that by %s.",
	            text_bytes(bytes, l->bytes), text_count(count, l->count), l->count == 1 ? "" : "s",
	            l->bytes ? 100.0 * (double)l->rows[0].bytes / (double)l->bytes : 0.0, place.s);
	text_free(&place);
}

/* "3.00 MiB pinned, 1.00 MiB registered": what the user's code left of memory that is not the device's. */
void verdict_apart(struct verdict *v, const struct report_device *d)
{
	const struct leaks *l = &d->leaks;
	uint64_t bytes[GMS_KINDS] = {0};
	char size[TEXT_SIZE_MAX];
	struct text t = {0};
	unsigned kind;
	size_t i;

	for (i = 0; i < l->n_apart; i++)
		bytes[l->apart[i].kind] +=
		    l->apart[i].library || l->apart[i].kind == GMS_K_HOST_BLOCK ? 0 : l->apart[i].bytes;
	for (kind = 0; kind < GMS_KINDS; kind++)
		if (bytes[kind])
			text_printf(&t, "%s%s %s", t.n ? ", " : "", text_bytes(size, bytes[kind]),
			            gms_kind_info[kind].name);
	if (t.n)
		verdict_say(v, TONE_WARNING, 54, "%s was never freed: %s.",
		            d->device == MODEL_NO_DEVICE ? "Host memory" : "Memory that is in no sum of the device", t.s);
	text_free(&t);
}

static void say_fragmentation(struct verdict *v, const struct report_device *d)
{
	const struct space *s =
	    d->t->amount[TOTAL_REQUESTED].peak == MODEL_UNKNOWN ? &d->end_space : &d->peak_space;
	char used[TEXT_SIZE_MAX], held[TEXT_SIZE_MAX], pinned[TEXT_SIZE_MAX];

	if (!s->known || !s->reserved)
		return;
	if (s->free > 64 * MIB && space_utilisation(s) < 0.75)
		verdict_say(
		    v, TONE_WARNING, 65, "The allocator held %s for %s in use then: %.0f %% utilisation.",
		    text_bytes(held, s->reserved), text_bytes(used, s->used), 100 * space_utilisation(s));
	if (d->pinned.free > 64 * MIB && d->pinned.free * 10 > d->end_space.reserved)
		verdict_say(v, TONE_WARNING, 62,
		            "At the end %zu segment%s with %s free cannot be returned: %llu block%s of %s %s "
		            "in them (--frag names them).",
		            d->pinned.n, d->pinned.n == 1 ? "" : "s", text_bytes(pinned, d->pinned.free),
		            (unsigned long long)d->pinned.blocks, d->pinned.blocks == 1 ? "" : "s",
		            text_bytes(used, d->pinned.used), d->pinned.blocks == 1 ? "lives" : "live");
}

static void say_cache(struct verdict *v, const struct report_device *d)
{
	char bytes[TEXT_SIZE_MAX];

	if (d->churn.flushes == 1)
		verdict_say(v, TONE_WARNING, 58,
		            "The cache was emptied once (%s given back to the device and asked for again): the program "
		            "waits for that.",
		            text_bytes(bytes, d->churn.flushed_bytes));
	else if (d->churn.flushes)
		verdict_say(v, TONE_WARNING, 58,
		            "The cache was emptied %llu times (%s given back to the device and asked for "
		            "again): each time the program waits.",
		            (unsigned long long)d->churn.flushes, text_bytes(bytes, d->churn.flushed_bytes));
}

static void say_capacity(struct verdict *v, const struct report *r, const struct report_device *d)
{
	uint64_t total = r->m->device[d->device].total, peak = d->t->amount[TOTAL_REQUESTED].peak;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	if (total != MODEL_UNKNOWN && peak != MODEL_UNKNOWN && peak > total)
		verdict_say(v, TONE_WARNING, 96,
		            "More was live than the device has: %s of %s. Memory was oversubscribed "
		            "(managed memory or a fall-back to system memory), which is slow.",
		            text_bytes(a, peak), text_bytes(b, total));
}

static void add_anomaly(struct text *t, uint64_t n, const char *one, const char *several)
{
	char count[TEXT_SIZE_MAX];

	if (n)
		text_printf(t, "%s%s %s", t->n ? ", " : "", text_count(count, n), n == 1 ? one : several);
}

static void say_inconsistent(struct verdict *v, const struct report *r, const struct report_device *d)
{
	const struct anomalies *a = &r->m->device[d->device].anomalies;
	uint64_t wrong = a->double_free + a->free_unknown + a->alloc_live;
	struct text t = {0};

	if (d->t->checksums_wrong)
		verdict_say(v, TONE_WARNING, 55,
		            "The recording contradicts itself: at event %lld it says %llu active bytes, "
		            "its own events give %llu.",
		            (long long)totals_event(r->m, d->device, d->t->first_wrong),
		            (unsigned long long)d->t->wrong_recorded, (unsigned long long)d->t->wrong_ours);
	if (!wrong || r->m->history != HISTORY_COMPLETE)
		return;
	add_anomaly(&t, a->free_unknown, "free of an address that was never allocated",
	            "frees of addresses that were never allocated");
	add_anomaly(&t, a->double_free, "double free", "double frees");
	add_anomaly(&t, a->alloc_live, "allocation over live memory", "allocations over live memory");
	verdict_say(v, TONE_WARNING, 57, "The events do not all fit together: %s.", t.s);
	text_free(&t);
}

static void say_coverage(struct verdict *v, const struct report_device *d)
{
	const struct coverage *c = &d->coverage;

	if (c->events >= 10 && c->with_stack && c->with_stack * 10 < c->events * 9)
		verdict_say(v, TONE_WARNING, 45, "Stacks cover %.1f %% of the events (--stacks says why).",
		            100.0 * (double)c->with_stack / (double)c->events);
}

void verdict_trouble(struct verdict *v, const struct report *r, const struct report_device *d)
{
	size_t before = v->n;

	verdict_oom(v, r, d);
	say_capacity(v, r, d);
	say_growth(v, r, d);
	say_leaks(v, r, d);
	verdict_apart(v, d);
	say_fragmentation(v, d);
	say_cache(v, d);
	say_inconsistent(v, r, d);
	say_coverage(v, d);
	if (v->n == before && r->m->complete && r->m->history != HISTORY_NONE && !r->m->frees_left_out)
		verdict_say(v, TONE_GOOD, 50, "Nothing is wrong here: no leak, %s, no failed request.",
		            d->growth.n ? "no growth that matters" : "no growth");
}
