/* test_space.c: segments, blocks and holes at one instant; failed allocations judged by them. */
#include "analyze/frag.h"
#include "analyze/oom.h"
#include "analyze/space.h"
#include "models.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static size_t segment(struct model *m, uint64_t addr, uint64_t size)
{
	return put(m, GMS_K_SEGMENT, GMS_A_ALLOC, .addr = addr, .size = size);
}

static size_t block(struct model *m, uint64_t addr, uint64_t size)
{
	return put(m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = addr, .size = size, .block = size);
}

static void holes_between_blocks_make_external_fragmentation(void **state)
{
	struct model m;
	struct space s;

	(void)state;
	model_init(&m, "test");
	segment(&m, 0x1000000, 1000);
	segment(&m, 0x2000000, 500);
	block(&m, 0x1000000 + 100, 200); /* holes of 100 and 700 */
	block(&m, 0x2000000, 400);       /* a hole of 100 */
	put(&m, GMS_K_BLOCK, GMS_A_ALLOC, .addr = 0x1000000 + 900, .size = 90, .block = 100);
	put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = 0x1000000 + 900);
	model_link(&m);
	space_at(&m, 0, 5, &s);
	assert_true(s.known && s.exact);
	assert_int_equal(s.reserved, 1500);
	assert_int_equal(s.used, 600);
	assert_int_equal(s.free, 900);
	assert_int_equal(s.largest, 700);
	assert_int_equal(s.holes, 3);
	assert_true(space_external(&s) > 0.222 && space_external(&s) < 0.223); /* 1 - 700/900 */
	assert_true(space_utilisation(&s) == 0.4);
	space_free(&s);
	space_at(&m, 0, 4, &s); /* before the free: 100, 600, 100 */
	assert_int_equal(s.largest, 600);
	assert_int_equal(s.used - s.requested, 10);
	space_free(&s);
	model_free(&m);
}

static void segments_allocated_one_by_one_never_merge_but_mapped_ranges_do(void **state)
{
	struct model m;
	struct space s;

	(void)state;
	model_init(&m, "test");
	segment(&m, 0x1000, 0x1000);
	segment(&m, 0x2000, 0x1000);
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 0x10000, .size = 0x1000);
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 0x11000, .size = 0x3000);
	put(&m, GMS_K_SEGMENT, GMS_A_UNMAP, .addr = 0x12000, .size = 0x1000);
	put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = 0x12000, .size = 0x800);
	model_link(&m);
	space_at(&m, 0, 3, &s);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.largest, 0x4000);
	space_free(&s);
	space_at(&m, 0, 5, &s);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.largest, 0x2800);
	assert_int_equal(s.reserved, 0x2000 + 0x3800);
	assert_int_equal(s.whole, s.reserved);
	space_free(&s);
	model_free(&m);
}

static void a_small_block_pins_a_large_segment(void **state)
{
	struct model m;
	struct space s;
	struct pinned p;

	(void)state;
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	segment(&m, 60 * MIB, 20 * MIB);
	segment(&m, 100 * MIB, 20 * MIB);
	block(&m, 25 * MIB, 512);
	block(&m, 60 * MIB, 15 * MIB);
	model_link(&m);
	space_at(&m, 0, m.ev.n - 1, &s);
	space_pinned(&s, &p);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.rows[0].segment->addr, 20 * MIB);
	assert_int_equal(p.free, 20 * MIB - 512);
	assert_int_equal(p.blocks, 1);
	assert_int_equal(s.whole, 20 * MIB);
	space_pinned_free(&p);
	space_free(&s);
	model_free(&m);
}

/* Random maps, unmaps, segments and blocks against one byte per page. */
static void random_traces_agree_with_a_map_of_pages(void **state)
{
	enum { PAGES = 64, PAGE = 512 };
	unsigned seed, step, i;

	(void)state;
	for (seed = 1; seed <= 60; seed++) {
		uint8_t page[PAGES] = {0}; /* 0 not mapped, 1 mapped, 2 block */
		uint64_t reserved = 0, used = 0, largest = 0, holes = 0, run = 0;
		struct model m;
		struct space s;

		srand(seed);
		model_init(&m, "test");
		put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = PAGE * PAGES * 10, .size = PAGE);
		for (step = 0; step < 120; step++) {
			unsigned at = (unsigned)rand() % PAGES, n = 1 + (unsigned)rand() % 8, fits,
			         what = (unsigned)rand() % 4;

			n = at + n > PAGES ? PAGES - at : n;
			for (fits = 0; fits < n && page[at + fits] == (what == 2 ? 1 : page[at + fits] & 1);
			     fits++)
				;
			if (what < 2 && fits == n) { /* no block inside: map or unmap */
				put(&m, GMS_K_SEGMENT, what ? GMS_A_MAP : GMS_A_UNMAP,
				    .addr = PAGE * (at + 1), .size = PAGE * n);
				memset(page + at, (int)what, n);
			} else if (what == 2 && fits == n) {
				block(&m, PAGE * (at + 1), PAGE * n);
				memset(page + at, 2, n);
			}
		}
		model_link(&m);
		space_at(&m, 0, m.ev.n - 1, &s);
		for (i = 0; i <= PAGES; i++) {
			bool hole = i < PAGES && page[i] == 1;

			reserved += i < PAGES && page[i] ? PAGE : 0;
			used += i < PAGES && page[i] == 2 ? PAGE : 0;
			if (hole) {
				run += PAGE;
				continue;
			}
			holes += run > 0;
			largest = run > largest ? run : largest;
			run = 0;
		}
		assert_int_equal(s.reserved, reserved + PAGE);
		assert_int_equal(s.used, used);
		assert_int_equal(s.holes, holes + 1);
		assert_int_equal(s.largest, largest > PAGE ? largest : PAGE);
		assert_int_equal(s.outside, 0);
		space_free(&s);
		model_free(&m);
	}
}

/* The worst moment against space_at after every single row. */
static void the_worst_moment_is_found_among_all_of_them(void **state)
{
	enum { PAGES = 48, PAGE = 512 };
	unsigned seed, step, i;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		uint8_t page[PAGES] = {0}, kind[PAGES] = {0}; /* kind: 1 segment of its own, 2 mapped */
		uint64_t length[PAGES] = {0};
		double worst = -1;
		struct model m;
		struct space s;
		struct frag f;
		size_t row;

		srand(seed);
		model_init(&m, "test");
		m.history = HISTORY_COMPLETE;
		put(&m, GMS_K_SEGMENT, GMS_A_MAP, .addr = PAGE * PAGES * 10, .size = PAGE);
		for (step = 0; step < 150; step++) {
			unsigned at = (unsigned)rand() % PAGES, n = 1 + (unsigned)rand() % 10, fits;
			uint64_t addr = PAGE * (at + 1u);

			n = at + n > PAGES ? PAGES - at : n;
			switch (rand() % 5) {
			case 0: /* a segment or a mapping where nothing is */
				for (fits = 0; fits < n && !page[at + fits]; fits++)
					;
				if (fits < n)
					break;
				put(&m, GMS_K_SEGMENT, seed & 1 ? GMS_A_MAP : GMS_A_ALLOC, .addr = addr,
				    .size = PAGE * n);
				memset(page + at, 1, n);
				memset(kind + at, seed & 1 ? 2 : 1, n);
				length[at] = n;
				break;
			case 1: /* unmap, or free a segment, where no block is */
				for (fits = 0; fits < length[at] && page[at + fits] == 1; fits++)
					;
				if (!length[at] || fits < length[at])
					break;
				put(&m, GMS_K_SEGMENT, seed & 1 ? GMS_A_UNMAP : GMS_A_FREE, .addr = addr,
				    .size = PAGE * length[at]);
				memset(page + at, 0, length[at]);
				length[at] = 0;
				break;
			case 2: /* free the block that begins here */
				if (page[at] != 2)
					break;
				put(&m, GMS_K_BLOCK, GMS_A_FREE, .addr = addr);
				for (i = at; i < PAGES && (i == at || page[i] == 3); i++)
					page[i] = 1;
				break;
			default: /* a block in free pages of one segment */
				for (fits = 0;
				     fits < n && page[at + fits] == 1 && (!fits || !length[at + fits]);
				     fits++)
					;
				if (fits < n)
					break;
				block(&m, addr, PAGE * n);
				memset(page + at, 3, n);
				page[at] = 2;
				break;
			}
		}
		model_link(&m);
		frag_find(&m, 0, &f);
		for (row = 0; row < m.ev.n; row++) {
			space_at(&m, 0, row, &s);
			if (s.free * 16 >= s.reserved && s.reserved && space_external(&s) > worst)
				worst = space_external(&s);
			if (row == f.worst.row) {
				assert_int_equal(f.worst.free, s.free);
				assert_int_equal(f.worst.largest, s.largest);
				assert_int_equal(f.worst.reserved, s.reserved);
				assert_int_equal(f.worst.used, s.used);
			}
			space_free(&s);
		}
		assert_true(worst == frag_external(&f.worst));
		model_free(&m);
	}
}

/* --- out of memory --- */

static enum oom_cause judge(struct model *m, uint64_t size, uint64_t free_bytes, uint64_t total,
                            struct oom *out)
{
	bool framework = false;
	struct ooms o;
	enum oom_cause cause;
	size_t row, i;

	for (i = 0; i < m->ev.n; i++)
		framework |= GMS_OP_KIND(m->ev.op[i]) == GMS_K_BLOCK;
	row = put(m, framework ? GMS_K_BLOCK : GMS_K_DEVICE, GMS_A_FAIL, .size = size);
	model_fail(m, row, 2, free_bytes, total);
	model_link(m);
	oom_find(m, 0, &o);
	assert_int_equal(o.n, 1);
	*out = o.v[0];
	cause = o.v[0].cause;
	oom_free(&o);
	model_free(m);
	return cause;
}

static void a_framework_request_fails_for_one_of_five_reasons(void **state)
{
	struct model m;
	struct oom o;

	(void)state;
	/* Enough on the device, yet refused: a limit. */
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 20 * MIB);
	assert_int_equal(judge(&m, 30 * MIB, 10 * GIB, MODEL_UNKNOWN, &o), OOM_LIMIT);
	assert_true(o.help & OOM_HELP_FRACTION);
	assert_int_equal(o.need, 30 * MIB);

	/* 16 MiB cached in two holes of 8: fragmentation. */
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	segment(&m, 60 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 12 * MIB);
	block(&m, 60 * MIB, 12 * MIB);
	assert_int_equal(judge(&m, 12 * MIB, MIB, MODEL_UNKNOWN, &o), OOM_FRAGMENTATION);
	assert_int_equal(o.largest, 8 * MIB);
	assert_int_equal(o.holes, 2);
	assert_int_equal(o.cached, 16 * MIB);
	assert_true(o.help & OOM_HELP_EXPANDABLE);

	/* The same, but expandable segments are on already: no such advice. */
	model_init(&m, "test");
	model_setting(&m, "expandable_segments", "True");
	segment(&m, 20 * MIB, 20 * MIB);
	segment(&m, 60 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 12 * MIB);
	block(&m, 60 * MIB, 12 * MIB);
	assert_int_equal(judge(&m, 12 * MIB, MIB, MODEL_UNKNOWN, &o), OOM_FRAGMENTATION);
	assert_false(o.help & OOM_HELP_EXPANDABLE);

	/* Too little anywhere. */
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 18 * MIB);
	assert_int_equal(judge(&m, 100 * MIB, 3 * MIB, 40 * MIB, &o), OOM_SHORTAGE);
	assert_int_equal(o.missing, 95 * MIB);

	/* Somebody else holds 20 GiB. */
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 18 * MIB);
	assert_int_equal(judge(&m, 100 * MIB, 3 * MIB, 20 * GIB + 23 * MIB, &o), OOM_OTHERS);
	assert_int_equal(o.others, 20 * GIB);

	/* Nobody says how much was free. */
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 18 * MIB);
	assert_int_equal(judge(&m, 100 * MIB, MODEL_UNKNOWN, MODEL_UNKNOWN, &o), OOM_UNKNOWN);

	/* Nobody says what the allocator held: it may have had enough in its cache. */
	model_init(&m, "test");
	block(&m, 20 * MIB, 18 * MIB);
	assert_int_equal(judge(&m, 100 * MIB, MIB, 40 * MIB, &o), OOM_UNKNOWN);
	assert_int_equal(o.cached, MODEL_UNKNOWN);
}

/* Total, free and what we saw handed out are all that a driver tells. */
static void adds_up(const struct oom *o)
{
	assert_true(o->total == o->free + o->reserved + o->others);
	assert_true(o->cached == MODEL_UNKNOWN && o->largest == MODEL_UNKNOWN && o->holes == MODEL_UNKNOWN);
}

static void sample(struct model *m, uint64_t free_bytes, uint64_t total)
{
	put(m, GMS_K_MEMORY, GMS_A_INFO, .addr = free_bytes, .size = total);
}

static void a_driver_request_fails_by_pages_by_shortage_or_is_refused(void **state)
{
	struct model m;
	struct oom o;
	unsigned i;

	(void)state;
	/* 64 allocations of half a page, each alone on its page: 64 MiB are neither free nor in use. */
	model_init(&m, "test");
	sample(&m, 576 * MIB, 576 * MIB);
	for (i = 0; i < 64; i++)
		put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = GIB + i * 2 * MIB, .size = MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 4 * GIB, .size = 400 * MIB);
	assert_int_equal(judge(&m, 100 * MIB, 48 * MIB, 576 * MIB, &o), OOM_FRAGMENTATION);
	assert_int_equal(o.stranded, 64 * MIB);
	assert_int_equal(o.live, 464 * MIB);
	assert_true(o.help & OOM_HELP_POOL);
	adds_up(&o);

	/* The same figures without small allocations: code that was loaded, say. No page is filled partly. */
	model_init(&m, "test");
	sample(&m, 576 * MIB, 576 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 4 * GIB, .size = 464 * MIB);
	assert_int_equal(judge(&m, 100 * MIB, 48 * MIB, 576 * MIB, &o), OOM_SHORTAGE);
	assert_int_equal(o.missing, 52 * MIB);
	assert_int_equal(o.stranded, 0);
	assert_true(o.help == OOM_HELP_LESS && !oom_too_large(&o));
	adds_up(&o);

	/* Gaps between addresses say nothing: with enough free the driver just refused. */
	model_init(&m, "test");
	for (i = 0; i < 9; i++)
		put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = GIB + i * 64 * MIB, .size = 64 * MIB);
	for (i = 1; i < 9; i += 2)
		put(&m, GMS_K_DEVICE, GMS_A_FREE, .addr = GIB + i * 64 * MIB);
	assert_int_equal(judge(&m, 128 * MIB, 256 * MIB, 576 * MIB, &o), OOM_REFUSED);
	assert_int_equal(o.live, 320 * MIB);
	assert_int_equal(o.help, 0);
	adds_up(&o);

	/* More than the device could give if nothing else were there. */
	model_init(&m, "test");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = GIB, .size = 200 * MIB);
	assert_int_equal(judge(&m, 600 * MIB, 300 * MIB, 576 * MIB, &o), OOM_SHORTAGE);
	assert_true(oom_too_large(&o));
	adds_up(&o);

	/* The device has nothing to do with page-locked host memory. */
	model_init(&m, "test");
	i = (unsigned)put(&m, GMS_K_PINNED, GMS_A_FAIL, .size = GIB);
	model_fail(&m, i, 2, MIB, 576 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = GIB, .size = MIB);
	model_link(&m);
	struct ooms all;
	oom_find(&m, 0, &all);
	assert_int_equal(all.v[0].cause, OOM_REFUSED);
	oom_free(&all);
	model_free(&m);
}

static void process(struct model *m, uint64_t pid, uint64_t bytes)
{
	put(m, GMS_K_PROCESS, GMS_A_INFO, .addr = pid, .size = bytes);
}

/* Where NVML told them apart, a large context is no other process, and a small other process is one. */
static void other_processes_are_known_from_nvml_and_else_supposed(void **state)
{
	struct model m;
	struct oom o;

	(void)state;
	model_init(&m, "test");
	m.pid = 100;
	process(&m, 0, 4 * GIB);
	process(&m, 100, 3 * GIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = GIB, .size = GIB);
	assert_int_equal(judge(&m, 128 * MIB, 76 * MIB, 3 * GIB + 76 * MIB, &o), OOM_SHORTAGE);
	assert_int_equal(o.processes, 0);
	assert_int_equal(o.others, 2 * GIB);

	model_init(&m, "test");
	m.pid = 100;
	process(&m, 100, GIB);
	process(&m, 7, 100 * MIB);
	process(&m, 8, 900 * MIB);
	process(&m, 8, 300 * MIB);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = GIB, .size = GIB);
	assert_int_equal(judge(&m, 128 * MIB, 76 * MIB, 2 * GIB, &o), OOM_OTHERS);
	assert_int_equal(o.processes, 400 * MIB);
	assert_int_equal(o.help, OOM_HELP_OTHERS);
	adds_up(&o);

	model_init(&m, "test");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = GIB, .size = GIB);
	assert_int_equal(judge(&m, 128 * MIB, 76 * MIB, 10 * GIB, &o), OOM_OTHERS);
	assert_int_equal(o.processes, MODEL_UNKNOWN);
}

/* 5,000 attempts in a loop, every tenth with another size: each has its cause, and they make two groups. */
static void equal_failures_are_one_group_and_all_are_judged(void **state)
{
	struct model m;
	struct ooms o;
	unsigned i, row;

	(void)state;
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 12 * MIB);
	for (i = 0; i < 5000; i++) {
		row = (unsigned)put(&m, GMS_K_BLOCK, GMS_A_FAIL, .size = (i % 10 ? 50 : 60) * MIB);
		model_fail(&m, row, 2, 3 * MIB, 24 * MIB);
	}
	/* Files may have their failures in any order. */
	struct failure first = m.failures[0];
	m.failures[0] = m.failures[4999];
	m.failures[4999] = first;
	model_link(&m);
	oom_find(&m, 0, &o);
	assert_true(o.n == 5000 && o.groups == 2);
	for (i = 0; i < 5000; i++) {
		assert_int_equal(o.v[i].event, i + 2);
		assert_int_equal(o.v[i].cause, OOM_SHORTAGE);
		assert_int_equal(o.v[i].missing, (i % 10 ? 39 : 49) * MIB);
		assert_int_equal(o.v[i].group, i % 10 ? 1 : 0);
	}
	assert_true(o.v[0].alike == 500 && o.v[0].last == 4990 && o.v[1].alike == 4500 && o.v[1].last == 4999);
	assert_true(o.v[1].holes == 1 && o.v[2].holes == MODEL_UNKNOWN);
	oom_free(&o);
	model_free(&m);
}

/* A limit, and in its cache enough for the request, but not in one piece: both can be helped. */
static void a_limit_may_hide_fragmentation(void **state)
{
	struct model m;
	struct oom o;

	(void)state;
	model_init(&m, "test");
	segment(&m, 20 * MIB, 20 * MIB);
	segment(&m, 60 * MIB, 20 * MIB);
	block(&m, 20 * MIB, 12 * MIB);
	block(&m, 60 * MIB, 12 * MIB);
	assert_int_equal(judge(&m, 12 * MIB, 10 * GIB, MODEL_UNKNOWN, &o), OOM_LIMIT);
	assert_int_equal(o.help, OOM_HELP_FRACTION | OOM_HELP_EXPANDABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(holes_between_blocks_make_external_fragmentation),
	    cmocka_unit_test(segments_allocated_one_by_one_never_merge_but_mapped_ranges_do),
	    cmocka_unit_test(a_small_block_pins_a_large_segment),
	    cmocka_unit_test(random_traces_agree_with_a_map_of_pages),
	    cmocka_unit_test(the_worst_moment_is_found_among_all_of_them),
	    cmocka_unit_test(a_framework_request_fails_for_one_of_five_reasons),
	    cmocka_unit_test(a_driver_request_fails_by_pages_by_shortage_or_is_refused),
	    cmocka_unit_test(other_processes_are_known_from_nvml_and_else_supposed),
	    cmocka_unit_test(equal_failures_are_one_group_and_all_are_judged),
	    cmocka_unit_test(a_limit_may_hide_fragmentation),
	};

	return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
