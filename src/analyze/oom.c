/* oom.c: judges failed allocations from the state of segments and device just before. See oom.h. */
#include "analyze/oom.h"
#include "analyze/live.h"
#include "analyze/space.h"
#include "analyze/totals.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MIB                 (1024ull * 1024)
#define ERROR_OUT_OF_MEMORY 2

const char *oom_cause_name(enum oom_cause c)
{
	static const char *const name[] = {"real shortage",   "fragmentation",         "a limit",
	                                   "other processes", "refused by the driver", "unknown cause"};

	return name[c];
}

bool oom_setting_on(const struct model *m, const char *key)
{
	const char *own = model_setting_get(m, key);
	const char *conf = model_setting_get(m, "PYTORCH_CUDA_ALLOC_CONF");
	const char *at = conf ? strcasestr(conf, key) : NULL;

	if (own)
		return !strcasecmp(own, "true") || !strcmp(own, "1");
	return at && !strncasecmp(at + strlen(key), ":true", 5);
}

/* What a caching allocator asks the device for to serve a request. */
static uint64_t segment_for(uint64_t size)
{
	if (size <= MIB)
		return 2 * MIB;
	if (size < 10 * MIB)
		return 20 * MIB;
	return size > UINT64_MAX - 2 * MIB ? size : (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

struct span {
	uint64_t addr, size;
};

static int by_addr(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Driver level: the gaps between neighbouring live allocations are its holes. */
static void gaps(const struct model *m, uint8_t device, struct oom *o)
{
	struct span *live = NULL;
	size_t n = 0, cap = 0, i;
	uint8_t role[256];

	live_roles(GMS_DRIVER, role);
	o->cached = o->largest = o->holes = 0;
	for (i = 0; i < o->row; i++)
		if (m->ev.device[i] == device && role[m->ev.op[i]] == LIVE_ALLOC && m->ev.peer[i] > o->row &&
		    gms_kind_info[GMS_OP_KIND(m->ev.op[i])].space == GMS_VA)
			*VEC_PUSH(live, n, cap) = (struct span){m->ev.addr[i], m->ev.size[i]};
	if (n)
		qsort(live, n, sizeof *live, by_addr);
	for (i = 1; i < n; i++) {
		/* Less than a page of the device is rounding; more than the device is another range. */
		uint64_t end = live[i - 1].addr + live[i - 1].size, gap = live[i].addr - end;

		if (live[i].addr <= end || gap < 2 * MIB || (o->total != MODEL_UNKNOWN && gap > o->total))
			continue;
		o->holes++;
		o->cached += gap;
		o->largest = gap > o->largest ? gap : o->largest;
	}
	free(live);
}

/* What the driver lost: device memory that is neither free nor live nor was used before we allocated.
 * It sits in pages that are only partly filled (or went to somebody else meanwhile). */
static void find_stranded(const struct model *m, uint8_t device, struct oom *o)
{
	const struct columns *c = &m->ev;
	uint64_t live = 0, overhead = MODEL_UNKNOWN;
	uint8_t role[256];
	size_t row;

	live_roles(GMS_DRIVER, role);
	for (row = 0; row < o->row; row++) {
		uint32_t peer = c->peer[row];

		if (c->device[row] != device)
			continue;
		if (role[c->op[row]] == LIVE_ALLOC)
			live += c->size[row];
		else if (role[c->op[row]] == LIVE_FREE && peer != MODEL_NO_PEER &&
		         role[c->op[peer]] == LIVE_ALLOC)
			live -= c->size[peer] < live ? c->size[peer] : live;
		if (c->op[row] == GMS_OP(GMS_K_MEMORY, GMS_A_INFO) && c->size[row] - c->addr[row] >= live &&
		    c->size[row] - c->addr[row] - live < overhead)
			overhead = c->size[row] - c->addr[row] - live;
	}
	if (overhead != MODEL_UNKNOWN && o->others != MODEL_UNKNOWN)
		o->stranded = o->others > overhead ? o->others - overhead : 0;
}

static void state_before(const struct model *m, uint8_t device, struct oom *o)
{
	struct live live;
	struct space s;

	live_at(m, device, o->row, &live);
	o->live = live.bytes;
	live_free(&live);
	space_at(m, device, o->row, &s);
	if (s.known) {
		o->reserved = s.reserved;
		o->cached = s.free;
		o->holes = s.holes;
		o->whole = s.whole;
		o->largest = space_largest_for(m, &s, m->ev.stream[o->row], o->size);
	} else if (live_level(m, device) == GMS_DRIVER) {
		o->reserved = o->live;
		gaps(m, device, o);
	}
	space_free(&s);
	if (o->total != MODEL_UNKNOWN && o->free != MODEL_UNKNOWN && o->reserved != MODEL_UNKNOWN &&
	    o->total >= o->free && o->total - o->free >= o->reserved)
		o->others = o->total - o->free - o->reserved;
	if (!s.known && live_level(m, device) == GMS_DRIVER)
		find_stranded(m, device, o);
}

static uint64_t lacking(uint64_t want, uint64_t have)
{
	return want > have ? want - have : 0;
}

static enum oom_cause too_little(struct oom *o)
{
	/* A context and its kernels take a few hundred MiB: that alone is not somebody else. */
	if (o->others != MODEL_UNKNOWN && o->others > 1024 * MIB && o->others >= o->missing)
		return OOM_OTHERS;
	return OOM_SHORTAGE;
}

static enum oom_cause framework_cause(struct oom *o)
{
	uint64_t together;

	if (o->free != MODEL_UNKNOWN && o->free >= o->need)
		return OOM_LIMIT;
	if (o->cached == MODEL_UNKNOWN)
		return OOM_UNKNOWN;
	together = o->cached + (o->free == MODEL_UNKNOWN ? 0 : o->free);
	if (o->largest < o->size && o->cached >= o->size)
		return OOM_FRAGMENTATION;
	if (o->free == MODEL_UNKNOWN)
		return OOM_UNKNOWN;
	if (together >= o->size)
		return OOM_FRAGMENTATION;
	o->missing = lacking(o->size, together);
	return too_little(o);
}

static enum oom_cause driver_cause(struct oom *o)
{
	if (o->error && o->error != ERROR_OUT_OF_MEMORY)
		return OOM_REFUSED;
	if (o->free == MODEL_UNKNOWN)
		return OOM_UNKNOWN;
	if (o->free >= o->size)
		return o->holes && o->largest < o->size ? OOM_FRAGMENTATION : OOM_REFUSED;
	if (o->stranded != MODEL_UNKNOWN && o->stranded >= o->size)
		return OOM_FRAGMENTATION;
	o->missing = lacking(o->size, o->free);
	return too_little(o);
}

static unsigned helpful(const struct model *m, const struct oom *o, bool framework)
{
	unsigned help = 0;

	if (framework && o->whole >= o->need && o->cause != OOM_LIMIT)
		help |= OOM_HELP_RELEASE;
	if (o->cause == OOM_FRAGMENTATION && framework && !oom_setting_on(m, "expandable_segments"))
		help |= OOM_HELP_EXPANDABLE;
	if (o->cause == OOM_FRAGMENTATION && !framework)
		help |= OOM_HELP_POOL;
	if (o->cause == OOM_LIMIT)
		help |= OOM_HELP_FRACTION;
	if (o->cause == OOM_OTHERS)
		help |= OOM_HELP_OTHERS;
	if (o->cause == OOM_SHORTAGE || o->cause == OOM_LIMIT)
		help |= OOM_HELP_LESS;
	return help;
}

static struct oom describe(const struct model *m, uint8_t device, const struct failure *f, bool framework)
{
	return (struct oom){.row = f->event,
	                    .t_ns = m->ev.t_ns[f->event],
	                    .stack = m->ev.stack[f->event],
	                    .size = m->ev.size[f->event],
	                    .need = framework ? segment_for(m->ev.size[f->event]) : m->ev.size[f->event],
	                    .error = f->error,
	                    .framework = framework,
	                    .free = f->free,
	                    .total = f->total != MODEL_UNKNOWN ? f->total : m->device[device].total,
	                    .live = MODEL_UNKNOWN,
	                    .reserved = MODEL_UNKNOWN,
	                    .cached = MODEL_UNKNOWN,
	                    .largest = MODEL_UNKNOWN,
	                    .holes = MODEL_UNKNOWN,
	                    .others = MODEL_UNKNOWN,
	                    .stranded = MODEL_UNKNOWN,
	                    .cause = OOM_UNKNOWN};
}

void oom_find(const struct model *m, uint8_t device, struct ooms *out)
{
	bool framework = live_level(m, device) == GMS_FRAMEWORK;
	size_t row = m->n_initial, cap = 0, i;
	int64_t event = -1;

	*out = (struct ooms){0};
	for (i = 0; i < m->n_failures; i++) {
		const struct failure *f = &m->failures[i];
		struct oom *o;

		if (f->event >= m->ev.n || m->ev.device[f->event] != device)
			continue;
		o = VEC_PUSH(out->v, out->n, cap);
		*o = describe(m, device, f, framework);
		for (; row <= f->event; row++)
			event += m->ev.device[row] == device;
		o->event = event;
		if (out->examined == OOMS_EXAMINED)
			continue;
		out->examined++;
		state_before(m, device, o);
		o->cause = framework ? framework_cause(o) : driver_cause(o);
		o->help = helpful(m, o, framework);
	}
}

void oom_free(struct ooms *o)
{
	free(o->v);
	*o = (struct ooms){0};
}
