/* fold.c: the flight recorder: the oldest events become live slots, their chunks free.
 *
 * Always holds, at any instant: live slots + events from each chunk's `folded` on = what happened.
 * Events are folded in the order of time up to the last event T of a full chunk. T is past when the
 * folding begins, and an event that ends an allocation is stamped after that allocation was stored:
 * so no end is folded before its beginning.
 * All of this runs under the spool's lock.
 */
#include "record/map.h"
#include "record/rec.h"
#include <string.h>

#define UNDO 64 /* frees that may still turn out to have been refused; also those that ended nothing */

static struct rec_map index_of; /* key of an allocation → its slot */
static struct spool_slot *empty; /* list of empty slots, through ev.addr */
static struct undo {
	uint64_t key;
	struct spool_slot slot;
} undo[UNDO];
static uint32_t next_undo;

/* --- live slots ----------------------------------------------------------------------------------------- */
/* Addresses are told apart by the space they are in, as in the analyser. */
static uint64_t key_of(const struct spool_event *ev, bool mapping)
{
	static const uint8_t space[32] = {
#define GMS_KIND(id, n, name, level, space, flags, what) [n] = GMS_##space == GMS_VA ? GMS_##level : n + 2,
#define GMS_ACTION(id, n, name, what)
#include "wire/events.def"
#undef GMS_KIND
#undef GMS_ACTION
	};

	return ev->addr ^ (uint64_t)(space[GMS_OP_KIND(ev->w.op)] + (mapping ? 64 : 0)) * 0x9e3779b97f4a7c15ull;
}

static struct spool_slot *slot_of(uint64_t key)
{
	const struct rec_map_entry *e = rec_map_find(&index_of, key);

	return e ? (struct spool_slot *)(uintptr_t)e->a : NULL;
}

static struct spool_slot *new_slot(void)
{
	struct spool_slot *s = empty;

	if (!s) {
		struct spool_chunk *c = rec_live_chunk();
		size_t n, i;

		if (!c)
			return NULL;
		s = (struct spool_slot *)(c + 1);
		n = (rec_head->chunk_bytes - sizeof *c) / sizeof *s;
		for (i = 0; i < n; i++) {
			s[i].ev.addr = (uintptr_t)empty;
			empty = &s[i];
		}
		s = empty;
	}
	empty = (struct spool_slot *)(uintptr_t)s->ev.addr;
	return s;
}

static void store(struct spool_slot *s, const struct spool_event *ev, uint64_t thread)
{
	union {
		struct spool_word w;
		uint64_t word;
	} u = {.w = ev->w};

	memcpy((char *)s + 8, (const char *)ev + 8, sizeof *ev - 8);
	s->thread = thread;
	u.w.words = sizeof *s / 8;
	__atomic_store_n((uint64_t *)s, u.word, __ATOMIC_RELEASE);
}

static void clear(struct spool_slot *s)
{
	__atomic_store_n((uint64_t *)s, 0, __ATOMIC_RELEASE);
	s->ev.addr = (uintptr_t)empty;
	empty = s;
}

static void live(uint64_t key, const struct spool_event *ev, uint64_t thread)
{
	struct rec_map_entry *e = rec_map_put(&index_of, key);

	if (e && !e->a && !(e->a = (uintptr_t)new_slot()))
		rec_map_take(&index_of, key);
	else if (e)
		store((struct spool_slot *)(uintptr_t)e->a, ev, thread);
}

static void dead(uint64_t key)
{
	struct spool_slot *s = slot_of(key);
	struct undo *u = &undo[next_undo++ % UNDO];

	*u = (struct undo){.key = key};
	if (!s)
		return;
	u->slot = *s;
	rec_map_take(&index_of, key);
	clear(s);
}

/* The free told before was refused. */
static void revive(uint64_t key)
{
	uint32_t i;

	for (i = 0; i < UNDO; i++) {
		struct undo *u = &undo[(next_undo - 1 - i) % UNDO];

		if (u->key != key)
			continue;
		if (u->slot.ev.w.kind)
			live(key, &u->slot.ev, u->slot.thread);
		u->slot.ev.w.kind = 0;
		return;
	}
}

static void context_gone(uint16_t context)
{
	uint64_t i = 0;

	while (index_of.entry && i <= index_of.mask) {
		const struct rec_map_entry *e = &index_of.entry[i];
		const struct spool_slot *s = (const void *)(uintptr_t)e->a;

		if (e->used && s->ev.context == context && gms_dies_with_context(s->ev.w.op))
			dead(e->key); /* what came after it may be here now: look again */
		else
			i++;
	}
}

static void apply(const struct spool_event *ev, uint64_t thread)
{
	switch (GMS_OP_ACTION(ev->w.op)) {
	case GMS_A_ALLOC:
		live(key_of(ev, false), ev, thread);
		break;
	case GMS_A_FREE:
		if (GMS_OP_KIND(ev->w.op) == GMS_K_CONTEXT)
			context_gone(ev->context);
		dead(key_of(ev, false));
		break;
	case GMS_A_OTHER:
		revive(key_of(ev, false));
		break;
	case GMS_A_MAP:
		live(key_of(ev, true), ev, thread);
		break;
	case GMS_A_UNMAP:
		dead(key_of(ev, true));
		break;
	default: /* failures and samples are history */
		break;
	}
}

/* --- chunks ------------------------------------------------------------------------------------------------- */
static uint8_t *cursor(const struct rec_chunk *r)
{
	return (uint8_t *)r->chunk + (r->chunk->folded ? r->chunk->folded : sizeof *r->chunk);
}

static void set_cursor(const struct rec_chunk *r, const uint8_t *at)
{
	__atomic_store_n(&r->chunk->folded, (uint32_t)(at - (uint8_t *)r->chunk), __ATOMIC_RELEASE);
}

/* The chunk's first record that is not folded yet and has a time; NULL if there is none (yet). */
static struct spool_event *next_event(struct rec_chunk *r, uint32_t chunk_bytes)
{
	const uint8_t *end = (uint8_t *)r->chunk + chunk_bytes;
	uint8_t *at = cursor(r);

	while (at + sizeof(struct spool_word) <= end) {
		union {
			uint64_t word;
			struct spool_word w;
		} u;

		u.word = __atomic_load_n((uint64_t *)at, __ATOMIC_ACQUIRE);
		if (!u.w.kind)
			break;
		if (u.w.kind != SPOOL_OWNER) {
			r->next_ns = ((struct spool_event *)at)->t_ns;
			return (struct spool_event *)at;
		}
		r->chunk->thread = (uint32_t)((struct spool_owner *)at)->thread;
		at += u.w.words * 8u;
		set_cursor(r, at);
	}
	return NULL;
}

static void fold_one(struct rec_chunk *r, const struct spool_event *ev)
{
	bool event = ev->w.kind == SPOOL_EVENT || ev->w.kind == SPOOL_FAIL;

	__atomic_store_n(&rec_head->window_ns, ev->t_ns, __ATOMIC_RELEASE);
	if (event)
		apply(ev, r->chunk->thread);
	set_cursor(r, (const uint8_t *)ev + ev->w.words * 8u);
	rec_head->folded_events += event;
}

static void recycle(struct rec_chunk *r, uint32_t chunk_bytes)
{
	struct spool_chunk *c = r->chunk;
	uint32_t generation = c->generation + 1;

	__atomic_store_n(&c->type, SPOOL_FREE, __ATOMIC_RELEASE);
	memset((char *)c + sizeof c->type, 0, chunk_bytes - sizeof c->type);
	c->generation = generation;
	r->use = REC_CHUNK_FREE;
}

struct spool_chunk *rec_free_chunk(struct rec_chunk *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i].use == REC_CHUNK_FREE) {
			v[i].use = REC_CHUNK_OTHER;
			return v[i].chunk;
		}
	return NULL;
}

/* Chunks with events up to `upto`, at most max of them. */
static size_t candidates(struct rec_chunk *v, size_t n, uint32_t chunk_bytes, uint64_t upto, struct rec_chunk **out,
			 size_t max)
{
	size_t i, found = 0;

	for (i = 0; i < n && found < max; i++)
		if ((v[i].use == REC_CHUNK_OPEN || v[i].use == REC_CHUNK_FULL) && v[i].next_ns <= upto &&
		    next_event(&v[i], chunk_bytes) && v[i].next_ns <= upto)
			out[found++] = &v[i];
	return found;
}

static void fold_until(struct rec_chunk *v, size_t n, uint32_t chunk_bytes, uint64_t upto)
{
	static struct rec_chunk *list[1024];
	size_t k = candidates(v, n, chunk_bytes, upto, list, sizeof list / sizeof *list), i, first;

	while (k) {
		struct spool_event *ev;

		for (first = 0, i = 1; i < k; i++)
			if (list[i]->next_ns < list[first]->next_ns)
				first = i;
		ev = (struct spool_event *)cursor(list[first]);
		fold_one(list[first], ev);
		if (!next_event(list[first], chunk_bytes) || list[first]->next_ns > upto)
			list[first] = list[--k];
	}
}

static size_t count_free(const struct rec_chunk *v, size_t n)
{
	size_t i, free = 0;

	for (i = 0; i < n; i++)
		free += v[i].use == REC_CHUNK_FREE;
	return free;
}

/* Up to the end of the full chunk that ends first; false if there is none. */
static bool fold_oldest(struct rec_chunk *v, size_t n, uint32_t chunk_bytes)
{
	const struct rec_chunk *oldest = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i].use == REC_CHUNK_FULL && (!oldest || v[i].last_ns < oldest->last_ns))
			oldest = &v[i];
	if (!oldest)
		return false;
	fold_until(v, n, chunk_bytes, oldest->last_ns);
	for (i = 0; i < n; i++)
		if (v[i].use == REC_CHUNK_FULL && !next_event(&v[i], chunk_bytes))
			recycle(&v[i], chunk_bytes);
	return true;
}

struct spool_chunk *rec_fold(struct rec_chunk *v, size_t n, uint32_t chunk_bytes, size_t spare)
{
	while (count_free(v, n) <= spare && fold_oldest(v, n, chunk_bytes))
		;
	return rec_free_chunk(v, n);
}

void rec_fold_forked(void)
{
	rec_map_clear(&index_of);
	empty = NULL;
	next_undo = 0;
}
