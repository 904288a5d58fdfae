/* spool_events.c: the events of all chunks in the order of time.
 *
 * Each chunk is in order by itself; a heap of those that have begun gives the next event. What the
 * recorder could not know is settled here: memory that died with its context, frees that were
 * recorded only in case they matter.
 */
#include "base/mem.h"
#include "format/spool_reader.h"
#include "model/blocks.h"
#include "wire/allocator.h"
#include <stdlib.h>
#include <string.h>

/* --- what is live ------------------------------------------------------------------------------------------ */
static uint64_t live_key(uint8_t op, uint64_t addr)
{
	enum gms_kind kind = GMS_OP_KIND(op);

	return addr ^ hash_u64(gms_kind_info[kind].space == GMS_HANDLE ? 2u + kind : gms_kind_info[kind].level);
}

static struct spool_live *find_live(struct spool_reader *r, uint8_t op, uint64_t addr)
{
	uint32_t *at = r->tracks ? map64_find(&r->live, live_key(op, addr)) : NULL;

	return at && r->live_row[*at].alive ? &r->live_row[*at] : NULL;
}

static void now_live(struct spool_reader *r, const struct spool_event *ev)
{
	bool fresh;
	uint32_t *at;

	if (!r->tracks)
		return;
	at = map64_put(&r->live, live_key(ev->w.op, ev->addr), &fresh);
	if (fresh) {
		*at = (uint32_t)r->n_live;
		VEC_PUSH(r->live_row, r->n_live, r->cap_live);
	}
	r->live_row[*at] = (struct spool_live){.addr = ev->addr,
					       .t_ns = ev->t_ns,
					       .context = ev->context,
					       .op = ev->w.op,
					       .device = ev->w.device,
					       .alive = true};
}

/* The allocation that a free ends; NULL if it ends none. The driver may still refuse the free. */
static struct spool_live *end_live(struct spool_reader *r, const struct spool_event *ev)
{
	uint32_t *at = r->tracks ? map64_find(&r->live, live_key(ev->w.op, ev->addr)) : NULL;
	struct spool_live *l = at ? &r->live_row[*at] : NULL;

	if (!l)
		return NULL;
	l->just_ended = l->alive;
	l->alive = false;
	return l->just_ended ? l : NULL;
}

/* --- into the model ---------------------------------------------------------------------------------------- */
static int64_t time_of(const struct spool_reader *r, uint64_t t_ns)
{
	return (int64_t)(t_ns - r->h.start_ns);
}

static size_t add_event(struct spool_reader *r, const struct spool_event *ev, uint32_t thread)
{
	struct event out = {.t_ns = time_of(r, ev->t_ns),
			    .addr = ev->addr,
			    .size = ev->size,
			    .block = MODEL_UNKNOWN,
			    .stack = spool_stack_of(r, ev->stack),
			    .stream = ev->w.stream < r->n_stream ? r->stream[ev->w.stream] : 0,
			    .thread = thread < r->n_thread ? r->thread[thread] : 0,
			    .pool = ev->pool < r->n_pool ? r->pool[ev->pool] : 0,
			    .op = ev->w.op,
			    .device = ev->w.device};

	r->events++;
	return model_add(r->m, &out);
}

static void context_gone(struct spool_reader *r, const struct spool_event *ev, uint32_t thread)
{
	size_t i, n = 0;
	uint16_t context = 0;

	for (i = 1; i < r->n_context; i++) /* a handle used again has a later number */
		if (r->context[i] == ev->addr && ev->addr)
			context = (uint16_t)i;
	if (ev->context)
		context = ev->context;
	for (i = 0; context && i < r->n_live; i++) {
		struct spool_live *l = &r->live_row[i];
		struct spool_event end = *ev;

		if (!l->alive || l->context != context || !gms_dies_with_context(l->op))
			continue;
		end.w.op = GMS_OP(GMS_OP_KIND(l->op), GMS_A_FREE);
		end.w.device = l->device;
		end.addr = l->addr;
		end.size = 0;
		l->alive = false;
		add_event(r, &end, thread);
		n++;
	}
	if (n)
		model_note(r->m, NOTE_INFO, "%zu allocation%s ended with %s context at %.3f s, not by a free", n,
			   n == 1 ? "" : "s", n == 1 ? "its" : "their", (double)time_of(r, ev->t_ns) / 1e9);
}

static void take_event(struct spool_reader *r, const struct spool_event *ev, uint32_t thread)
{
	enum gms_action action = GMS_OP_ACTION(ev->w.op);
	struct spool_live *l;

	if (GMS_OP_KIND(ev->w.op) >= GMS_KINDS)
		return;
	if (ev->w.op == GMS_OP(GMS_K_CONTEXT, GMS_A_FREE))
		context_gone(r, ev, thread);
	if (action == GMS_A_ALLOC) {
		l = find_live(r, ev->w.op, ev->addr);
		if (l && r->h.window_ns && l->t_ns == ev->t_ns)
			return; /* folded already, when the process was killed */
		now_live(r, ev);
	} else if (action == GMS_A_FREE) {
		l = end_live(r, ev);
		if (!l && r->tracks && ((ev->w.flags & SPOOL_WHILE_OFF) || r->h.filtered))
			return;
		if (!l && r->h.window_ns && ev->t_ns == r->h.window_ns)
			return; /* likewise */
	} else if (action == GMS_A_OTHER && r->tracks) {
		uint32_t *at = map64_find(&r->live, live_key(ev->w.op, ev->addr));

		if (at && r->live_row[*at].just_ended)
			r->live_row[*at].alive = true;
		else if (!at && ev->w.flags & SPOOL_WHILE_OFF)
			return;
	}
	add_event(r, ev, thread);
}

static void take_fail(struct spool_reader *r, const struct spool_fail *f, uint32_t thread)
{
	size_t row;

	if (GMS_OP_KIND(f->ev.w.op) >= GMS_KINDS)
		return;
	row = add_event(r, &f->ev, thread);
	model_fail(r->m, row, (int)f->error, f->free, f->total);
}

/* --- phases -------------------------------------------------------------------------------------------------- */
static uint32_t string_of(const struct spool_reader *r, uint32_t id)
{
	return id < r->n_string ? r->string[id] : 0;
}

/* A mark by which an allocator in the process tells a setting ("KEY=VALUE") is no phase. */
static bool take_setting(struct model *m, const char *name)
{
	char *key, *equals;

	if (strncmp(name, GMS_SETTING_MARK, strlen(GMS_SETTING_MARK)))
		return false;
	key = mem_strdup(name + strlen(GMS_SETTING_MARK));
	equals = strchr(key, '=');
	if (equals) {
		*equals = '\0';
		model_setting(m, key, equals + 1);
	}
	free(key);
	return true;
}

static void begin_phase(struct spool_reader *r, const struct spool_phase *p, uint16_t thread)
{
	struct model *m = r->m;
	int64_t t = time_of(r, p->t_ns);
	bool mark = p->w.op == SPOOL_MARK;

	if ((mark && take_setting(m, model_text(m, string_of(r, p->name)))) || r->no_phases)
		return;
	if (!mark)
		*VEC_PUSH(r->open, r->n_open, r->cap_open) = (struct open_phase){.phase = (uint32_t)m->n_phases,
										  .domain = p->domain,
										  .id = p->id,
										  .thread = thread,
										  .nests = p->w.op == SPOOL_PUSH};
	*VEC_PUSH(m->phases, m->n_phases, m->cap_phases) = (struct phase){.name = string_of(r, p->name),
									   .domain = string_of(r, p->domain),
									   .thread = thread,
									   .device = p->w.device,
									   .begin_ns = t,
									   .end_ns = mark ? t : INT64_MAX};
}

static void end_phase(struct spool_reader *r, const struct spool_phase *p, uint16_t thread)
{
	bool pop = p->w.op == SPOOL_POP;
	size_t i = r->n_open;

	while (i-- > 0) {
		const struct open_phase *o = &r->open[i];

		if (pop ? o->nests && o->thread == thread && o->domain == p->domain : !o->nests && o->id == p->id) {
			r->m->phases[o->phase].end_ns = time_of(r, p->t_ns);
			memmove(&r->open[i], &r->open[i + 1], (r->n_open - i - 1) * sizeof *r->open);
			r->n_open--;
			return;
		}
	}
}

static void take_phase(struct spool_reader *r, const struct spool_phase *p, uint32_t thread)
{
	uint16_t t = thread < r->n_thread ? r->thread[thread] : 0;

	if (p->w.op == SPOOL_POP || p->w.op == SPOOL_END)
		end_phase(r, p, t);
	else
		begin_phase(r, p, t);
}

/* --- the merge ------------------------------------------------------------------------------------------------- */
/* Move on to the run's next record that has a time; false at its end. */
static bool run_next(struct spool_reader *r, struct spool_run *run)
{
	struct spool_word w;
	size_t n;

	for (; (n = spool_record(r, run->at, run->end, &w)); run->at += n) {
		if (w.kind == SPOOL_OWNER) {
			struct spool_owner o;

			spool_copy(r, run->at, n, &o, sizeof o);
			run->thread = (uint32_t)o.thread;
		} else if (n >= 2 * sizeof(uint64_t)) {
			memcpy(&run->next_ns, r->data + run->at + 8, sizeof run->next_ns);
			return true;
		}
	}
	return false;
}

static void take_record(struct spool_reader *r, struct spool_run *run)
{
	union {
		struct spool_event ev;
		struct spool_fail fail;
		struct spool_phase phase;
	} u;
	struct spool_word w;
	size_t n = spool_record(r, run->at, run->end, &w);

	spool_copy(r, run->at, n, &u, sizeof u);
	run->at += n;
	if (w.kind == SPOOL_EVENT && n >= sizeof u.ev)
		take_event(r, &u.ev, run->thread);
	else if (w.kind == SPOOL_FAIL && n >= sizeof u.fail)
		take_fail(r, &u.fail, run->thread);
	else if (w.kind == SPOOL_PHASE && n >= sizeof u.phase)
		take_phase(r, &u.phase, run->thread);
}

static void sift_down(struct spool_run **heap, size_t n, size_t i)
{
	struct spool_run *top = heap[i];

	for (;;) {
		size_t k = i * 2 + 1;

		if (k >= n)
			break;
		if (k + 1 < n && heap[k + 1]->next_ns < heap[k]->next_ns)
			k++;
		if (top->next_ns <= heap[k]->next_ns)
			break;
		heap[i] = heap[k];
		i = k;
	}
	heap[i] = top;
}

static void sift_up(struct spool_run **heap, size_t i)
{
	struct spool_run *run = heap[i];

	while (i && run->next_ns < heap[(i - 1) / 2]->next_ns) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = run;
}

static int by_time(const void *a, const void *b)
{
	const struct spool_run *x = a, *y = b;

	if ((x->at == x->end) != (y->at == y->end)) /* read up go last */
		return x->at == x->end ? 1 : -1;
	return x->next_ns != y->next_ns ? (x->next_ns < y->next_ns ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

void spool_events_sort(struct spool_reader *r)
{
	size_t i;

	r->n_ready = r->n_joined = r->n_heap = 0;
	for (i = 0; i < r->n_runs; i++)
		r->n_ready += run_next(r, &r->runs[i]);
	if (r->n_runs)
		qsort(r->runs, r->n_runs, sizeof *r->runs, by_time);
	r->heap = mem_resize(r->heap, r->n_ready + 1, sizeof *r->heap);
}

/* Runs join the heap when their time comes, so that it stays as small as there are threads. */
size_t spool_events_take(struct spool_reader *r, size_t most)
{
	struct spool_run **heap = r->heap;
	size_t taken;

	for (taken = 0; taken < most && (r->n_heap || r->n_joined < r->n_ready); taken++) {
		while (r->n_joined < r->n_ready && (!r->n_heap || r->runs[r->n_joined].next_ns <= heap[0]->next_ns)) {
			heap[r->n_heap] = &r->runs[r->n_joined++];
			sift_up(heap, r->n_heap++);
		}
		if (heap[0]->next_ns > r->until_ns)
			break;
		r->last_ns = heap[0]->next_ns;
		take_record(r, heap[0]);
		if (!run_next(r, heap[0]))
			heap[0] = heap[--r->n_heap];
		if (r->n_heap)
			sift_down(heap, r->n_heap, 0);
	}
	return taken;
}

void spool_events_prune(struct spool_reader *r)
{
	size_t i, n = 0;
	bool fresh;

	map64_free(&r->live);
	r->live = (struct map64){0};
	for (i = 0; i < r->n_live; i++)
		if (r->live_row[i].alive) {
			r->live_row[n] = r->live_row[i];
			*map64_put(&r->live, live_key(r->live_row[n].op, r->live_row[n].addr), &fresh) = (uint32_t)n;
			n++;
		}
	r->n_live = n;
}

/* --- before the first event ------------------------------------------------------------------------------------ */
struct slots {
	struct spool_slot *v;
	size_t n, cap;
};

static int by_slot_time(const void *a, const void *b)
{
	const struct spool_slot *x = a, *y = b;

	return x->ev.t_ns != y->ev.t_ns ? (x->ev.t_ns < y->ev.t_ns ? -1 : 1) : 0;
}

/* What was live when the window of a flight recorder began. */
static void read_live(struct spool_reader *r)
{
	struct slots s = {0};
	size_t i, at;

	for (i = 0; i < r->n_lives; i++)
		for (at = r->lives[i] + sizeof(struct spool_chunk);
		     at + sizeof *s.v <= r->lives[i] + r->h.chunk_bytes; at += sizeof *s.v) {
			struct spool_slot slot;
			struct spool_word w;

			if (!spool_record(r, at, at + sizeof slot, &w))
				continue;
			memcpy(&slot, r->data + at, sizeof slot);
			if (GMS_OP_KIND(slot.ev.w.op) < GMS_KINDS)
				*VEC_PUSH(s.v, s.n, s.cap) = slot;
		}
	if (s.n)
		qsort(s.v, s.n, sizeof *s.v, by_slot_time);
	for (i = 0; i < s.n; i++) {
		now_live(r, &s.v[i].ev);
		add_event(r, &s.v[i].ev, (uint32_t)s.v[i].thread);
	}
	r->m->n_initial = r->m->ev.n;
	r->events = 0;
	free(s.v);
}

/* Does any event need to know what is live? */
static bool needs_live(const struct spool_reader *r)
{
	size_t i, at, n;
	struct spool_word w;

	if (r->h.filtered || r->h.window_ns)
		return true;
	for (i = 0; i < r->n_runs; i++)
		for (at = r->runs[i].at; (n = spool_record(r, at, r->runs[i].end, &w)); at += n)
			if (w.kind == SPOOL_EVENT &&
			    (w.op == GMS_OP(GMS_K_CONTEXT, GMS_A_FREE) || (w.flags & SPOOL_WHILE_OFF)))
				return true;
	return false;
}

static bool has_blocks(const struct model *m)
{
	size_t row;

	for (row = 0; row < m->ev.n; row++)
		if (m->ev.op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC))
			return true;
	return false;
}

void spool_events_blocks(struct spool_reader *r)
{
	if (has_blocks(r->m))
		blocks_recover(r->m, false);
}

void spool_events_read(struct spool_reader *r)
{
	r->tracks = needs_live(r);
	read_live(r);
	spool_events_sort(r);
	spool_events_take(r, SIZE_MAX);
	if (r->m->ev.n)
		r->m->duration_ns = r->m->ev.t_ns[r->m->ev.n - 1];
	if (r->h.end_ns > r->h.start_ns && time_of(r, r->h.end_ns) > r->m->duration_ns && r->until_ns == UINT64_MAX)
		r->m->duration_ns = time_of(r, r->h.end_ns);
	spool_events_blocks(r);
}
