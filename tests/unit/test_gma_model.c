/* test_gma_model.c: the core against an allocator that is slow and obvious.
 *
 * The reference keeps one flat array of pieces, finds everything by looking at all of them, and follows
 * the written rules one by one. Both get the same random requests; after each they must agree about
 * the address, the failure, every count and all bytes, and the core must pass its own check.
 */
#include "gma.h"

enum { MAX_PIECES = 4096, MAX_LIVE = 256, STREAMS = 3 };

enum state { R_FREE, R_LIVE, R_PENDING, R_GONE };
struct piece {
	uint64_t addr, size, seg_addr, seg_size, stream, age_base, id;
	enum state state;
	bool small;
};
struct reference {
	struct gma_conf conf;
	uint64_t limit, capacity, reserved, next_addr, searches[2];
	struct piece v[MAX_PIECES];
	size_t n;
	uint64_t got, returned, retries, ooms, allocated, active;
	struct waiting {
		uint64_t addr;
		unsigned left;
	} waiting[MAX_LIVE];
};

static bool whole(const struct piece *p)
{
	return p->size == p->seg_size;
}

static bool comes_first(const struct piece *a, const struct piece *b)
{
	if (a->stream != b->stream)
		return a->stream < b->stream;
	return a->size != b->size ? a->size < b->size : a->addr < b->addr;
}

static struct piece *at(struct reference *r, uint64_t addr)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->v[i].addr == addr)
			return &r->v[i];
	return NULL;
}

static void drop(struct reference *r, struct piece *p)
{
	*p = r->v[--r->n];
}

static bool collecting(const struct reference *r)
{
	return r->limit != GMA_UNLIMITED && r->conf.gc_threshold > 0;
}

static void make_free(struct reference *r, struct piece *p)
{
	uint64_t addr = p->addr;
	struct piece *q;
	size_t i;

	p->state = R_FREE;
	for (i = 0; i < r->n; i++) { /* what ends where it begins */
		q = &r->v[i];
		if (q->state == R_FREE && q->seg_addr == p->seg_addr && q->addr + q->size == p->addr) {
			q->size += p->size;
			addr = q->addr;
			drop(r, p);
			break;
		}
	}
	p = at(r, addr);
	q = at(r, p->addr + p->size);
	if (q && q->state == R_FREE && q->seg_addr == p->seg_addr) {
		p->size += q->size;
		drop(r, q);
	}
	p = at(r, addr);
	p->age_base = r->searches[p->small];
}

static struct piece *best(struct reference *r, uint64_t size, uint64_t stream)
{
	bool small = size <= MIB;
	struct piece *found = NULL;
	size_t i;

	if (collecting(r))
		r->searches[small]++;
	for (i = 0; i < r->n; i++) {
		struct piece *p = &r->v[i];

		if (p->state == R_FREE && p->small == small && p->stream == stream && p->size >= size &&
		    (!found || comes_first(p, found)))
			found = p;
	}
	if (found && size < r->conf.max_split_size && found->size >= r->conf.max_split_size)
		return NULL;
	if (found && size >= r->conf.max_split_size && found->size >= size + r->conf.max_non_split_rounding)
		return NULL;
	return found;
}

static void give_back(struct reference *r, struct piece *p)
{
	r->reserved -= p->size;
	r->returned++;
	drop(r, p);
}

static struct piece *obtain(struct reference *r, uint64_t size, uint64_t stream)
{
	uint64_t bytes = gma_segment_size(&r->conf, size);
	struct piece *p;

	if (r->limit != GMA_UNLIMITED && r->reserved + bytes > r->limit)
		return NULL;
	if (r->reserved + bytes > r->capacity)
		return NULL;
	p = &r->v[r->n++];
	*p = (struct piece){.addr = r->next_addr, .size = bytes, .seg_addr = r->next_addr, .seg_size = bytes,
			    .stream = stream, .small = size <= MIB};
	r->next_addr += bytes;
	r->reserved += bytes;
	r->got++;
	return p;
}

static void collect(struct reference *r)
{
	uint64_t threshold = (uint64_t)(r->conf.gc_threshold * (double)r->limit), target, reclaimed = 0, ages = 0, count = 0;
	bool freed = true;
	size_t i;

	if (r->reserved <= threshold)
		return;
	target = r->reserved - threshold;
	for (i = 0; i < r->n; i++)
		if (!r->v[i].small && r->v[i].state == R_FREE && whole(&r->v[i])) {
			ages += r->searches[0] - r->v[i].age_base;
			count++;
		}
	while (reclaimed < target && freed && count) {
		double average = (double)ages / (double)count;

		freed = false;
		for (i = r->n; i-- > 0;) { /* dropping moves the last one here: go downwards */
			struct piece *p = &r->v[i];
			uint64_t age = r->searches[0] - p->age_base;

			if (p->small || p->state != R_FREE || !whole(p) || (double)age < average)
				continue;
			ages -= age;
			count--;
			reclaimed += p->size;
			freed = true;
			give_back(r, p);
		}
	}
}

static bool release_oversize(struct reference *r, uint64_t size, uint64_t stream)
{
	uint64_t want = size < r->conf.max_split_size ? r->conf.max_split_size : size, sum = 0;
	struct piece *found = NULL;
	size_t i;

	if (r->conf.max_split_size == GMA_UNLIMITED)
		return false;
	for (i = 0; i < r->n; i++)
		if (r->v[i].state == R_FREE && r->v[i].small == (size <= MIB) && r->v[i].stream == stream && r->v[i].size >= want &&
		    (!found || comes_first(&r->v[i], found)))
			found = &r->v[i];
	if (found) {
		give_back(r, found);
		return true;
	}
	while (sum < want) {
		found = NULL;
		for (i = 0; i < r->n; i++)
			if (r->v[i].state == R_FREE && r->v[i].small == (size <= MIB) && r->v[i].stream == stream &&
			    r->v[i].size >= r->conf.max_split_size && (!found || comes_first(found, &r->v[i])))
				found = &r->v[i];
		if (!found)
			return false;
		sum += found->size;
		give_back(r, found);
	}
	return true;
}

static void settle(struct reference *r, uint64_t addr)
{
	r->active -= at(r, addr)->size;
	make_free(r, at(r, addr));
}

static void flush(struct reference *r)
{
	size_t i;

	for (i = 0; i < MAX_LIVE; i++)
		if (r->waiting[i].addr) {
			settle(r, r->waiting[i].addr);
			r->waiting[i].addr = 0;
		}
	for (i = r->n; i-- > 0;)
		if (r->v[i].state == R_FREE && whole(&r->v[i]))
			give_back(r, &r->v[i]);
}

static uint64_t ref_malloc(struct reference *r, uint64_t requested, uint64_t stream, uint64_t id)
{
	uint64_t size = gma_round_size(&r->conf, requested), rest;
	struct piece *p = best(r, size, stream), tail;

	if (!p) {
		if (collecting(r))
			collect(r);
		p = obtain(r, size, stream);
		if (!p && release_oversize(r, size, stream))
			p = obtain(r, size, stream);
		if (!p) {
			flush(r);
			r->retries++;
			p = obtain(r, size, stream);
		}
		if (!p) {
			r->ooms++;
			return 0;
		}
	}
	rest = p->size - size;
	if (p->small ? rest >= 512 : size < r->conf.max_split_size && rest > MIB) {
		tail = *p;
		tail.addr += size;
		tail.size = rest;
		tail.state = R_FREE;
		tail.age_base = r->searches[p->small];
		p->size = size;
		r->v[r->n++] = tail;
	}
	p->state = R_LIVE;
	p->id = id;
	r->allocated += p->size;
	r->active += p->size;
	return p->addr;
}

static void ref_free(struct reference *r, uint64_t addr, bool pending)
{
	struct piece *p = at(r, addr);
	size_t i;

	r->allocated -= p->size;
	if (!pending) {
		settle(r, addr);
		return;
	}
	p->state = R_PENDING;
	for (i = 0; r->waiting[i].addr; i++)
		;
	r->waiting[i] = (struct waiting){addr, 1};
}

/* All pending blocks are done, as the next request will find. */
static void ref_done(struct reference *r)
{
	size_t i;

	for (i = 0; i < MAX_LIVE; i++)
		if (r->waiting[i].addr)
			settle(r, r->waiting[i].addr);
	memset(r->waiting, 0, sizeof r->waiting);
}

/* --- the two side by side ------------------------------------------------------------------------------- */

static uint64_t seed;
static uint32_t dice(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % n;
}

static uint64_t random_size(void)
{
	switch (dice(8)) {
	case 0:
	case 1:
		return 1 + dice(4096);
	case 2:
	case 3:
		return 512 * (1 + dice(64));
	case 4:
		return 1 + dice(1 << 20);
	case 5:
		return MIB + dice(8 << 20);
	case 6:
		return 10 * MIB + dice(8 << 20);
	default:
		return MIB * (1 + dice(48));
	}
}

struct pair {
	struct reference r;
	struct rig rig;
	struct gma_block *live[MAX_LIVE];
	size_t n;
	bool pending; /* some block waits for its event */
};

static void agree(struct pair *p)
{
	const struct gma_stats *s = gma_core_stats(p->rig.core);

	rig_check(&p->rig);
	assert_int_equal(p->r.got, s->num_device_alloc);
	assert_int_equal(p->r.returned, s->num_device_free);
	assert_int_equal(p->r.retries, s->num_alloc_retries);
	assert_int_equal(p->r.ooms, s->num_ooms);
	assert_int_equal(p->r.reserved, s->reserved_bytes[GMA_STAT_ALL].current);
	assert_int_equal(p->r.allocated, s->allocated_bytes[GMA_STAT_ALL].current);
	assert_int_equal(p->r.active, s->active_bytes[GMA_STAT_ALL].current);
}

static void allocate(struct pair *p)
{
	struct gma_request q = {.size = random_size(), .stream = dice(STREAMS), .user = 1};
	uint64_t want = ref_malloc(&p->r, q.size, q.stream, 1);
	struct gma_block *b;
	int e = gma_core_malloc(p->rig.core, &q, &b);

	assert_int_equal(e, want ? GMA_OK : GMA_OUT_OF_MEMORY);
	if (b) {
		assert_int_equal(b->addr, want);
		p->live[p->n++] = b;
	}
}

static void free_one(struct pair *p)
{
	size_t i = dice((uint32_t)p->n);
	struct gma_block *b = p->live[i];
	bool pending = dice(10) == 0;

	if (pending)
		assert_int_equal(gma_core_record_stream(p->rig.core, b, 100), GMA_OK);
	ref_free(&p->r, b->addr, pending);
	gma_core_free(p->rig.core, b);
	p->live[i] = p->live[--p->n];
}

static void step(struct pair *p)
{
	uint32_t what = dice(100);

	if (what == 0) {
		flush(&p->r);
		gma_core_empty_cache(p->rig.core, NULL);
	} else if (what < 4) {
		ref_done(&p->r);
		p->rig.sim.events_done = p->rig.sim.events;
		gma_core_poll(p->rig.core);
	} else if (p->n && (what < 50 || p->n == MAX_LIVE)) {
		free_one(p);
	} else {
		allocate(p);
	}
	agree(p);
}

static void compare(const char *conf, uint64_t device, uint64_t seed_, int steps)
{
	struct pair *p = calloc(1, sizeof *p);
	int i;

	seed = seed_ * 0x9e3779b97f4a7c15ull + 1;
	rig_begin(&p->rig, conf, device);
	p->r.conf = *gma_core_conf(p->rig.core);
	p->r.limit = gma_core_limit(p->rig.core);
	p->r.capacity = device;
	p->r.next_addr = p->rig.sim.next;
	for (i = 0; i < steps; i++)
		step(p);
	rig_end(&p->rig);
	free(p);
}

static void default_rules(void **state)
{
	(void)state;
	compare("", 4 * GIB, 1, 3000);
	compare("", 300 * MIB, 2, 3000); /* often full */
}

static void rounding(void **state)
{
	(void)state;
	compare("roundup_power2_divisions:[1:8,4:4,>:2]", 400 * MIB, 3, 2000);
}

static void oversize_blocks(void **state)
{
	(void)state;
	compare("max_split_size_mb:24", 4 * GIB, 4, 2000);
	compare("max_split_size_mb:24,max_non_split_rounding_mb:24", 300 * MIB, 5, 3000);
}

static void limit_and_garbage_collection(void **state)
{
	(void)state;
	compare("per_process_memory_fraction:0.5", 512 * MIB, 6, 2000);
	compare("per_process_memory_fraction:0.5,garbage_collection_threshold:0.6", 600 * MIB, 7, 3000);
	compare("per_process_memory_fraction:0.5,garbage_collection_threshold:0.9,max_split_size_mb:32", 600 * MIB, 8, 2000);
}

static void large_segments_of_another_size(void **state)
{
	(void)state;
	compare("large_segment_size_mb:44", GIB, 9, 2000);
}

int main(void)
{
	const struct CMUnitTest gma_model[] = {
		cmocka_unit_test(default_rules),
		cmocka_unit_test(rounding),
		cmocka_unit_test(oversize_blocks),
		cmocka_unit_test(limit_and_garbage_collection),
		cmocka_unit_test(large_segments_of_another_size),
	};

	return cmocka_run_group_tests(gma_model, NULL, NULL);
}
