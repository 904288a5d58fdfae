/* test_blocks.c: sizes of blocks recovered from addresses, against an allocator that knows them.
 *
 * The allocator makes random runs; each is cut at a random event, as a recording that began late,
 * and handed over with what a PyTorch snapshot would tell: requests and addresses of the window, and
 * the state at the end. What comes back as known must be right, and what stays unknown must be
 * within its bound.
 */
#include "allocator.h"
#include "base/mem.h"
#include "model/blocks.h"
#include <stdio.h>

/* --- as a snapshot ---------------------------------------------------------------------- */

static void put_final(struct model *m, const struct allocator *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		const struct piece *p = &a->pieces[i];
		bool first = !i || p[-1].segment != p->segment || p[-1].unmapped;

		if (p->unmapped)
			continue;
		if (first)
			*VEC_PUSH(m->segments, m->n_segments, m->cap_segments) =
			    (struct final_segment){.addr = p->addr,
			                           .first_block = (uint32_t)m->n_blocks,
			                           .expandable = a->expandable};
		m->segments[m->n_segments - 1].size += p->size;
		m->segments[m->n_segments - 1].n_blocks++;
		*VEC_PUSH(m->blocks, m->n_blocks, m->cap_blocks) =
		    (struct final_block){.addr = p->addr,
		                         .size = p->size,
		                         .requested = p->request,
		                         .state = !p->used     ? BLOCK_INACTIVE
		                                  : p->pending ? BLOCK_PENDING
		                                               : BLOCK_ACTIVE};
	}
}

/* What was there before event `from`: the log's blocks not yet freed, with their size if they outlive it. */
static size_t put_initial(struct model *m, const struct allocator *before, const struct allocator *a,
                          uint64_t *truth)
{
	size_t i, k;

	for (i = 0; i < before->n; i++) {
		const struct piece *p = &before->pieces[i];

		if (!p->unmapped && (!i || p[-1].segment != p->segment || p[-1].unmapped)) {
			struct event ev = {.op = GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC),
			                   .addr = p->addr,
			                   .block = MODEL_UNKNOWN};

			for (k = i; k < before->n && before->pieces[k].segment == p->segment &&
			            !before->pieces[k].unmapped;
			     k++)
				ev.size += before->pieces[k].size;
			model_add(m, &ev);
		}
	}
	for (i = 0; i < before->n; i++) {
		const struct piece *p = &before->pieces[i];
		bool survives = false;

		if (!p->used)
			continue;
		for (k = 0; k < a->n; k++)
			survives |= a->pieces[k].used && a->pieces[k].event == p->event;
		truth[m->ev.n] = p->size;
		model_add(m, &(struct event){.op = GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC),
		                             .addr = p->addr,
		                             .size = p->request,
		                             .block = survives ? p->size : MODEL_UNKNOWN});
	}
	return m->n_initial = m->ev.n;
}

static void put_settings(struct model *m, const struct allocator *a)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", a->max_split == UINT64_MAX ? -1ll : (long long)a->max_split);
	model_setting(m, "max_split_size", text);
	snprintf(text, sizeof text, "%llu", (unsigned long long)a->divisions);
	model_setting(m, "roundup_power2_divisions", text);
	model_setting(m, "expandable_segments", a->expandable ? "True" : "False");
}

struct tally {
	size_t known, unknown;
};

static void check_run(uint64_t max_split, uint64_t divisions, bool expandable, bool late, struct tally *tally)
{
	struct allocator *a = mem_zalloc(1, sizeof *a), *before;
	uint64_t *truth = mem_zalloc(16384, sizeof *truth);
	struct model m;
	size_t row, from;

	a->max_split = max_split;
	a->divisions = divisions;
	a->expandable = expandable;
	a->top = 0x10000000;
	run(a, late ? rnd(300) : 0);
	before = mem_alloc(sizeof *before);
	*before = *a;
	from = a->n_log;
	run(a, 200);
	model_init(&m, "test");
	put_settings(&m, a);
	put_initial(&m, before, a, truth);
	for (row = from; row < a->n_log; row++) {
		const struct log_row *r = &a->log[row];

		truth[m.ev.n] = r->block;
		model_add(&m, &(struct event){
		                  .op = r->op, .addr = r->addr, .size = r->size, .block = MODEL_UNKNOWN});
	}
	put_final(&m, a);
	if (!blocks_recover(&m, true))
		fail_msg("%s", m.n_notes ? m.notes[0].text : "no reason given");
	for (row = 0; row < m.ev.n; row++) {
		uint64_t size = model_block_size(&m, row);

		if (m.ev.op[row] != GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC))
			continue;
		if (size != MODEL_UNKNOWN) {
			assert_int_equal(size, truth[row]);
			tally->known++;
			continue;
		}
		assert_true(row < m.n_initial);
		assert_true(truth[row] <= m.ev.size[row] + m.device[0].slack_most);
		tally->unknown++;
	}
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
	free(truth);
	free(before);
	free(a);
}

static void runs_recorded_from_the_start_are_known_whole(void **state)
{
	struct tally tally = {0, 0};

	(void)state;
	for (seed = 1; seed < 31;) {
		uint64_t this = seed;

		check_run(UINT64_MAX, 0, false, false, &tally);
		check_run(32 * MIB, 0, false, false, &tally);
		check_run(UINT64_MAX, 4, false, false, &tally);
		check_run(UINT64_MAX, 0, true, false, &tally);
		seed = this + 1;
	}
	assert_int_equal(tally.unknown, 0);
	assert_true(tally.known > 5000);
}

static void runs_recorded_late_are_right_where_known(void **state)
{
	struct tally tally = {0, 0};

	(void)state;
	for (seed = 100; seed < 150;) {
		uint64_t this = seed;

		check_run(UINT64_MAX, 0, false, true, &tally);
		check_run(UINT64_MAX, 8, false, true, &tally);
		check_run(32 * MIB, 0, false, true, &tally);
		check_run(UINT64_MAX, 0, true, true, &tally);
		seed = this + 1;
	}
	print_message("# %zu sizes known, %zu bounded\n", tally.known, tally.unknown);
	assert_true(tally.unknown > 0 && tally.known > 50 * tally.unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(runs_recorded_from_the_start_are_known_whole),
	    cmocka_unit_test(runs_recorded_late_are_right_where_known),
	};

	return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
