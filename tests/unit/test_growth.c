/* test_growth.c: what grows, what only looks like it, and what is called a leak. */
#include "analyze/leak.h"
#include "base/mem.h"
#include "models.h"

#define MIB (1ull << 20)

struct maker {
	struct model m;
	uint64_t next;
	unsigned seed;
};

static void begin(struct maker *k)
{
	*k = (struct maker){.next = 0x1000, .seed = 7};
	model_init(&k->m, "test");
	k->m.history = HISTORY_COMPLETE;
}

static unsigned dice(struct maker *k, unsigned sides)
{
	k->seed = k->seed * 1103515245u + 12345u;
	return (k->seed >> 16) % sides;
}

static uint64_t take(struct maker *k, enum gms_kind kind, uint64_t size, uint32_t stack)
{
	uint64_t addr = k->next;

	k->next += 0x1000;
	put(&k->m, kind, GMS_A_ALLOC, .addr = addr, .size = size, .stack = stack);
	return addr;
}

/* Fifty steps: a block of 6.4 MiB is kept in each, among temporaries of any size from several places. */
static void noisy_program(struct maker *k, enum gms_kind kind, bool leak, bool tear_down, bool phases)
{
	uint32_t kept = site(&k->m, "cache_result", "step"), noise[4], load = site(&k->m, "load", "main");
	uint64_t leaked[50], temporary[64], weights[20];
	unsigned step, i, n;

	for (i = 0; i < 4; i++)
		noise[i] = site(&k->m, (const char *[]){"conv", "norm", "loss", "copy"}[i], "step");
	for (i = 0; i < 20; i++)
		weights[i] = take(k, kind, 8 * MIB, load);
	for (step = 0; step < 50; step++) {
		if (phases)
			*VEC_PUSH(k->m.phases, k->m.n_phases, k->m.cap_phases) =
			    (struct phase){.name = model_cstring(&k->m, "step"),
			                   .device = MODEL_NO_DEVICE,
			                   .begin_ns = (int64_t)k->m.ev.n,
			                   .end_ns = (int64_t)k->m.ev.n + 1};
		n = 10 + dice(k, 50);
		for (i = 0; i < n; i++)
			temporary[i] = take(k, kind, (1 + dice(k, 4000)) * 10240, noise[dice(k, 4)]);
		if (leak)
			leaked[step] = take(k, kind, 6710886, kept);
		for (i = 0; i < n; i++)
			put(&k->m, kind, GMS_A_FREE, .addr = temporary[i]);
	}
	for (i = 0; tear_down && i < 50 && leak; i++)
		put(&k->m, kind, GMS_A_FREE, .addr = leaked[i]);
	for (i = 0; tear_down && i < 20; i++)
		put(&k->m, kind, GMS_A_FREE, .addr = weights[i]);
	model_link(&k->m);
}

static const char *function_of(const struct model *m, uint32_t stack)
{
	size_t n;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	return n ? model_text(m, m->frames.v[frame[0]].function) : "";
}

static void only_the_leak_among_noisy_temporaries_is_named(void **state)
{
	bool phases, tear_down;
	unsigned run;

	(void)state;
	for (run = 0; run < 8; run++) {
		enum gms_kind kind = run & 4 ? GMS_K_BLOCK : GMS_K_DEVICE;
		struct maker k;
		struct growth g;

		phases = run & 1;
		tear_down = run & 2 && kind == GMS_K_DEVICE;
		begin(&k);
		noisy_program(&k, kind, true, tear_down, phases);
		growth_find(&k.m, 0, MODEL_UNKNOWN, &g);
		assert_int_equal(g.n, 1);
		assert_string_equal(function_of(&k.m, g.rows[0].stack), "cache_result");
		assert_true(g.rows[0].r2 > 0.95);
		assert_in_range(g.rows[0].count, 40, 50);
		if (phases) {
			assert_int_equal(g.unit, GROWTH_PER_STEP);
			assert_true(g.rows[0].slope > 6.3 * MIB && g.rows[0].slope < 6.5 * MIB);
		}
		growth_free(&g);
		model_free(&k.m);
	}
}

static void a_leak_is_named_also_where_the_program_stood_still_for_long(void **state)
{
	struct maker k;
	struct growth g;
	size_t row;

	(void)state;
	begin(&k);
	noisy_program(&k, GMS_K_DEVICE, true, false, false);
	for (row = k.m.ev.n - k.m.ev.n / 30; row < k.m.ev.n; row++)
		k.m.ev.t_ns[row] += 3600ll * 1000000000;
	growth_find(&k.m, 0, MODEL_UNKNOWN, &g);
	assert_int_equal(g.n, 1);
	assert_string_equal(function_of(&k.m, g.rows[0].stack), "cache_result");
	growth_free(&g);
	model_free(&k.m);
}

static void temporaries_and_warm_up_alone_do_not_grow(void **state)
{
	struct maker k;
	struct growth g;

	(void)state;
	begin(&k);
	noisy_program(&k, GMS_K_DEVICE, false, false, false);
	growth_find(&k.m, 0, MODEL_UNKNOWN, &g);
	assert_int_equal(g.n, 0);
	assert_true(g.samples > 0);
	growth_free(&g);
	model_free(&k.m);
}

/* Memory that rises for a third of the time and then stays is a plateau, however it is sampled. */
static void a_plateau_is_not_growth(void **state)
{
	struct maker k;
	struct growth g;
	unsigned i;
	uint32_t cache, work;

	(void)state;
	begin(&k);
	cache = site(&k.m, "fill_cache", "main");
	work = site(&k.m, "work", "main");
	for (i = 0; i < 300; i++) {
		if (i < 150)
			take(&k, GMS_K_DEVICE, MIB, cache);
		put(&k.m, GMS_K_DEVICE, GMS_A_FREE, .addr = take(&k, GMS_K_DEVICE, 5 * MIB, work));
	}
	model_link(&k.m);
	growth_find(&k.m, 0, MODEL_UNKNOWN, &g);
	assert_int_equal(g.n, 0);
	growth_free(&g);
	model_free(&k.m);
}

static void what_is_given_back_before_a_framework_recording_ends_was_not_kept(void **state)
{
	struct maker k;
	struct growth g;

	(void)state;
	begin(&k);
	noisy_program(&k, GMS_K_BLOCK, true, true, false);
	growth_find(&k.m, 0, MODEL_UNKNOWN, &g);
	assert_int_equal(g.n, 0);
	growth_free(&g);
	model_free(&k.m);
}

static void growth_of(const struct model *m, struct growth *g)
{
	growth_find(m, 0, MODEL_UNKNOWN, g);
}

static void building_up_once_is_no_growth(void **state)
{
	struct maker k;
	struct growth g;
	unsigned run, i;

	(void)state;
	for (run = 0; run < 3; run++) {
		begin(&k);
		for (i = 0; i < 200; i++) {
			uint64_t staging = run ? take(&k, GMS_K_DEVICE, MIB, site(&k.m, "read_file", "build")) : 0;

			take(&k, GMS_K_DEVICE, MIB, site(&k.m, "build", "main"));
			if (run)
				put(&k.m, GMS_K_DEVICE, GMS_A_FREE, .addr = staging);
		}
		for (i = 0; run == 2 && i < 150; i++) /* and torn down in part */
			put(&k.m, GMS_K_DEVICE, GMS_A_FREE, .addr = 0x2000 + i * 0x2000);
		model_link(&k.m);
		growth_of(&k.m, &g);
		assert_int_equal(g.n, 0);
		assert_true(g.samples > 0 && g.bytes == 0);
		growth_free(&g);
		model_free(&k.m);
	}
}

/* Steps that are marked only while something is set up do not tell about the rest. */
static void steps_at_the_beginning_are_not_all_of_it(void **state)
{
	struct maker k;
	struct growth g;
	unsigned i;

	(void)state;
	begin(&k);
	for (i = 0; i < 200; i++) {
		if (i < 20) {
			*VEC_PUSH(k.m.phases, k.m.n_phases, k.m.cap_phases) =
			    (struct phase){.name = model_cstring(&k.m, "load"), .device = MODEL_NO_DEVICE,
			                   .begin_ns = (int64_t)k.m.ev.n, .end_ns = (int64_t)k.m.ev.n + 1};
			take(&k, GMS_K_DEVICE, MIB, site(&k.m, "load", "main"));
		}
		put(&k.m, GMS_K_DEVICE, GMS_A_FREE, .addr = take(&k, GMS_K_DEVICE, 5 * MIB, site(&k.m, "work", "main")));
	}
	k.m.has_time = true;
	model_link(&k.m);
	growth_of(&k.m, &g);
	assert_int_equal(g.n, 0);
	growth_free(&g);
	model_free(&k.m);
}

/* --- random noise traces ---
 * Each recording has temporaries of random sizes, numbers and lives from several places, weights, and caches
 * that fill up to a random moment and stay (one evenly, one slower and slower) or are cleared now and then.
 * In half of them one place also keeps a block every one to three steps, of at least half a MiB. */
enum { NOISE_STEPS = 60 };

struct noise {
	struct maker k;
	uint32_t place[8], ramp, bend, saw, kept;
	uint64_t live[4096], sawtooth[NOISE_STEPS];
	unsigned n_live, n_saw, every, ramp_end, saw_every, bent;
};

static void noise_give_back(struct noise *x, enum gms_kind kind, unsigned i)
{
	put(&x->k.m, kind, GMS_A_FREE, .addr = x->live[i]);
	x->live[i] = x->live[--x->n_live];
}

static void noise_caches(struct noise *x, enum gms_kind kind, unsigned step)
{
	struct maker *k = &x->k;
	unsigned want = NOISE_STEPS * 2 * (step + 1) / (step + 1 + 6); /* rises less and less */

	if (step < x->ramp_end)
		take(k, kind, 2 * MIB, x->ramp);
	for (; x->bent < want; x->bent++)
		take(k, kind, MIB, x->bend);
	if (step % x->saw_every == 0)
		while (x->n_saw)
			put(&k->m, kind, GMS_A_FREE, .addr = x->sawtooth[--x->n_saw]);
	x->sawtooth[x->n_saw++] = take(k, kind, 3 * MIB, x->saw);
}

static void noise_step(struct noise *x, enum gms_kind kind, unsigned step, bool leak, uint64_t leaked)
{
	struct maker *k = &x->k;
	unsigned n = 20 + dice(k, 40), i;

	for (i = 0; i < n; i++) {
		x->live[x->n_live++] = take(k, kind, (1 + dice(k, 1000)) * 4096, x->place[dice(k, 8)]);
		while (x->n_live > 30 || (x->n_live && !dice(k, 3)))
			noise_give_back(x, kind, dice(k, x->n_live));
	}
	if (leak && step % x->every == 0)
		take(k, kind, leaked, x->kept);
	noise_caches(x, kind, step);
}

static void noise_make(struct noise *x, unsigned seed, bool leak)
{
	static const char *const name[] = {"conv", "norm", "loss", "copy", "sort", "scan", "pad", "cast"};
	enum gms_kind kind = seed & 2 ? GMS_K_BLOCK : GMS_K_DEVICE;
	uint64_t leaked;
	unsigned i, step;

	*x = (struct noise){0};
	begin(&x->k);
	x->k.seed = seed * 7919 + 1;
	x->k.m.has_time = seed & 4;
	for (i = 0; i < 8; i++)
		x->place[i] = site(&x->k.m, name[i], "step");
	x->ramp = site(&x->k.m, "fill_cache", "step");
	x->bend = site(&x->k.m, "warm_up", "step");
	x->saw = site(&x->k.m, "batch_cache", "step");
	x->kept = site(&x->k.m, "keep_result", "step");
	x->ramp_end = 5 + dice(&x->k, NOISE_STEPS * 7 / 10);
	x->saw_every = 4 + dice(&x->k, 14);
	x->every = 1 + dice(&x->k, 3);
	leaked = MIB / 2 + dice(&x->k, 6000) * 1024;
	for (i = 0; i < 30; i++)
		take(&x->k, kind, (1 + dice(&x->k, 64)) * MIB, site(&x->k.m, "load_weights", "main"));
	for (step = 0; step < NOISE_STEPS; step++) {
		if (seed & 4)
			*VEC_PUSH(x->k.m.phases, x->k.m.n_phases, x->k.m.cap_phases) =
			    (struct phase){.name = model_cstring(&x->k.m, "step"), .device = MODEL_NO_DEVICE,
			                   .begin_ns = (int64_t)x->k.m.ev.n, .end_ns = (int64_t)x->k.m.ev.n + 1};
		noise_step(x, kind, step, leak, leaked);
	}
	model_link(&x->k.m);
}

static void in_random_noise_a_leak_is_named_and_nothing_else(void **state)
{
	struct noise *x = mem_alloc(sizeof *x);
	struct growth g;
	unsigned seed;

	(void)state;
	for (seed = 1; seed <= 400; seed++) {
		bool leak = seed & 1;

		noise_make(x, seed, leak);
		growth_of(&x->k.m, &g);
		if (g.n != leak || (leak && g.rows[0].stack != x->kept))
			fail_msg("seed %u: %zu stacks grow, first %s, leak %d every %u, ramp ends %u, saw %u", seed, g.n,
			         g.n ? function_of(&x->k.m, g.rows[0].stack) : "-", leak, x->every, x->ramp_end, x->saw_every);
		growth_free(&g);
		model_free(&x->k.m);
	}
	free(x);
}

static void a_short_recording_tells_nothing(void **state)
{
	struct maker k;
	struct growth g;

	(void)state;
	begin(&k);
	take(&k, GMS_K_DEVICE, 1, 0);
	take(&k, GMS_K_DEVICE, 2, 0);
	model_link(&k.m);
	growth_find(&k.m, 0, MODEL_UNKNOWN, &g);
	assert_int_equal(g.samples, 0);
	growth_free(&g);
	model_free(&k.m);
}

/* --- leaks --- */

static void leaks_of(const struct model *m, struct leaks *l)
{
	struct growth g;
	struct live end;

	growth_find(m, 0, MODEL_UNKNOWN, &g);
	live_at(m, 0, m->ev.n - 1, &end);
	leak_find(m, 0, &end, &g, l);
	live_free(&end);
	growth_free(&g);
}

static void in_a_complete_recording_what_is_live_at_the_end_leaked(void **state)
{
	struct maker k;
	struct leaks l;
	uint32_t mine, frames[2];

	(void)state;
	begin(&k);
	k.m.complete = true;
	mine = site(&k.m, "forget", "main");
	frames[0] =
	    model_frame(&k.m, &(struct frame){.function = model_cstring(&k.m, "cublasCreate_v2"),
	                                      .module = model_cstring(&k.m, "/usr/lib/libcublas.so.13")});
	frames[1] = model_frame(&k.m, &(struct frame){.function = model_cstring(&k.m, "main")});
	take(&k, GMS_K_DEVICE, 100, mine);
	take(&k, GMS_K_DEVICE, 50, mine);
	take(&k, GMS_K_DEVICE, 4096, model_stack(&k.m, frames, 2));
	put(&k.m, GMS_K_DEVICE, GMS_A_FREE, .addr = take(&k, GMS_K_DEVICE, 7, mine));
	model_link(&k.m);
	leaks_of(&k.m, &l);
	assert_int_equal(l.basis, LEAK_LIVE_AT_END);
	assert_int_equal(l.bytes, 150);
	assert_int_equal(l.count, 2);
	assert_int_equal(l.library_bytes, 4096);
	assert_int_equal(l.rows[0].stack, mine); /* the user's first, although smaller */
	leak_free(&l);
	model_free(&k.m);
}

/* Host memory is not device memory: it is in no sum, but it is told. */
static void managed_pinned_and_registered_memory_leaks_apart(void **state)
{
	static const enum gms_kind kinds[] = {GMS_K_MANAGED, GMS_K_PINNED, GMS_K_REGISTERED};
	struct maker k;
	struct leaks l;
	unsigned i;

	(void)state;
	begin(&k);
	k.m.complete = true;
	for (i = 0; i < 3; i++) {
		take(&k, kinds[i], 100 + i, site(&k.m, "forget", "main"));
		take(&k, kinds[i], 100 + i, site(&k.m, "forget", "main"));
		put(&k.m, kinds[i], GMS_A_FREE, .addr = take(&k, kinds[i], 7, site(&k.m, "forget", "main")));
	}
	take(&k, GMS_K_DEVICE, 50, site(&k.m, "forget", "main"));
	model_link(&k.m);
	leaks_of(&k.m, &l);
	assert_true(l.bytes == 50 && l.count == 1 && l.n == 1);
	assert_int_equal(l.n_apart, 3);
	for (i = 0; i < 3; i++)
		assert_true(l.apart[i].kind == kinds[i] && l.apart[i].bytes == 200 + 2 * i && l.apart[i].count == 2);
	leak_free(&l);
	k.m.complete = false;
	leaks_of(&k.m, &l);
	assert_int_equal(l.n_apart, 0);
	leak_free(&l);
	model_free(&k.m);
}

static void an_incomplete_recording_or_left_out_frees_show_no_leaks(void **state)
{
	struct maker k;
	struct leaks l;

	(void)state;
	begin(&k);
	k.m.complete = false;
	take(&k, GMS_K_DEVICE, 100, 0);
	model_link(&k.m);
	leaks_of(&k.m, &l);
	assert_int_equal(l.basis, LEAK_UNRELIABLE);
	assert_int_equal(l.n, 0);
	assert_string_equal(leak_doubt(&k.m, 0), "incomplete: leaks unreliable");
	leak_free(&l);
	k.m.complete = true;
	k.m.frees_left_out = true;
	leaks_of(&k.m, &l);
	assert_int_equal(l.n, 0);
	assert_non_null(leak_doubt(&k.m, 0));
	leak_free(&l);
	model_free(&k.m);
}

static void survivors_outlived_steps_after_the_warm_up(void **state)
{
	struct maker k;
	struct survivors s;

	(void)state;
	begin(&k);
	noisy_program(&k, GMS_K_BLOCK, true, false, true);
	leak_survivors(&k.m, 0, &s);
	assert_int_equal(s.steps.n, 50);
	assert_int_equal(s.live.n, 1);
	assert_int_equal(s.live.count, 46); /* of steps 2 … 47 */
	leak_survivors_free(&s);
	model_free(&k.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_the_leak_among_noisy_temporaries_is_named),
	    cmocka_unit_test(a_leak_is_named_also_where_the_program_stood_still_for_long),
	    cmocka_unit_test(temporaries_and_warm_up_alone_do_not_grow),
	    cmocka_unit_test(a_plateau_is_not_growth),
	    cmocka_unit_test(what_is_given_back_before_a_framework_recording_ends_was_not_kept),
	    cmocka_unit_test(building_up_once_is_no_growth),
	    cmocka_unit_test(steps_at_the_beginning_are_not_all_of_it),
	    cmocka_unit_test(in_random_noise_a_leak_is_named_and_nothing_else),
	    cmocka_unit_test(a_short_recording_tells_nothing),
	    cmocka_unit_test(in_a_complete_recording_what_is_live_at_the_end_leaked),
	    cmocka_unit_test(managed_pinned_and_registered_memory_leaks_apart),
	    cmocka_unit_test(an_incomplete_recording_or_left_out_frees_show_no_leaks),
	    cmocka_unit_test(survivors_outlived_steps_after_the_warm_up),
	};

	return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
