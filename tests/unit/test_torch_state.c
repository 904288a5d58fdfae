/* test_torch_state.c: the state before the first event of a PyTorch trace, undone from the final one,
 * against an allocator that was there.
 */
#include "allocator.h"
#include "base/mem.h"
#include "base/text.h"
#include "format/format.h"
#include "pickles.h"
#include <stdio.h>

/* --- what PyTorch would write ------------------------------------------------------------- */

static const char *action_of(uint8_t op)
{
	switch (op) {
	case GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC):
		return "alloc";
	case GMS_OP(GMS_K_BLOCK, GMS_A_FREE_REQUESTED):
		return "free_requested";
	case GMS_OP(GMS_K_BLOCK, GMS_A_FREE):
		return "free_completed";
	case GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC):
		return "segment_alloc";
	case GMS_OP(GMS_K_SEGMENT, GMS_A_FREE):
		return "segment_free";
	case GMS_OP(GMS_K_SEGMENT, GMS_A_MAP):
		return "segment_map";
	default:
		return "segment_unmap";
	}
}

static void write_segments(struct text *t, const struct allocator *a)
{
	size_t i, k;

	for (i = 0; i < a->n; i = k) {
		const struct piece *p = &a->pieces[i];
		uint64_t size = 0;

		for (k = i;
		     k < a->n && a->pieces[k].segment == p->segment && a->pieces[k].unmapped == p->unmapped;
		     k++)
			size += a->pieces[k].size;
		if (p->unmapped)
			continue;
		text_printf(
		    t,
		    "{'device': 0, 'address': %llu, 'total_size': %llu, 'stream': 0, 'segment_type': '%s', "
		    "'is_expandable': %s, 'blocks': [",
		    (unsigned long long)p->addr, (unsigned long long)size,
		    a->segments[p->segment].small ? "small" : "large", a->expandable ? "True" : "False");
		for (; p < a->pieces + k; p++)
			text_printf(
			    t, "{'address': %llu, 'size': %llu, 'requested_size': %llu, 'state': '%s'}, ",
			    (unsigned long long)p->addr, (unsigned long long)p->size,
			    (unsigned long long)p->request,
			    !p->used     ? "inactive"
			    : p->pending ? "active_pending_free"
			                 : "active_allocated");
		text_puts(t, "]}, ");
	}
}

static unsigned char *write_snapshot(const struct allocator *a, size_t from, size_t *n)
{
	struct text t = {0};
	unsigned char *bytes;
	size_t row;

	text_printf(
	    &t, "{'allocator_settings': {'max_split_size': %lld, 'expandable_segments': %s}, 'segments': [",
	    a->max_split == UINT64_MAX ? -1ll : (long long)a->max_split, a->expandable ? "True" : "False");
	write_segments(&t, a);
	text_puts(&t, "], 'device_traces': [[");
	for (row = from; row < a->n_log; row++)
		text_printf(&t, "{'action': '%s', 'addr': %llu, 'size': %llu, 'stream': 0, 'time_us': %zu}, ",
		            action_of(a->log[row].op), (unsigned long long)a->log[row].addr,
		            (unsigned long long)a->log[row].size, row + 1);
	text_puts(&t, "]]}");
	bytes = pickle_of(t.s, n);
	text_free(&t);
	return bytes;
}

/* --- what was there ------------------------------------------------------------------------ */

struct thing {
	uint64_t addr, size;
	uint8_t op;
};

static int by_op_and_addr(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;

	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static size_t things_before(const struct allocator *a, struct thing *things)
{
	size_t i, k, n = 0;

	for (i = 0; i < a->n; i++) {
		const struct piece *p = &a->pieces[i];

		if (p->used)
			things[n++] = (struct thing){p->addr, p->request, GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC)};
		if (p->unmapped || (i && p[-1].segment == p->segment && !p[-1].unmapped))
			continue;
		things[n] = (struct thing){p->addr, 0, GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC)};
		for (k = i; k < a->n && a->pieces[k].segment == p->segment && !a->pieces[k].unmapped; k++)
			things[n].size += a->pieces[k].size;
		n++;
	}
	qsort(things, n, sizeof *things, by_op_and_addr);
	return n;
}

static void check_run(uint64_t max_split, bool expandable, size_t steps_before)
{
	struct allocator *a = mem_zalloc(1, sizeof *a);
	static struct thing want[8192], got[8192];
	struct input in = {.name = "test"};
	struct err e = {0};
	struct model m;
	unsigned char *bytes;
	size_t n, i, from;

	a->max_split = max_split;
	a->expandable = expandable;
	a->top = 0x10000000;
	run(a, steps_before);
	n = things_before(a, want);
	from = a->n_log;
	run(a, 150);
	in.data = bytes = write_snapshot(a, from, &in.n);
	model_init(&m, "test");
	if (torch_read(&in, &m, &e))
		fail_msg("%s", e.msg);
	model_link(&m);
	assert_int_equal(m.n_initial, n);
	for (i = 0; i < n; i++)
		got[i] = (struct thing){m.ev.addr[i], m.ev.size[i], m.ev.op[i]};
	qsort(got, n, sizeof *got, by_op_and_addr);
	for (i = 0; i < n; i++) {
		assert_int_equal(got[i].op, want[i].op);
		assert_int_equal(got[i].addr, want[i].addr);
		assert_int_equal(got[i].size, want[i].size);
	}
	assert_int_equal(m.ev.n - m.n_initial, a->n_log - from);
	assert_int_equal(m.history, n ? HISTORY_PARTIAL : HISTORY_COMPLETE);
	assert_int_equal(m.n_notes, 0);
	assert_int_equal(m.anomalies.free_unknown + m.anomalies.double_free + m.anomalies.alloc_live, 0);
	model_free(&m);
	free(bytes);
	free(a);
}

static void the_start_of_random_runs_is_found(void **state)
{
	uint64_t this;

	(void)state;
	for (this = 1; this < 60; this ++) {
		seed = this * 7919;
		check_run(UINT64_MAX, false, rnd(200));
		check_run(32 * MIB, false, rnd(200));
		check_run(UINT64_MAX, true, rnd(200));
		check_run(UINT64_MAX, true, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_start_of_random_runs_is_found),
	};

	return cmocka_run_group_tests_name("torch_state", tests, NULL, NULL);
}
