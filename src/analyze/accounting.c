/* accounting.c: the books of one device. See accounting.h. */
#include "analyze/accounting.h"
#include "analyze/frames.h"
#include "analyze/live.h"
#include "analyze/space.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

#define ASKED_AGAIN_NS 150000000 /* NVML is, at the latest */

/* What this process took from the driver, at one row. */
struct books {
	const struct model *m;
	uint8_t device;
	size_t row;
	struct space s; /* the framework's segments */
	uint64_t pending, pending_blocks;
	struct owner {
		uint32_t name;
		uint64_t bytes, count;
	} *owners; /* of allocations that are no segments */
	size_t n_owners, cap_owners;
	uint64_t physical; /* of them, by cuMemCreate */
	uint32_t mapper;   /* the owner that maps it into segments */
	uint64_t pools, graphs;
	uint64_t managed, pinned, registered, imported;
};

static bool is_live(const struct columns *c, size_t alloc, size_t row)
{
	return c->peer[alloc] == MODEL_NO_PEER || c->peer[alloc] > row;
}

/* --- whose allocation --------------------------------------------------------------------------------- */

/* The driver, the CUDA runtime, we ourselves, an interpreter and libc called on somebody's behalf. */
static bool is_messenger(const char *module)
{
	static const char *const names[] = {"libcuda.so", "libcudart.so", "libgpumemsnap.so", "libgpumemcache.so",
					    "libffi.so",  "_ctypes",	  "python",	      "libpython",
					    "libc.so"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(module, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The file of the first frame that is nobody's messenger: a library, or a script; else of the outermost frame
 * that has one, the program; else 0. */
static uint32_t owner_of(const struct model *m, uint32_t stack)
{
	const uint32_t *frame;
	uint32_t file, last = 0;
	size_t i, n;

	frame = model_stack_frames(m, stack, &n);
	for (i = 0; i < n; i++) {
		const struct frame *f = &m->frames.v[frame[i]];

		file = f->module ? f->module : f->file;
		if (file && !is_messenger(frames_base(model_text(m, file))))
			return file;
		last = file ? file : last;
	}
	return last;
}

static void add_owner(struct books *b, uint32_t name, uint64_t bytes)
{
	size_t i;

	for (i = 0; i < b->n_owners && b->owners[i].name != name; i++)
		;
	if (i == b->n_owners)
		*VEC_PUSH(b->owners, b->n_owners, b->cap_owners) = (struct owner){.name = name};
	b->owners[i].bytes += bytes;
	b->owners[i].count++;
}

static int by_bytes(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : (x->name > y->name) - (x->name < y->name);
}

/* --- the driver's side ---------------------------------------------------------------------------------- */

static bool in_segment(const struct space *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->segments[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - s->segments[lo - 1].addr < s->segments[lo - 1].size;
}

static void on_alloc(struct books *b, size_t row)
{
	const struct columns *c = &b->m->ev;
	enum gms_kind kind = GMS_OP_KIND(c->op[row]);
	uint64_t size = c->size[row];

	if (!is_live(c, row, b->row) ||
	    (gms_kind_info[kind].flags & GMS_ON_DEVICE && c->device[row] != b->device))
		return;
	switch (kind) {
	case GMS_K_PHYSICAL:
		b->physical += size;
		add_owner(b, owner_of(b->m, c->stack[row]), size);
		break;
	case GMS_K_DEVICE:
	case GMS_K_ASYNC:
	case GMS_K_ARRAY:
		if (!in_segment(&b->s, c->addr[row]))
			add_owner(b, owner_of(b->m, c->stack[row]), size);
		break;
	case GMS_K_MANAGED:
		b->managed += size;
		break;
	case GMS_K_PINNED:
		b->pinned += size;
		break;
	case GMS_K_REGISTERED:
		b->registered += size;
		break;
	case GMS_K_IMPORTED:
		b->imported += size;
		break;
	default:
		break;
	}
}

static uint64_t take_from(struct owner *o, uint64_t bytes)
{
	uint64_t taken = o->bytes < bytes ? o->bytes : bytes;

	o->bytes -= taken;
	o->count = 0; /* it is not known how many are left */
	return taken;
}

/* Handles that are mapped into expandable segments are those segments. Whose they are says the stack of the
 * mapping; what that owner has not is taken from who has most. */
static void take_out_expandable(struct books *b)
{
	uint64_t expandable = 0;
	size_t i;

	for (i = 0; i < b->s.n; i++)
		expandable += b->s.segments[i].expandable ? b->s.segments[i].size : 0;
	if (expandable > b->physical)
		expandable = b->physical;
	for (i = 0; i < b->n_owners && expandable; i++)
		if (b->mapper && b->owners[i].name == b->mapper)
			expandable -= take_from(&b->owners[i], expandable);
	for (i = 0; i < b->n_owners && expandable; i++)
		expandable -= take_from(&b->owners[i], expandable);
}

/* A pool keeps what it reserved, as last sampled, less what is live in it. */
static void add_pools(struct books *b, const uint64_t *reserved, const uint64_t *live)
{
	size_t i;

	for (i = 0; i < b->m->n_pools; i++)
		b->pools += reserved[i] > live[i] ? reserved[i] - live[i] : 0;
}

static void driver_side(struct books *b)
{
	const struct columns *c = &b->m->ev;
	uint64_t *reserved = mem_zalloc(b->m->n_pools, sizeof *reserved);
	uint64_t *live = mem_zalloc(b->m->n_pools, sizeof *live);
	size_t row;

	for (row = 0; row <= b->row && row < c->n; row++) {
		if (c->device[row] != b->device && c->device[row] != MODEL_NO_DEVICE)
			continue;
		if (GMS_OP_ACTION(c->op[row]) == GMS_A_ALLOC)
			on_alloc(b, row);
		if (c->op[row] == GMS_OP(GMS_K_ASYNC, GMS_A_ALLOC) && is_live(c, row, b->row))
			live[c->pool[row]] += c->size[row];
		else if (c->op[row] == GMS_OP(GMS_K_POOL, GMS_A_INFO))
			reserved[c->pool[row]] = c->size[row];
		else if (c->op[row] == GMS_OP(GMS_K_POOL, GMS_A_FREE))
			reserved[c->pool[row]] = 0;
		else if (c->op[row] == GMS_OP(GMS_K_GRAPH, GMS_A_INFO))
			b->graphs = c->size[row];
		else if (c->op[row] == GMS_OP(GMS_K_PHYSICAL, GMS_A_MAP) && in_segment(&b->s, c->addr[row]))
			b->mapper = owner_of(b->m, c->stack[row]);
	}
	add_pools(b, reserved, live);
	free(reserved);
	free(live);
	if (b->n_owners)
		qsort(b->owners, b->n_owners, sizeof *b->owners, by_bytes);
	take_out_expandable(b);
}

/* --- the framework's side --------------------------------------------------------------------------------- */

static void count_pending(struct books *b)
{
	const struct columns *c = &b->m->ev;
	size_t row;

	for (row = 0; row <= b->row && row < c->n; row++) {
		uint32_t alloc = c->peer[row];

		if (c->op[row] != GMS_OP(GMS_K_BLOCK, GMS_A_FREE_REQUESTED) || c->device[row] != b->device ||
		    alloc == MODEL_NO_PEER || !is_live(c, alloc, b->row))
			continue;
		b->pending += c->size[alloc];
		b->pending_blocks++;
	}
}

/* A sample may stand before the allocation that prompted it, at the same time: it has seen it. */
static size_t end_of_moment(const struct model *m, size_t row)
{
	while (m->has_time && row < m->ev.n && row + 1 < m->ev.n && m->ev.t_ns[row + 1] == m->ev.t_ns[row])
		row++;
	return row;
}

static void books_make(struct books *b, const struct model *m, uint8_t device, size_t row)
{
	row = end_of_moment(m, row);
	*b = (struct books){.m = m, .device = device, .row = row};
	space_at(m, device, row, &b->s);
	count_pending(b);
	driver_side(b);
}

static void books_free(struct books *b)
{
	space_free(&b->s);
	free(b->owners);
}

static uint64_t books_sum(const struct books *b)
{
	uint64_t sum = b->s.reserved + b->pools + b->graphs;
	size_t i;

	for (i = 0; i < b->n_owners; i++)
		sum += b->owners[i].bytes;
	return sum;
}

static uint64_t books_sum_at(const struct model *m, uint8_t device, size_t row)
{
	struct books b;
	uint64_t sum;

	books_make(&b, m, device, row);
	sum = books_sum(&b);
	books_free(&b);
	return sum;
}

/* --- the account -------------------------------------------------------------------------------------------- */

static void add(struct accounting *a, size_t *cap, struct account part)
{
	if (!part.bytes)
		return;
	a->sum += part.bytes;
	*VEC_PUSH(a->v, a->n, *cap) = part;
}

static void add_own(struct accounting *a, size_t *cap, const struct books *b)
{
	const struct space *s = &b->s;
	uint64_t pending = b->pending < s->requested ? b->pending : s->requested;
	size_t i;

	add(a, cap, (struct account){.part = ACCOUNT_ACTIVE,
				     .bytes = (int64_t)(s->requested - pending),
				     .count = s->n_blocks - b->pending_blocks});
	add(a, cap, (struct account){.part = ACCOUNT_PENDING, .bytes = (int64_t)pending, .count = b->pending_blocks});
	add(a, cap, (struct account){.part = ACCOUNT_ROUNDING, .bytes = (int64_t)(s->used - s->requested)});
	add(a, cap, (struct account){.part = ACCOUNT_CACHED_PARTS,
				     .bytes = (int64_t)(s->reserved - s->used - s->whole)});
	add(a, cap, (struct account){.part = ACCOUNT_CACHED_WHOLE, .bytes = (int64_t)s->whole});
	for (i = 0; i < b->n_owners; i++)
		add(a, cap, (struct account){.part = ACCOUNT_LIBRARY,
					     .name = b->owners[i].name,
					     .bytes = (int64_t)b->owners[i].bytes,
					     .count = b->owners[i].count});
	add(a, cap, (struct account){.part = ACCOUNT_POOL_RESERVE, .bytes = (int64_t)b->pools});
	add(a, cap, (struct account){.part = ACCOUNT_GRAPHS, .bytes = (int64_t)b->graphs});
	a->managed = b->managed;
	a->pinned = b->pinned;
	a->registered = b->registered;
	a->imported = b->imported;
}

static bool is_sample(const struct model *m, size_t row, enum gms_kind kind, uint8_t device)
{
	return m->ev.op[row] == GMS_OP(kind, GMS_A_INFO) && m->ev.device[row] == device;
}

/* Rows of the process's own samples: the first that shows all of its context, and the last up to the instant.
 * NVML may be asked while a context is being made; it is whole when the first allocation is. */
static bool own_samples(const struct model *m, uint8_t device, size_t until, size_t *first, size_t *last)
{
	int64_t whole_ns = INT64_MAX;
	bool found = false;
	size_t row;

	for (row = 0; row <= until && row < m->ev.n; row++) {
		if (whole_ns == INT64_MAX && is_sample(m, row, GMS_K_MEMORY, device))
			whole_ns = m->ev.t_ns[row] + ASKED_AGAIN_NS;
		if (!is_sample(m, row, GMS_K_PROCESS, device) || m->ev.addr[row] != m->pid || !m->pid || !m->ev.size[row])
			continue;
		if (!found || m->ev.t_ns[row] <= whole_ns)
			*first = row;
		*last = row;
		found = true;
	}
	return found;
}

static void add_context(struct accounting *a, size_t *cap, const struct model *m, uint8_t device)
{
	size_t first, last;
	int64_t at_first, now;

	a->by_nvml = own_samples(m, device, a->row, &first, &last);
	if (!a->by_nvml)
		return;
	at_first = (int64_t)(m->ev.size[first] - books_sum_at(m, device, first));
	now = (int64_t)(m->ev.size[last] - books_sum_at(m, device, last));
	add(a, cap, (struct account){.part = ACCOUNT_CONTEXT, .bytes = at_first});
	add(a, cap, (struct account){.part = ACCOUNT_CONTEXT_LATER, .bytes = now - at_first});
}

/* More is explained than is used: what this process allocated just before NVML was asked was noted just after (a
 * pool's reserve is sampled), and stands in the context as well. At the instant itself it is noted. */
static void take_back_context(struct accounting *a, const struct model *m, uint8_t device)
{
	size_t first, last, i;
	int64_t twice, too_much = a->sum - (int64_t)a->used;

	if (!a->by_nvml || a->used == MODEL_UNKNOWN || too_much <= 0 || !own_samples(m, device, a->row, &first, &last))
		return;
	twice = (int64_t)(books_sum_at(m, device, a->row) - books_sum_at(m, device, last));
	if (twice <= 0 || llabs(twice - too_much) >= too_much)
		return;
	for (i = 0; i < a->n; i++)
		if (a->v[i].part == ACCOUNT_CONTEXT_LATER) {
			a->v[i].bytes -= twice;
			a->sum -= twice;
		}
}

static int by_size(const void *a, const void *b)
{
	const struct account *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_other(const struct model *m, size_t row, uint8_t device)
{
	return row < m->ev.n && is_sample(m, row, GMS_K_PROCESS, device) && m->ev.addr[row] && m->ev.addr[row] != m->pid;
}

/* NVML listed processes, not this one, and some that have no name here. */
static bool has_foreign_ids(const struct model *m, uint8_t device)
{
	size_t row;

	for (row = 0; row < m->ev.n; row++)
		if (is_other(m, row, device) && !m->threads[m->ev.thread[row]].name)
			return true;
	return false;
}

/* The last sample of each other process. */
static void add_others(struct accounting *a, size_t *cap, const struct model *m, uint8_t device)
{
	size_t row, from = a->n;
	struct map64 seen = {0};
	bool fresh;

	for (row = a->row + 1; row-- > 0;)
		if (is_other(m, row, device)) {
			map64_put(&seen, m->ev.addr[row], &fresh);
			if (fresh)
				add(a, cap, (struct account){.part = ACCOUNT_OTHERS,
							     .name = m->threads[m->ev.thread[row]].name,
							     .pid = (uint32_t)m->ev.addr[row],
							     .bytes = (int64_t)m->ev.size[row]});
		}
	map64_free(&seen);
	if (a->n > from)
		qsort(a->v + from, a->n - from, sizeof *a->v, by_size);
}

/* NVML lists the processes by ids of another PID namespace, and nothing tells which of them this one is: what all of
 * them use, less what this one allocated. False if NVML did not list all that use the device. */
static bool add_unnamed(struct accounting *a, size_t *cap, const struct model *m, uint8_t device)
{
	uint64_t used = MODEL_UNKNOWN, all = 0, own;
	size_t row, at = MODEL_NO_PEER;
	struct map64 seen = {0};
	bool fresh;

	for (row = a->row + 1; row-- > 0;) {
		if (row >= m->ev.n || !is_sample(m, row, GMS_K_PROCESS, device))
			continue;
		at = at == MODEL_NO_PEER ? row : at;
		map64_put(&seen, m->ev.addr[row], &fresh);
		if (fresh && m->ev.addr[row])
			all += m->ev.size[row];
		else if (fresh)
			used = m->ev.size[row];
	}
	map64_free(&seen);
	if (!all || used == MODEL_UNKNOWN || all < used - used / 100)
		return false;
	own = books_sum_at(m, device, at);
	if (all < own)
		return false;
	add(a, cap, (struct account){.part = ACCOUNT_UNNAMED, .bytes = (int64_t)(all - own)});
	return true;
}

/* Without NVML: what was used at the first sample and was not allocated by then. */
static void add_before(struct accounting *a, size_t *cap, const struct model *m, uint8_t device)
{
	size_t row;

	for (row = 0; row <= a->row && row < m->ev.n; row++)
		if (is_sample(m, row, GMS_K_MEMORY, device)) {
			uint64_t used = m->ev.size[row] - m->ev.addr[row], own = books_sum_at(m, device, row);

			add(a, cap, (struct account){.part = ACCOUNT_BEFORE, .bytes = (int64_t)(used - own)});
			return;
		}
}

/* What a row says of all that is used on the device: cuMemGetInfo's samples or, without any, NVML's. */
static uint64_t used_by(const struct model *m, size_t row, uint8_t device, bool nvml)
{
	const struct columns *c = &m->ev;

	if (nvml)
		return is_sample(m, row, GMS_K_PROCESS, device) && !c->addr[row] ? c->size[row] : MODEL_UNKNOWN;
	return is_sample(m, row, GMS_K_MEMORY, device) && c->addr[row] <= c->size[row] ? c->size[row] - c->addr[row]
										       : MODEL_UNKNOWN;
}

/* The sample at which most was used, the last of several. */
static void choose_instant(struct accounting *a, const struct model *m, uint8_t device, bool nvml)
{
	uint64_t used;
	size_t row;

	a->row = m->ev.n - 1;
	a->used = MODEL_UNKNOWN;
	for (row = 0; row < m->ev.n; row++) {
		used = used_by(m, row, device, nvml);
		if (used == MODEL_UNKNOWN || (a->used != MODEL_UNKNOWN && used < a->used))
			continue;
		a->used = used;
		a->row = row;
		if (!nvml)
			a->total = m->ev.size[row];
	}
}

void accounting_make(struct accounting *a, const struct model *m, uint8_t device)
{
	struct books b;
	size_t cap = 0;

	*a = (struct accounting){.total = m->device[device].total};
	choose_instant(a, m, device, false);
	if (a->used == MODEL_UNKNOWN)
		choose_instant(a, m, device, true);
	a->t_ns = m->ev.n ? m->ev.t_ns[a->row] : 0;
	books_make(&b, m, device, a->row);
	add_own(a, &cap, &b);
	books_free(&b);
	add_context(a, &cap, m, device);
	a->foreign_ids = !a->by_nvml && has_foreign_ids(m, device);
	if (a->by_nvml)
		add_others(a, &cap, m, device);
	else if (!a->foreign_ids || !add_unnamed(a, &cap, m, device))
		add_before(a, &cap, m, device);
	take_back_context(a, m, device);
	if (a->used != MODEL_UNKNOWN)
		a->remainder = (int64_t)a->used - a->sum;
}

void accounting_free(struct accounting *a)
{
	free(a->v);
	*a = (struct accounting){0};
}

static const struct {
	const char *word, *name;
} part_names[ACCOUNT_PARTS] = {
	[ACCOUNT_ACTIVE] = {"active", "active blocks, as requested"},
	[ACCOUNT_PENDING] = {"pending", "freed blocks that other streams still use"},
	[ACCOUNT_ROUNDING] = {"rounding", "rounding of blocks"},
	[ACCOUNT_CACHED_PARTS] = {"cached_parts", "cached: free parts of segments in use"},
	[ACCOUNT_CACHED_WHOLE] = {"cached_whole", "cached: segments nobody uses"},
	[ACCOUNT_LIBRARY] = {"library", "allocations by"},
	[ACCOUNT_POOL_RESERVE] = {"pool_reserve", "reserve of the driver's memory pools"},
	[ACCOUNT_GRAPHS] = {"graphs", "CUDA graphs"},
	[ACCOUNT_CONTEXT] = {"context", "context and code, when first seen"},
	[ACCOUNT_CONTEXT_LATER] = {"context_later", "code loaded later, and what the driver rounds up"},
	[ACCOUNT_BEFORE] = {"before", "there before: context, code, other processes"},
	[ACCOUNT_UNNAMED] = {"unnamed", "contexts and code of all processes, and what the others hold"},
	[ACCOUNT_OTHERS] = {"other_process", "another process:"},
};

const char *accounting_part_word(enum account_part part)
{
	return part_names[part].word;
}

const char *accounting_part_name(enum account_part part)
{
	return part_names[part].name;
}
