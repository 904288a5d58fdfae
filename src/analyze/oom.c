/* oom.c: judges failed allocations from the state of segments and device just before. See oom.h.
 *
 * One walk over the rows serves all failures, so that a program that retries in a loop costs no more; only
 * the holes of a framework's segments are looked up failure by failure, for the first of each group.
 */
#include "analyze/oom.h"
#include "analyze/live.h"
#include "analyze/space.h"
#include "analyze/totals.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MIB                 (1024ull * 1024)
#define PAGE                (2 * MIB) /* the driver takes memory of the device in such pages */
#define ERROR_OUT_OF_MEMORY 2

const char *oom_cause_name(enum oom_cause c)
{
	static const char *const name[] = {"real shortage",   "fragmentation",         "a limit",
	                                   "other processes", "refused by the driver", "unknown cause"};

	return name[c];
}

static bool oom_setting_on(const struct model *m, const char *key)
{
	const char *own = model_setting_get(m, key);
	const char *conf = model_setting_get(m, "PYTORCH_CUDA_ALLOC_CONF");
	const char *at = conf ? strcasestr(conf, key) : NULL;

	if (own)
		return !strcasecmp(own, "true") || !strcmp(own, "1");
	return at && !strncasecmp(at + strlen(key), ":true", 5);
}

/* What a caching allocator asks the device for to serve a request; an expandable segment grows by pages. */
static uint64_t segment_for(uint64_t size, bool expandable)
{
	if (size <= MIB)
		return 2 * MIB;
	if (expandable)
		return size > UINT64_MAX - 20 * MIB ? size : (size + 20 * MIB - 1) / (20 * MIB) * (20 * MIB);
	if (size < 10 * MIB)
		return 20 * MIB;
	return size > UINT64_MAX - 2 * MIB ? size : (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

static uint64_t pages_for(uint64_t size)
{
	return size > UINT64_MAX - PAGE ? size : (size + PAGE - 1) / PAGE * PAGE;
}

/* --- the state while the rows go by -------------------------------------------------------- */

struct watch {
	const struct model *m;
	uint8_t device;
	size_t next; /* row */
	struct totals t;
	struct live_walk live;
	bool more;
	uint64_t partly;      /* free bytes of the pages that live allocations need, if none shares one */
	uint64_t overhead;    /* the least that was used beyond what we recorded; MODEL_UNKNOWN */
	uint64_t processes;   /* bytes of other processes, as NVML said last */
	bool nvml;            /* it told of this process, so it can tell it from others */
	struct map64 process; /* → index in bytes */
	uint64_t *bytes;
	size_t n, cap;
};

static uint64_t part_of_page(const struct watch *w, uint32_t alloc)
{
	enum gms_kind kind = GMS_OP_KIND(w->m->ev.op[alloc]);

	return kind == GMS_K_DEVICE ? pages_for(w->m->ev.size[alloc]) - w->m->ev.size[alloc] : 0;
}

static const struct device_totals *now(const struct watch *w)
{
	return w->t.device[w->device];
}

/* What the device holds for what we recorded. Where the reserve of pools is not known: what is live. */
static uint64_t held(const struct watch *w)
{
	uint64_t reserved = totals_now(now(w), TOTAL_RESERVED);

	return reserved == MODEL_UNKNOWN && now(w)->level == GMS_DRIVER ? totals_now(now(w), TOTAL_REQUESTED)
	                                                                 : reserved;
}

static void on_process(struct watch *w, uint64_t pid, uint64_t bytes)
{
	uint32_t *at;
	bool fresh;

	w->nvml |= pid && pid == w->m->pid && bytes;
	if (!pid || pid == w->m->pid) /* 0: all together */
		return;
	at = map64_put(&w->process, pid, &fresh);
	if (fresh) {
		*at = (uint32_t)w->n;
		*VEC_PUSH(w->bytes, w->n, w->cap) = 0;
	}
	w->processes += bytes - w->bytes[*at];
	w->bytes[*at] = bytes;
}

static void on_sample(struct watch *w, size_t row)
{
	const struct columns *c = &w->m->ev;
	uint64_t own = held(w), used = c->size[row] - c->addr[row];

	if (c->op[row] == GMS_OP(GMS_K_PROCESS, GMS_A_INFO))
		on_process(w, c->addr[row], c->size[row]);
	else if (c->op[row] == GMS_OP(GMS_K_MEMORY, GMS_A_INFO) && c->addr[row] <= c->size[row] && used >= own &&
	         used - own < w->overhead)
		w->overhead = used - own;
}

static void watch_begin(struct watch *w, const struct model *m, uint8_t device)
{
	*w = (struct watch){.m = m, .device = device, .overhead = MODEL_UNKNOWN};
	totals_begin(&w->t, m);
	live_begin(&w->live, m, device);
	w->more = live_next(&w->live);
}

/* Go on to the state just before this row. */
static void watch_until(struct watch *w, size_t row)
{
	for (; w->more && w->live.row < row; w->more = live_next(&w->live)) {
		w->partly += w->live.begins != MODEL_NO_PEER ? part_of_page(w, w->live.begins) : 0;
		w->partly -= w->live.ends != MODEL_NO_PEER ? part_of_page(w, w->live.ends) : 0;
	}
	for (; w->next < row; w->next++) {
		totals_step(&w->t, w->next);
		if (GMS_OP_ACTION(w->m->ev.op[w->next]) == GMS_A_INFO && w->m->ev.device[w->next] == w->device)
			on_sample(w, w->next);
	}
}

static void watch_end(struct watch *w)
{
	totals_end(&w->t);
	totals_free(&w->t);
	live_end(&w->live);
	map64_free(&w->process);
	free(w->bytes);
}

/* --- one failure --------------------------------------------------------------------------- */

static void note_state(struct oom *o, const struct watch *w)
{
	uint64_t active = totals_now(now(w), TOTAL_ACTIVE), lost;

	o->live = totals_now(now(w), TOTAL_REQUESTED);
	o->reserved = held(w);
	if (active == MODEL_UNKNOWN) /* sizes of blocks that nobody recorded: less their rounding */
		active = o->live;
	if (o->framework && o->reserved != MODEL_UNKNOWN && active <= o->reserved)
		o->cached = o->reserved - active;
	if (o->total != MODEL_UNKNOWN && o->free != MODEL_UNKNOWN && o->reserved != MODEL_UNKNOWN &&
	    o->total >= o->free && o->total - o->free >= o->reserved)
		o->others = o->total - o->free - o->reserved;
	if (w->nvml)
		o->processes = w->processes;
	if (!o->framework && o->others != MODEL_UNKNOWN && w->overhead != MODEL_UNKNOWN) {
		lost = o->others > w->overhead ? o->others - w->overhead : 0;
		o->stranded = lost < w->partly ? lost : w->partly;
	}
}

/* The holes of a framework's segments. */
static void note_holes(struct oom *o, const struct model *m, uint8_t device)
{
	struct space s;

	space_at(m, device, o->row, &s);
	if (s.known) {
		o->holes = s.holes;
		o->whole = s.whole;
		o->largest = space_largest_for(m, &s, m->ev.stream[o->row], o->size);
	}
	space_free(&s);
}

static enum oom_cause too_little(struct oom *o, uint64_t want, uint64_t have)
{
	o->missing = want > have ? want - have : 0;
	if (o->processes != MODEL_UNKNOWN)
		return o->processes && o->processes >= o->missing ? OOM_OTHERS : OOM_SHORTAGE;
	/* A context and its kernels take a few hundred MiB: that alone is not somebody else. */
	return o->others != MODEL_UNKNOWN && o->others > 1024 * MIB && o->others >= o->missing ? OOM_OTHERS
	                                                                                        : OOM_SHORTAGE;
}

static enum oom_cause framework_cause(struct oom *o, bool expandable)
{
	uint64_t want = expandable ? o->need : o->size;

	if (o->free != MODEL_UNKNOWN && o->free >= o->need)
		return OOM_LIMIT;
	if (o->cached != MODEL_UNKNOWN && o->cached >= o->size)
		return OOM_FRAGMENTATION; /* it is there, and yet no hole could be used */
	if (o->cached == MODEL_UNKNOWN || o->free == MODEL_UNKNOWN)
		return OOM_UNKNOWN;
	if (o->cached + o->free >= want)
		return OOM_FRAGMENTATION;
	return too_little(o, want, o->cached + o->free);
}

static enum oom_cause driver_cause(struct oom *o, uint8_t op)
{
	if ((o->error && o->error != ERROR_OUT_OF_MEMORY) || !(gms_kind_info[GMS_OP_KIND(op)].flags & GMS_ON_DEVICE))
		return OOM_REFUSED;
	if (o->free == MODEL_UNKNOWN)
		return OOM_UNKNOWN;
	if (o->free >= o->need)
		return OOM_REFUSED;
	if (o->stranded != MODEL_UNKNOWN && o->stranded >= o->need - o->free)
		return OOM_FRAGMENTATION;
	return too_little(o, o->need, o->free);
}

bool oom_too_large(const struct oom *o)
{
	return o->free != MODEL_UNKNOWN && o->reserved != MODEL_UNKNOWN && o->need > o->free + o->reserved;
}

static unsigned helpful(const struct model *m, const struct oom *o)
{
	bool split = o->cached != MODEL_UNKNOWN && o->cached >= o->size && o->largest < o->size;
	unsigned help = 0;

	if (o->framework && o->whole != MODEL_UNKNOWN && o->whole >= o->need && o->cause != OOM_LIMIT)
		help |= OOM_HELP_RELEASE;
	if (o->framework && (o->cause == OOM_FRAGMENTATION || (o->cause == OOM_LIMIT && split)) &&
	    !oom_setting_on(m, "expandable_segments"))
		help |= OOM_HELP_EXPANDABLE;
	if (o->cause == OOM_FRAGMENTATION && !o->framework)
		help |= OOM_HELP_POOL;
	if (o->cause == OOM_LIMIT)
		help |= OOM_HELP_FRACTION;
	if (o->cause == OOM_OTHERS)
		help |= OOM_HELP_OTHERS;
	if (o->cause == OOM_SHORTAGE)
		help |= OOM_HELP_LESS;
	return help;
}

static struct oom describe(const struct model *m, uint8_t device, const struct failure *f)
{
	bool framework = gms_kind_info[GMS_OP_KIND(m->ev.op[f->event])].level == GMS_FRAMEWORK;
	uint64_t size = m->ev.size[f->event];

	return (struct oom){.row = f->event,
	                    .t_ns = m->ev.t_ns[f->event],
	                    .stack = m->ev.stack[f->event],
	                    .size = size,
	                    .need = framework ? segment_for(size, oom_setting_on(m, "expandable_segments")) : pages_for(size),
	                    .error = f->error,
	                    .framework = framework,
	                    .free = f->free,
	                    .total = f->total != MODEL_UNKNOWN ? f->total : m->device[device].total,
	                    .live = MODEL_UNKNOWN,
	                    .reserved = MODEL_UNKNOWN,
	                    .cached = MODEL_UNKNOWN,
	                    .largest = MODEL_UNKNOWN,
	                    .holes = MODEL_UNKNOWN,
	                    .whole = MODEL_UNKNOWN,
	                    .others = MODEL_UNKNOWN,
	                    .processes = MODEL_UNKNOWN,
	                    .stranded = MODEL_UNKNOWN,
	                    .cause = OOM_UNKNOWN};
}

/* --- all of them --------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b)
{
	const struct oom *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

/* Put it to those that are like it. True: it is the first of its kind. */
static bool join_group(struct ooms *all, struct map64 *groups, size_t i)
{
	struct oom *o = &all->v[i], *first;
	uint64_t key = hash_u64(o->size ^ hash_u64((uint64_t)o->stack << 32 ^ (uint64_t)(uint32_t)o->error << 8 ^
	                                           (uint64_t)o->cause));
	bool fresh;
	uint32_t *at = map64_put(groups, key, &fresh);

	if (fresh)
		*at = (uint32_t)i;
	o->group = *at;
	first = &all->v[*at];
	first->alike++;
	first->last = i;
	all->groups += fresh;
	return fresh;
}

static void judge(struct ooms *all, const struct model *m, uint8_t device)
{
	bool expandable = oom_setting_on(m, "expandable_segments");
	struct map64 groups = {0};
	int64_t event = -1;
	struct watch w;
	size_t i, row = m->n_initial;

	watch_begin(&w, m, device);
	for (i = 0; i < all->n; i++) {
		struct oom *o = &all->v[i];

		for (; row <= o->row; row++)
			event += m->ev.device[row] == device;
		o->event = event;
		watch_until(&w, o->row);
		note_state(o, &w);
		o->cause = o->framework ? framework_cause(o, expandable) : driver_cause(o, m->ev.op[o->row]);
		if (join_group(all, &groups, i) && o->framework && all->groups <= OOMS_DETAILED)
			note_holes(o, m, device);
		o->help = helpful(m, o);
	}
	watch_end(&w);
	map64_free(&groups);
}

void oom_find(const struct model *m, uint8_t device, struct ooms *out)
{
	size_t cap = 0, i;

	*out = (struct ooms){0};
	for (i = 0; i < m->n_failures; i++) {
		const struct failure *f = &m->failures[i];

		if (f->event < m->ev.n && m->ev.device[f->event] == device)
			*VEC_PUSH(out->v, out->n, cap) = describe(m, device, f);
	}
	if (!out->n)
		return;
	qsort(out->v, out->n, sizeof *out->v, by_row);
	judge(out, m, device);
}

void oom_free(struct ooms *o)
{
	free(o->v);
	*o = (struct ooms){0};
}
