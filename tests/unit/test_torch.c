/* test_torch.c: PyTorch snapshots written down as literals, with answers worked out by hand. */
#include "base/mem.h"
#include "format/format.h"
#include "pickles.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

/* --- literals --------------------------------------------------------------------------- */

#define EV(action, addr, size, us)                                                                           \
	"{'action': '" action "', 'addr': " #addr ", 'size': " #size ", 'stream': 0, 'time_us': " #us "},"
#define FRAME(function)      "{'name': '" function "', 'filename': 'app.py', 'line': 7},"
#define EV_AT(action, addr, size, us, frames)                                                                 \
	"{'action': '" action "', 'addr': " #addr ", 'size': " #size ", 'stream': 0, 'time_us': " #us                \
	", 'frames': [" frames "]},"
#define SEGMENT_OF(device, addr, size, type, rest, blocks)                                                   \
	"{'device': " #device ", 'address': " #addr ", 'total_size': " #size ", 'stream': 0, 'segment_type': '" type \
	"', " rest "'blocks': [" blocks "]},"
#define SEGMENT(addr, size, blocks) SEGMENT_OF(0, addr, size, "large", "", blocks)
#define SMALL(addr, size, blocks)   SEGMENT_OF(0, addr, size, "small", "", blocks)
#define BLOCK(addr, size, requested, state)                                                                  \
	"{'address': " #addr ", 'size': " #size ", 'requested_size': " #requested ", 'state': '" state "'},"
#define USED(addr, size, requested) BLOCK(addr, size, requested, "active_allocated")
#define FREE(addr, size)            BLOCK(addr, size, 0, "inactive")
#define SNAPSHOT(segments, traces)  "{'segments': [" segments "], 'device_traces': [" traces "]}"
#define TRACE(events)               "[" events "],"

static int read_literal(struct model *m, const char *literal, struct err *e)
{
	size_t n;
	unsigned char *bytes = pickle_of(literal, &n);
	struct input in = {.name = "test", .data = bytes, .n = n, .raw_n = n};
	int rc;

	*e = (struct err){0};
	model_init(m, "test");
	assert_true(torch_probe(&in));
	rc = torch_read(&in, m, e);
	free(bytes);
	if (rc)
		model_free(m);
	else
		model_link(m);
	return rc;
}

static struct model load(const char *literal)
{
	struct model m;
	struct err e;

	if (read_literal(&m, literal, &e))
		fail_msg("%s", e.msg);
	if (getenv("SHOW"))
		for (size_t i = 0; i < m.n_notes; i++)
			fprintf(stderr, "# note: %s\n", m.notes[i].text);
	return m;
}

static void expect_row(const struct model *m, size_t row, const char *op, uint64_t addr, uint64_t size)
{
	char name[64];

	assert_true(row < m->ev.n);
	snprintf(name, sizeof name, "%s.%s", gms_kind_info[GMS_OP_KIND(m->ev.op[row])].name,
		 gms_action_name[GMS_OP_ACTION(m->ev.op[row])]);
	assert_string_equal(name, op);
	assert_int_equal(m->ev.addr[row], addr);
	assert_int_equal(m->ev.size[row], size);
}

static bool noted(const struct model *m, const char *part)
{
	size_t i;

	for (i = 0; i < m->n_notes; i++)
		if (strstr(m->notes[i].text, part))
			return true;
	return false;
}

static const char *function(const struct model *m, uint32_t stack, size_t at)
{
	size_t n;
	const uint32_t *frames = model_stack_frames(m, stack, &n);

	return at < n ? model_text(m, m->frames.v[frames[at]].function) : "";
}

/* --- entries ---------------------------------------------------------------------------- */

static void every_entry_is_one_row(void **state)
{
	struct model m = load(SNAPSHOT("", TRACE(
		EV("segment_alloc", 0x10000, 2097152, 100) EV("alloc", 0x10000, 100, 101) EV("free_requested", 0x10000, 100, 102)
		EV("free_completed", 0x10000, 100, 103) EV("segment_free", 0x10000, 2097152, 104)
		EV("segment_map", 0x400000, 2097152, 105) EV("segment_unmap", 0x400000, 2097152, 106)
		"{'action': 'oom', 'device_free': 4096, 'size': 1024, 'stream': 0, 'time_us': 107},"
		EV("snapshot", 0, 0, 108))));

	(void)state;
	assert_int_equal(m.source, SOURCE_TORCH);
	assert_int_equal(m.ev.n, 9);
	assert_int_equal(m.n_initial, 0);
	expect_row(&m, 0, "segment.alloc", 0x10000, 2097152);
	expect_row(&m, 1, "block.alloc", 0x10000, 100);
	expect_row(&m, 2, "block.free_requested", 0x10000, 100);
	expect_row(&m, 3, "block.free", 0x10000, 100);
	expect_row(&m, 4, "segment.free", 0x10000, 2097152);
	expect_row(&m, 5, "segment.map", 0x400000, 2097152);
	expect_row(&m, 6, "segment.unmap", 0x400000, 2097152);
	expect_row(&m, 7, "block.fail", 0, 1024);
	expect_row(&m, 8, "trace.info", 0, 0);
	assert_int_equal(m.ev.t_ns[0], 0);
	assert_int_equal(m.ev.t_ns[8], 8000);
	assert_int_equal(m.start_wall_ns, 100000);
	assert_int_equal(m.duration_ns, 8000);
	assert_int_equal(m.n_failures, 1);
	assert_int_equal(m.failures[0].event, 7);
	assert_int_equal(m.failures[0].error, 2);
	assert_int_equal(m.failures[0].free, 4096);
	assert_true(m.failures[0].total == MODEL_UNKNOWN);
	assert_int_equal(m.history, HISTORY_COMPLETE);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void unknown_actions_and_keys_are_tolerated_and_counted(void **state)
{
	struct model m = load("{'new_key': {'a': [1, {'b': *0}]}, 'segments': [], 'device_traces': [[" EV("alloc", 0x1000, 512, 1)
			      EV("workspace_snapshot", 0, 0, 2) EV("workspace_snapshot", 0, 0, 3) EV("annotate", 4096, 0, 4)
			      "{'size': 512, 'internal_metadata': {'x': 1}, 'time_us': 5, 'addr': 4096, 'frames': [" FRAME("f")
			      "], 'action': 'free_completed', 'pool_id': (0, 0), 'forward_frames': ['g', 'h'], 'category': 'q'},"
			      "{'action': 'alloc', 'addr': 8192, 'stream': 0, 'time_us': 6}, {'action': 7}]]}");

	(void)state;
	assert_int_equal(m.ev.n, 7);
	expect_row(&m, 1, "trace.other", 0, 0);
	expect_row(&m, 3, "trace.other", 4096, 0);
	expect_row(&m, 4, "block.free", 0x1000, 512);
	expect_row(&m, 5, "trace.other", 8192, 0); /* an alloc that does not say how large */
	assert_string_equal(function(&m, m.ev.stack[4], 0), "f");
	assert_int_equal(m.unknown_entries, 4);
	assert_true(noted(&m, "unknown action \"workspace_snapshot\""));
	assert_true(noted(&m, "incomplete action \"alloc\""));
	assert_true(noted(&m, "\"new_key\""));
	model_free(&m);
}

static void what_is_no_snapshot_is_refused(void **state)
{
	static const char *const literals[] = {"{'a': 1}", "{}", "7", "'segments'", "[1, 2]", "[[]]", "None",
	                                       "{'action': 'alloc', 'addr': 1, 'size': 1}"};
	struct model m;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof literals / sizeof *literals; i++) {
		assert_int_equal(read_literal(&m, literals[i], &e), -1);
		assert_int_equal(e.kind, ERR_INPUT);
		assert_non_null(strstr(e.msg, "no PyTorch memory snapshot"));
	}
	assert_int_equal(read_literal(&m, "{'segments': [{'device': 255, 'total_size': 1, 'blocks': []}]}", &e), -1);
	assert_int_equal(read_literal(&m, "[{'total_size': 1, 'blocks': [{'state': 'inactive', 'size': 'x'}]}]", &e), -1);
}

static void missing_parts_are_tolerated(void **state)
{
	struct model m = load("{'device_traces': [[" EV("alloc", 0x1000, 512, 1) "]]}");

	(void)state;
	assert_int_equal(m.ev.n, 1);
	model_free(&m);
	m = load("{'segments': [" SEGMENT(0x1000, 1024, USED(0x1000, 1024, 1000)) "]}");
	assert_int_equal(m.ev.n, 2);
	assert_int_equal(m.n_initial, 2);
	assert_int_equal(m.history, HISTORY_NONE);
	model_free(&m);
	m = load("[" SEGMENT(0x1000, 1024, USED(0x1000, 1024, 1000)) "]"); /* torch.cuda.memory_snapshot() */
	assert_int_equal(m.n_initial, 2);
	model_free(&m);
	m = load("[]");
	assert_int_equal(m.ev.n, 0);
	model_free(&m);
	m = load("{'segments': [], 'device_traces': [[], [], []]}");
	assert_int_equal(m.ev.n, 0);
	assert_int_equal(m.history, HISTORY_NONE);
	model_free(&m);
}

static void without_times_the_event_number_is_the_time(void **state)
{
	struct model m = load("{'segments': [], 'device_traces': [[{'action': 'alloc', 'addr': 4096, 'size': 9, 'stream': 0},"
			      "{'action': 'free_completed', 'addr': 4096, 'size': 9, 'stream': 0}]]}");

	(void)state;
	assert_false(m.has_time);
	assert_int_equal(m.ev.t_ns[0], 0);
	assert_int_equal(m.ev.t_ns[1], 1);
	assert_int_equal(m.start_wall_ns, 0);
	model_free(&m);
}

static void one_old_event_is_no_history(void **state)
{
	struct model m = load(SNAPSHOT(SEGMENT(0x1000, 1024, USED(0x1000, 1024, 1000)), TRACE(EV("free_completed", 0x9000, 8, 5))));

	(void)state;
	assert_int_equal(m.history, HISTORY_NONE);
	assert_int_equal(m.n_initial, 3);
	expect_row(&m, 1, "block.alloc", 0x9000, 8); /* it was there before, wherever that was */
	model_free(&m);
}

/* --- devices ---------------------------------------------------------------------------- */

static void devices_are_merged_by_time_and_keep_their_order(void **state)
{
	struct model m = load(SNAPSHOT("",
		TRACE(EV("alloc", 0x1000, 1, 10) EV("alloc", 0x2000, 2, 30) EV("alloc", 0x3000, 3, 20) /* a clock stepped back */)
		TRACE("")
		TRACE(EV("alloc", 0x4000, 4, 10) EV("alloc", 0x5000, 5, 25))));
	static const uint64_t sizes[] = {1, 4, 5, 2, 3};
	static const uint8_t devices[] = {0, 2, 2, 0, 0};
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		assert_int_equal(m.ev.size[i], sizes[i]);
		assert_int_equal(m.ev.device[i], devices[i]);
	}
	assert_true(m.device[0].present);
	assert_false(m.device[1].present);
	assert_true(m.device[2].present);
	model_free(&m);
}

static void a_list_shared_by_two_devices_is_read_for_both(void **state)
{
	/* containers: 0 top, 1 segments, 2 traces, 3 first trace, 4 its entry */
	struct model m = load("{'segments': [], 'device_traces': [[" EV("alloc", 0x1000, 1, 10) "*4], *3]}");

	(void)state;
	assert_int_equal(m.ev.n, 4);
	assert_int_equal(m.ev.device[0], 0);
	assert_int_equal(m.ev.device[1], 0);
	assert_int_equal(m.ev.device[2], 1);
	assert_int_equal(m.ev.device[3], 1);
	model_free(&m);
}

static void streams_belong_to_their_device(void **state)
{
	struct model m = load("{'segments': [], 'device_traces': ["
			      "[{'action': 'alloc', 'addr': 4096, 'size': 1, 'stream': 77, 'time_us': 1}],"
			      "[{'action': 'alloc', 'addr': 8192, 'size': 1, 'stream': 77, 'time_us': 2},"
			      "{'action': 'alloc', 'addr': 12288, 'size': 1, 'stream': 0, 'time_us': 3},"
			      "{'action': 'alloc', 'addr': 16384, 'size': 1, 'stream': -1, 'time_us': 4}]]}");
	const struct stream_info *s = m.streams;

	(void)state;
	assert_int_equal(s[m.ev.stream[0]].handle, 77);
	assert_int_equal(s[m.ev.stream[0]].device, 0);
	assert_int_equal(s[m.ev.stream[1]].handle, 77);
	assert_int_equal(s[m.ev.stream[1]].device, 1);
	assert_int_equal(m.ev.stream[2], 0);
	assert_true(s[m.ev.stream[3]].handle == UINT64_MAX);
	model_free(&m);
}

static void host_traces_are_no_device_memory(void **state)
{
	struct model m = load("{'segments': [], 'host_segments': [], 'device_traces': [[" EV("alloc", 0x1000, 1, 10)
			      "]], 'host_traces': [[" EV("alloc", 0x2000, 2, 5) EV("free_completed", 0x2000, 2, 20) "]]}");

	(void)state;
	expect_row(&m, 0, "host_block.alloc", 0x2000, 2);
	expect_row(&m, 1, "block.alloc", 0x1000, 1);
	expect_row(&m, 2, "host_block.free", 0x2000, 2);
	assert_int_equal(m.ev.device[0], MODEL_NO_DEVICE);
	assert_int_equal(m.ev.peer[0], 2);
	assert_true(m.device[0].present);
	model_free(&m);
}

/* One block was pinned before the host's trace began, one in it, and one is only cached. */
static void host_segments_tell_what_was_pinned_before(void **state)
{
	struct model m = load(
		"{'segments': [" SEGMENT(0x1000000, 2097152, USED(0x1000000, 2097152, 2000000)) "], 'host_segments': ["
		SEGMENT_OF(-1, 0x9000000, 4096, "large", "", USED(0x9000000, 4096, 3000)) SEGMENT(0x5000000, 8192, FREE(0x5000000, 8192))
		SEGMENT(0x7000000, 2048, USED(0x7000000, 2048, 1500)) "], 'device_traces': [["
		EV("segment_alloc", 0x1000000, 2097152, 5) EV("alloc", 0x1000000, 2000000, 5)
		"]], 'host_traces': [[" EV("segment_alloc", 0x7000000, 2048, 9) EV("alloc", 0x7000000, 1500, 9) "]]}");

	(void)state;
	assert_int_equal(m.n_initial, 3);
	expect_row(&m, 0, "segment.alloc", 0x5000000, 8192);
	expect_row(&m, 1, "segment.alloc", 0x9000000, 4096);
	expect_row(&m, 2, "host_block.alloc", 0x9000000, 3000);
	expect_row(&m, 6, "host_block.alloc", 0x7000000, 1500);
	assert_int_equal(m.ev.device[2], MODEL_NO_DEVICE);
	assert_int_equal(m.n_segments, 1); /* the device's */
	assert_int_equal(m.history, HISTORY_COMPLETE);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

/* --- the state before the first event ---------------------------------------------------- */

static void the_start_is_undone_from_the_end(void **state)
{
	/* Before: a segment with A (freed in the window), B (stays), and another one, given back. */
	struct model m = load(SNAPSHOT(
		SEGMENT(0x1000000, 20971520, FREE(0x1000000, 2097152) USED(0x1200000, 2097152, 2000000) FREE(0x1400000, 16777216)),
		TRACE(EV("free_requested", 0x1000000, 2097000, 1) EV("free_completed", 0x1000000, 2097000, 1)
		      EV("segment_free", 0x9000000, 20971520, 2) EV("alloc", 0x1000000, 1500000, 3)
		      EV("free_requested", 0x1000000, 1500000, 4) EV("free_completed", 0x1000000, 1500000, 4))));

	(void)state;
	assert_int_equal(m.n_initial, 4);
	expect_row(&m, 0, "segment.alloc", 0x1000000, 20971520);
	expect_row(&m, 1, "segment.alloc", 0x9000000, 20971520);
	expect_row(&m, 2, "block.alloc", 0x1000000, 2097000);
	expect_row(&m, 3, "block.alloc", 0x1200000, 2000000);
	assert_int_equal(m.history, HISTORY_PARTIAL);
	assert_int_equal(m.ev.peer[2], 5);
	assert_true(m.ev.peer[3] == MODEL_NO_PEER);
	/* A ended where B begins; B is known from the end; the alloc left 602,112 bytes: too little to split off. */
	assert_int_equal(model_block_size(&m, 2), 2097152);
	assert_int_equal(model_block_size(&m, 3), 2097152);
	assert_int_equal(model_block_size(&m, 7), 2097152);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void what_awaits_other_streams_is_still_there(void **state)
{
	struct model m = load(SNAPSHOT(
		SEGMENT(0x1000000, 6291456, BLOCK(0x1000000, 2097152, 2097152, "active_pending_free")
		        BLOCK(0x1200000, 2097152, 2097152, "active_awaiting_free") FREE(0x1400000, 2097152)),
		TRACE(EV("free_completed", 0x1400000, 2097152, 1) EV("free_requested", 0x1000000, 2097152, 2))));

	(void)state;
	assert_int_equal(m.n_initial, 4);
	assert_true(m.ev.peer[1] == 4); /* its request came before the window */
	assert_true(m.ev.peer[2] == MODEL_NO_PEER); /* only requested */
	assert_true(m.ev.peer[3] == MODEL_NO_PEER);
	assert_int_equal(m.ev.peer[5], 2);
	assert_int_equal(m.blocks[0].state, BLOCK_PENDING);
	assert_int_equal(m.blocks[1].state, BLOCK_PENDING);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void a_stack_of_before_is_taken_from_a_free_only_if_frees_carry_it(void **state)
{
	static const char alike[] = SNAPSHOT("", TRACE(
		EV_AT("free_completed", 0x1000, 512, 1, FRAME("before")) EV_AT("alloc", 0x2000, 512, 2, FRAME("made"))
		EV_AT("free_completed", 0x2000, 512, 3, FRAME("made"))));
	static const char unlike[] = SNAPSHOT("", TRACE(
		EV_AT("free_completed", 0x1000, 512, 1, FRAME("gone")) EV_AT("alloc", 0x2000, 512, 2, FRAME("made"))
		EV_AT("free_completed", 0x2000, 512, 3, FRAME("ended"))));
	struct model m = load(alike);

	(void)state;
	expect_row(&m, 0, "block.alloc", 0x1000, 512);
	assert_string_equal(function(&m, m.ev.stack[0], 0), "before");
	model_free(&m);
	m = load(unlike);
	expect_row(&m, 0, "block.alloc", 0x1000, 512);
	assert_int_equal(m.ev.stack[0], 0);
	model_free(&m);
}

static void expandable_segments_grow_and_shrink(void **state)
{
#define GROWN "'is_expandable': True, "
	struct model m = load(SNAPSHOT(
		SEGMENT_OF(0, 0x10000000, 41943040, "large", GROWN, USED(0x10000000, 31457280, 31457280) FREE(0x11e00000, 10485760))
		SEGMENT_OF(0, 0x14000000, 20971520, "large", GROWN, FREE(0x14000000, 20971520)),
		TRACE(EV("segment_map", 0x11400000, 20971520, 1)    /* grows what was there */
		      EV("segment_unmap", 0x12800000, 25165824, 2) /* what lay between both */
		      EV("alloc", 0x10000000, 31457280, 3))));

	(void)state;
	assert_int_equal(m.n_initial, 2);
	expect_row(&m, 0, "segment.alloc", 0x10000000, 20971520);
	expect_row(&m, 1, "segment.alloc", 0x12800000, 46137344);
	assert_int_equal(model_block_size(&m, 4), 31457280);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void segment_events_that_do_not_add_up_are_told(void **state)
{
	struct model m = load(SNAPSHOT(SEGMENT(0x1000000, 2097152, FREE(0x1000000, 2097152)),
	                               TRACE(EV("segment_alloc", 0x5000000, 2097152, 1) EV("alloc", 0x5000000, 2097152, 1))));

	(void)state;
	assert_true(noted(&m, "0x5000000"));
	assert_int_equal(m.notes[0].kind, NOTE_INCONSISTENT);
	model_free(&m);
}

static void frees_left_out_on_purpose_are_told(void **state)
{
	struct model m = load(SNAPSHOT(SEGMENT(0x1000000, 2097152, USED(0x1000000, 2097152, 2097152)), TRACE(
		EV("segment_alloc", 0x1000000, 2097152, 1) EV("alloc", 0x1000000, 2097152, 2) EV("segment_alloc", 0x2000000, 2097152, 3)
		EV("alloc", 0x2000000, 2097152, 4) EV("segment_free", 0x2000000, 2097152, 5))));

	(void)state;
	assert_true(m.frees_left_out);
	assert_true(noted(&m, "1 block is gone"));
	model_free(&m);
	/* nothing freed and nothing gone: nothing left out */
	m = load(SNAPSHOT(SEGMENT(0x1000000, 2097152, USED(0x1000000, 2097152, 2097152)),
	                  TRACE(EV("segment_alloc", 0x1000000, 2097152, 1) EV("alloc", 0x1000000, 2097152, 2))));
	assert_false(m.frees_left_out);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void requests_end_blocks_where_completed_frees_were_left_out(void **state)
{
	struct model m = load(SNAPSHOT(SEGMENT(0x1000000, 2097152, FREE(0x1000000, 2097152)), TRACE(
		EV("segment_alloc", 0x1000000, 2097152, 1) EV("alloc", 0x1000000, 2097152, 2) EV("free_requested", 0x1000000, 2097152, 3))));

	(void)state;
	assert_false(m.frees_left_out);
	assert_int_equal(m.n_initial, 0);
	assert_int_equal(m.ev.peer[1], 2);
	model_free(&m);
}

/* --- the sizes of blocks ----------------------------------------------------------------- */

static void sizes_follow_the_split_rule(void **state)
{
	struct model m = load(SNAPSHOT(
		SMALL(0x1000000, 2097152, USED(0x1000000, 512, 1) FREE(0x1000200, 2096640))
		SEGMENT(0x2000000, 20971520, FREE(0x2000000, 20971520)),
		TRACE(EV("segment_alloc", 0x1000000, 2097152, 1) EV("alloc", 0x1000000, 1, 2)     /* 512, split */
		      EV("segment_alloc", 0x2000000, 20971520, 3) EV("alloc", 0x2000000, 9000001, 4) /* 9,000,448, split */
		      EV("alloc", 0x2895600, 11500000, 5)                                       /* rest 471,072: whole */
		      EV("free_completed", 0x2000000, 9000001, 6) EV("free_completed", 0x2895600, 11500000, 7))));

	(void)state;
	assert_int_equal(model_block_size(&m, 1), 512);
	assert_int_equal(model_block_size(&m, 3), 9000448);
	assert_int_equal(model_block_size(&m, 4), 11971072);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
}

static void sizes_follow_the_settings(void **state)
{
#define SET(settings, trace) "{'allocator_settings': {" settings "}, 'device_traces': [[" trace "]]}"
	struct model m = load(SET("'roundup_power2_divisions': {'1': 0, '2': 4, '4': 4}",
	                          EV("segment_alloc", 0x1000000, 20971520, 1) EV("alloc", 0x1000000, 2200000, 2)
	                          EV("alloc", 0x1280000, 1500000, 3)));

	(void)state;
	assert_int_equal(model_block_size(&m, 1), 2621440); /* 2 MiB + one of four steps to 4 MiB */
	assert_int_equal(model_block_size(&m, 2), 1500160); /* below 2 MiB: multiples of 512 */
	assert_string_equal(model_setting_get(&m, "roundup_power2_divisions"), "[1:0,2:4,4:4]");
	model_free(&m);
	m = load(SET("'max_split_size': 20971520", EV("segment_alloc", 0x1000000, 41943040, 1) EV("alloc", 0x1000000, 20971520, 2)));
	assert_int_equal(model_block_size(&m, 1), 41943040); /* oversize blocks are never split */
	model_free(&m);
	m = load(SET("'expandable_segments': True", EV("segment_map", 0x1000000, 20971520, 1) EV("alloc", 0x1000000, 20970000, 2)));
	assert_int_equal(model_block_size(&m, 1), 20970496); /* any rest is split off */
	model_free(&m);
}

static void sizes_that_do_not_follow_are_unknown(void **state)
{
	/* The second alloc is not at the beginning of a free block. */
	struct model m = load(SNAPSHOT(
		SMALL(0x1000000, 2097152, USED(0x1000000, 1024, 100) FREE(0x1000400, 2096128)),
		TRACE(EV("segment_alloc", 0x1000000, 2097152, 1) EV("alloc", 0x1000000, 100, 2) EV("alloc", 0x1000800, 100, 3)
		      EV("free_completed", 0x1000800, 100, 4))));

	(void)state;
	assert_int_equal(model_block_size(&m, 1), 1024); /* the final state has it */
	assert_true(model_block_size(&m, 2) == MODEL_UNKNOWN);
	assert_true(noted(&m, "at event 2"));
	model_free(&m);
	/* All events follow, but the end is another one: a pool that never splits. */
	m = load(SNAPSHOT(SMALL(0x1000000, 2097152, USED(0x1000000, 2097152, 100)),
	                  TRACE(EV("segment_alloc", 0x1000000, 2097152, 1) EV("alloc", 0x1000000, 100, 2)
	                        EV("free_completed", 0x1000000, 100, 3) EV("alloc", 0x1000000, 100, 4))));
	assert_true(model_block_size(&m, 1) == MODEL_UNKNOWN);
	assert_int_equal(model_block_size(&m, 3), 2097152);
	assert_true(noted(&m, "at the end"));
	model_free(&m);
}

static void checksums_are_compared(void **state)
{
#define SUMS(a, b)                                                                                            \
	SNAPSHOT(SMALL(0x1000000, 2097152, USED(0x1000000, 512, 100) FREE(0x1000200, 2096640)),                     \
	         TRACE(EV("segment_alloc", 0x1000000, 2097152, 1) EV("snapshot", 0, a, 2) EV("alloc", 0x1000000, 100, 3) \
	               EV("snapshot", 0, b, 4) EV("snapshot", 0, 512, 5)))
	struct model m = load(SUMS(0, 512));

	(void)state;
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
	m = load(SUMS(0, 1024));
	assert_true(noted(&m, "at event 3 the recorder counted 1024 active bytes, the events give 512"));
	assert_true(noted(&m, "1 of 3"));
	assert_int_equal(m.notes[0].kind, NOTE_INCONSISTENT);
	model_free(&m);
}

/* --- the final state --------------------------------------------------------------------- */

static void torch_2_0_blocks_have_a_history_and_no_address(void **state)
{
	struct model m = load("{'segments': [{'device': 0, 'address': 4096, 'total_size': 3072, 'allocated_size': 2048,"
			      "'active_size': 2048, 'stream': 0, 'segment_type': 'small', 'blocks': ["
			      "{'size': 1024, 'requested_size': 1000, 'state': 'active_allocated', 'history': ["
			      "{'addr': 4096, 'real_size': 1000, 'frames': [" FRAME("now") "]},"
			      "{'addr': 4096, 'real_size': 24, 'frames': [" FRAME("earlier") "]}]},"
			      "{'size': 1024, 'state': 'inactive'},"
			      "{'size': 1024, 'state': 'active_allocated', 'history': [{'addr': 6144, 'real_size': 900}]}]}]}");

	(void)state;
	assert_int_equal(m.n_initial, 3);
	expect_row(&m, 1, "block.alloc", 4096, 1000);
	expect_row(&m, 2, "block.alloc", 6144, 900);
	assert_string_equal(function(&m, m.ev.stack[1], 0), "now");
	assert_int_equal(model_block_size(&m, 2), 1024);
	assert_int_equal(m.n_segments, 1);
	assert_int_equal(m.segments[0].n_blocks, 3);
	assert_int_equal(m.blocks[1].addr, 5120);
	model_free(&m);
}

static void segments_are_sorted_and_keep_their_attributes(void **state)
{
	struct model m = load("[" SEGMENT_OF(1, 0x3000, 512, "small", "", FREE(0x3000, 512))
			      SEGMENT_OF(0, 0x9000, 512, "large", "'segment_pool_id': (3, 4), 'requested_size': 77, 'is_expandable': True, "
	                                "'frames': [" FRAME("grow") "], ", FREE(0x9000, 512))
			      SEGMENT_OF(0, 0x2000, 512, "large", "", FREE(0x2000, 256)) "]");
	const struct final_segment *s = m.segments;

	(void)state;
	assert_int_equal(m.n_segments, 3);
	assert_int_equal(s[0].addr, 0x2000);
	assert_int_equal(s[1].addr, 0x9000);
	assert_int_equal(s[2].device, 1);
	assert_int_equal(s[1].requested, 77);
	assert_true(s[0].requested == MODEL_UNKNOWN);
	assert_true(s[1].expandable && !s[0].expandable);
	assert_string_equal(function(&m, s[1].stack, 0), "grow");
	assert_int_equal(m.pools[s[1].pool].id[0], 3);
	assert_int_equal(m.pools[s[1].pool].id[1], 4);
	assert_int_equal(m.pools[s[1].pool].small, 2);
	assert_int_equal(m.pools[s[2].pool].small, 1);
	assert_true(noted(&m, "0x2000 do not fill it"));
	model_free(&m);
}

static void pools_are_told_by_entries_or_else_by_segments(void **state)
{
	struct model m = load(SNAPSHOT("", TRACE("{'action': 'alloc', 'addr': 4096, 'size': 9, 'stream': 0, 'time_us': 1, 'pool_id': (7, 2)},"
	                                         "{'action': 'alloc', 'addr': 8192, 'size': 9, 'stream': 0, 'time_us': 1, 'pool_id': (0, 0)}")));

	(void)state;
	assert_int_equal(m.pools[m.ev.pool[0]].id[0], 7);
	assert_int_equal(m.pools[m.ev.pool[0]].id[1], 2);
	assert_int_equal(m.pools[m.ev.pool[0]].small, 1);
	assert_int_equal(m.pools[m.ev.pool[1]].id[0], 0);
	model_free(&m);
	m = load(SNAPSHOT(SEGMENT_OF(0, 0x100000, 2097152, "small", "'segment_pool_id': (0, 5), ", FREE(0x100000, 2097152)),
	                  TRACE(EV("alloc", 0x100000, 9, 1) EV("free_completed", 0x100000, 9, 2) EV("alloc", 0x900000, 9, 3))));
	assert_int_equal(m.pools[m.ev.pool[m.n_initial]].id[1], 5);
	assert_int_equal(m.ev.pool[m.n_initial + 2], 0); /* whose pool that was nobody knows */
	model_free(&m);
}

/* --- annotations and settings ------------------------------------------------------------ */

#define MARK(stage, name, device, us)                                                                         \
	"{'stage': '" stage "', 'name': '" name "', 'device': " #device ", 'time_us': " #us ", 'more': 'x'},"

static void annotations_are_phases(void **state)
{
	struct model m = load("{'segments': [], 'device_traces': [[" EV("alloc", 0x1000, 512, 20)
			      "{'action': 'user_defined', 'addr': 0, 'size': 0, 'stream': 0, 'time_us': 22, 'frames':"
			      "[{'name': 'START', 'filename': 'mine', 'line': 0}]},"
			      "{'action': 'user_defined', 'addr': 0, 'size': 0, 'stream': 0, 'time_us': 23, 'frames':"
			      "[{'name': 'END', 'filename': 'mine', 'line': 0}]}"
			      "]], 'external_annotations': [" MARK("END", "step", 0, 9) MARK("START", "step", 0, 10)
			      MARK("START", "step", 1, 11) MARK("START", "step", 0, 12) MARK("END", "step", 0, 13) MARK("END", "step", 0, 15)
			      MARK("START", "open", 0, 30) MARK("POINT", "now", 0, 31) "]}");
	static const struct {
		const char *name;
		int64_t begin, end;
		unsigned device;
	} want[] = {{"mine", 13000, 14000, 0}, {"step", 1000, 6000, 0}, {"step", 2000, INT64_MAX, 1}, {"step", 3000, 4000, 0},
		    {"open", 21000, INT64_MAX, 0}, {"now", 22000, 22000, 0}};
	size_t i;

	(void)state;
	assert_int_equal(m.n_phases, 6);
	for (i = 0; i < 6; i++) {
		assert_string_equal(model_text(&m, m.phases[i].name), want[i].name);
		assert_true(m.phases[i].begin_ns == want[i].begin && m.phases[i].end_ns == want[i].end);
		assert_int_equal(m.phases[i].device, want[i].device);
	}
	assert_int_equal(m.start_wall_ns, 9000); /* the recording was on by then */
	assert_int_equal(m.ev.t_ns[0], 11000);
	model_free(&m);
}

static void settings_keep_their_names(void **state)
{
	struct model m = load(SET("'PYTORCH_CUDA_ALLOC_CONF': 'max_split_size_mb:32', 'max_split_size': 18446744073709551615,"
	                          "'garbage_collection_threshold': 0.6, 'expandable_segments': False, 'list': [1, 2, 3],"
	                          "'roundup_power2_divisions': {'1': 4, '2': 4}, 'trace_alloc_overflowed': True, 'n': 12", ""));

	(void)state;
	assert_string_equal(model_setting_get(&m, "PYTORCH_CUDA_ALLOC_CONF"), "max_split_size_mb:32");
	assert_string_equal(model_setting_get(&m, "max_split_size"), "-1");
	assert_string_equal(model_setting_get(&m, "garbage_collection_threshold"), "0.6");
	assert_string_equal(model_setting_get(&m, "expandable_segments"), "False");
	assert_string_equal(model_setting_get(&m, "roundup_power2_divisions"), "4");
	assert_string_equal(model_setting_get(&m, "n"), "12");
	assert_null(model_setting_get(&m, "list"));
	assert_true(noted(&m, "ring was full"));
	model_free(&m);
}

static void stacks_are_shared_leaf_first(void **state)
{
	/* containers: 0 top 1 segments 2 traces 3 trace 4 entry 5 frames 6 leaf 7 root 8 entry */
	struct model m = load(SNAPSHOT("", TRACE(EV_AT("alloc", 0x1000, 1, 1, FRAME("leaf") FRAME("root"))
	                                         EV_AT("alloc", 0x2000, 1, 2, "*6, *7")
	                                         "{'action': 'alloc', 'addr': 3, 'size': 1, 'frames': *5},"
	                                         EV_AT("alloc", 0x3000, 1, 3, FRAME("??") "{'name': '', 'filename': '', 'line': 0}")
	                                         EV_AT("alloc", 0x4000, 1, 3, "") EV_AT("alloc", 0x5000, 1, 3, "1, 2"))));

	(void)state;
	assert_string_equal(function(&m, m.ev.stack[0], 0), "leaf");
	assert_string_equal(function(&m, m.ev.stack[0], 1), "root");
	assert_int_equal(m.ev.stack[0], m.ev.stack[1]);
	assert_int_equal(m.ev.stack[0], m.ev.stack[2]);
	assert_string_equal(function(&m, m.ev.stack[3], 0), "");
	assert_int_equal(m.ev.stack[4], 0);
	assert_int_equal(m.ev.stack[5], 0);
	model_free(&m);
}

static void what_is_inside_itself_ends(void **state)
{
	struct model m;
	struct err e;

	(void)state;
	assert_int_equal(read_literal(&m, "[*0]", &e), -1);
	if (!read_literal(&m, "{'segments': *0, 'device_traces': [[*0, *1]]}", &e))
		model_free(&m);
	if (!read_literal(&m, "{'segments': [{'total_size': 5, 'blocks': [*2], 'frames': *0}], 'device_traces': *0}", &e))
		model_free(&m);
	if (!read_literal(&m, "{'device_traces': [[{'action': 'alloc', 'size': 1, 'addr': 1, 'frames': *2}, *2], *1]}", &e))
		model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_is_one_row),
		cmocka_unit_test(unknown_actions_and_keys_are_tolerated_and_counted),
		cmocka_unit_test(what_is_no_snapshot_is_refused),
		cmocka_unit_test(missing_parts_are_tolerated),
		cmocka_unit_test(without_times_the_event_number_is_the_time),
		cmocka_unit_test(one_old_event_is_no_history),
		cmocka_unit_test(devices_are_merged_by_time_and_keep_their_order),
		cmocka_unit_test(a_list_shared_by_two_devices_is_read_for_both),
		cmocka_unit_test(streams_belong_to_their_device),
		cmocka_unit_test(host_traces_are_no_device_memory),
		cmocka_unit_test(host_segments_tell_what_was_pinned_before),
		cmocka_unit_test(the_start_is_undone_from_the_end),
		cmocka_unit_test(what_awaits_other_streams_is_still_there),
		cmocka_unit_test(a_stack_of_before_is_taken_from_a_free_only_if_frees_carry_it),
		cmocka_unit_test(expandable_segments_grow_and_shrink),
		cmocka_unit_test(segment_events_that_do_not_add_up_are_told),
		cmocka_unit_test(frees_left_out_on_purpose_are_told),
		cmocka_unit_test(requests_end_blocks_where_completed_frees_were_left_out),
		cmocka_unit_test(sizes_follow_the_split_rule),
		cmocka_unit_test(sizes_follow_the_settings),
		cmocka_unit_test(sizes_that_do_not_follow_are_unknown),
		cmocka_unit_test(checksums_are_compared),
		cmocka_unit_test(torch_2_0_blocks_have_a_history_and_no_address),
		cmocka_unit_test(segments_are_sorted_and_keep_their_attributes),
		cmocka_unit_test(pools_are_told_by_entries_or_else_by_segments),
		cmocka_unit_test(annotations_are_phases),
		cmocka_unit_test(settings_keep_their_names),
		cmocka_unit_test(stacks_are_shared_leaf_first),
		cmocka_unit_test(what_is_inside_itself_ends),
	};

	return cmocka_run_group_tests_name("torch", tests, NULL, NULL);
}
