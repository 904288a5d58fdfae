/* test_torch_files.c: PyTorch's own recordings. What is replayed from each must equal what
 * torch.cuda.memory_stats() said in the run that wrote it.
 *
 * The recordings in tests/data/torch are ours. If there is a folder with more of them
 * ($GPUMEMSNAP_SHARED, ../shared or ../../shared), those are compared with its expected.jsonl.
 */
#include "analyze/totals.h"
#include "base/mem.h"
#include "format/format.h"
#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#define DATA "tests/data/torch/"

static struct model load(const char *path)
{
	struct model m;
	struct err e = {0};

	if (format_read(&m, path, &e))
		fail_msg("%s: %s", path, e.msg);
	return m;
}

/* --- a replay as plain as can be ---------------------------------------------------------- */

struct sum {
	uint64_t start, now, peak, end;
	long long peak_event;
};
struct figures {
	struct sum reserved, requested, allocated;
	size_t events, live_end, no_stack, unmatched;
	bool vague; /* some block size is not known */
};

static void add(struct sum *s, uint64_t by, long long event)
{
	s->now += by;
	if (s->now > s->peak) {
		s->peak = s->now;
		s->peak_event = event;
	}
}

static void begin(struct sum *s)
{
	s->start = s->peak = s->now;
	s->peak_event = -1;
}

static struct figures replay(const struct model *m, uint8_t device)
{
	struct figures f = {.vague = false};
	const struct columns *c = &m->ev;
	long long event = -1;
	size_t row;

	for (row = 0; row <= c->n; row++) {
		uint64_t block;

		if (row == m->n_initial) {
			begin(&f.reserved);
			begin(&f.requested);
			begin(&f.allocated);
		}
		if (row == c->n || c->device[row] != device)
			continue;
		if (row >= m->n_initial) {
			event++;
			f.no_stack += !c->stack[row] && GMS_OP_KIND(c->op[row]) == GMS_K_BLOCK;
		}
		switch (c->op[row]) {
		case GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC):
		case GMS_OP(GMS_K_SEGMENT, GMS_A_MAP):
			add(&f.reserved, c->size[row], event);
			break;
		case GMS_OP(GMS_K_SEGMENT, GMS_A_FREE):
		case GMS_OP(GMS_K_SEGMENT, GMS_A_UNMAP):
			f.reserved.now -= c->size[row];
			break;
		case GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC):
			block = model_block_size(m, row);
			f.vague |= block == MODEL_UNKNOWN;
			add(&f.requested, c->size[row], event);
			add(&f.allocated, block == MODEL_UNKNOWN ? 0 : block, event);
			f.live_end++;
			break;
		case GMS_OP(GMS_K_BLOCK, GMS_A_FREE):
			assert_true(c->peer[row] != MODEL_NO_PEER);
			f.unmatched += c->peer[row] < m->n_initial;
			block = model_block_size(m, c->peer[row]);
			f.requested.now -= c->size[row];
			f.allocated.now -= block == MODEL_UNKNOWN ? 0 : block;
			f.live_end--;
			break;
		default:
			break;
		}
	}
	f.events = (size_t)(event + 1);
	f.reserved.end = f.reserved.now;
	f.requested.end = f.requested.now;
	f.allocated.end = f.allocated.now;
	return f;
}

/* --- our own recordings ------------------------------------------------------------------- */

static const struct truth {
	const char *file;
	uint64_t events, requested_peak, allocated_peak, reserved_peak, reserved_end, requested_end,
	    active_end;
	enum history history;
} truths[] = {
    {"expandable", 4944, 624474056, 624476160, 757071872, 486539264, 285562880, 285562880, HISTORY_COMPLETE},
    {"leak", 4331, 377503673, 378823168, 738197504, 738197504, 165791804, 166845440, HISTORY_COMPLETE},
    {"mix1", 37530, 1691777156, 1700338176, 2120220672, 2120220672, 1458493822, 1465238528, HISTORY_COMPLETE},
    {"oom", 409, 2810183680, 2862612480, 2988441600, 2988441600, 2805989376, 2858418176, HISTORY_COMPLETE},
    {"ring", 1500, 615012616, 617111040, 750780416, 750780416, 323391488, 325488640, HISTORY_PARTIAL},
    {"streams", 375, 139103204, 139103744, 226492416, 226492416, 136251204, 136251392, HISTORY_COMPLETE},
    {"train", 5965, 2026901512, 2034242560, 2308964352, 2308964352, 399048704, 406388736, HISTORY_COMPLETE},
};
#define EACH_TRUTH(t)                                                                                        \
	const struct truth *t = truths;                                                                      \
	t < truths + sizeof truths / sizeof *truths;                                                         \
	t++

static struct model load_own(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, DATA "%s.pickle.gz", name);
	return load(path);
}

static void every_recording_gives_the_figures_of_its_run(void **state)
{
	(void)state;
	for (EACH_TRUTH(t)) {
		struct model m = load_own(t->file);
		struct figures f = replay(&m, 0);
		struct totals totals;

		print_message("# %s\n", t->file);
		assert_int_equal(f.events, t->events);
		assert_int_equal(f.requested.peak, t->requested_peak);
		assert_int_equal(f.allocated.peak, t->allocated_peak);
		assert_int_equal(f.reserved.peak, t->reserved_peak);
		assert_int_equal(f.reserved.end, t->reserved_end);
		assert_int_equal(f.requested.end, t->requested_end);
		assert_int_equal(f.allocated.end, t->active_end);
		assert_int_equal(m.history, t->history);
		assert_int_equal(m.n_notes, 0);
		assert_int_equal(m.anomalies.free_unknown + m.anomalies.double_free + m.anomalies.alloc_live,
		                 0);
		totals_all(&totals, &m);
		assert_int_equal(totals.device[0]->amount[TOTAL_ALLOCATED].peak, t->allocated_peak);
		totals_free(&totals);
		model_free(&m);
	}
}

static void a_ring_that_lost_its_beginning_is_undone_from_its_end(void **state)
{
	struct model m = load_own("ring");
	struct figures f = replay(&m, 0);

	(void)state;
	assert_int_equal(f.requested.start, 460886024);
	assert_int_equal(f.requested.peak_event, 715);
	assert_int_equal(f.reserved.start, 750780416);
	assert_int_equal(f.unmatched, 65);
	assert_int_equal(f.no_stack, 797);
	assert_true(f.vague); /* of one block of before only bounds can be known */
	assert_true(m.device[0].slack_most <= (1 << 20) + 511);
	model_free(&m);
}

static void an_out_of_memory_error_is_a_failure_row(void **state)
{
	struct model m = load_own("oom");

	(void)state;
	assert_int_equal(m.n_failures, 1);
	assert_int_equal(m.failures[0].event, 408);
	assert_int_equal(m.ev.size[408], 24117248);
	assert_int_equal(m.failures[0].free, 146569035776);
	model_free(&m);
}

static void settings_and_phases_come_along(void **state)
{
	struct model m = load_own("expandable");

	(void)state;
	assert_string_equal(model_setting_get(&m, "PYTORCH_CUDA_ALLOC_CONF"), "expandable_segments:True");
	assert_string_equal(model_setting_get(&m, "max_split_size"), "-1");
	assert_string_equal(model_setting_get(&m, "roundup_power2_divisions"), "0");
	assert_int_equal(m.n_phases, 14);
	assert_string_equal(model_text(&m, m.phases[0].name), "Optimizer.step#AdamW.step");
	assert_true(m.phases[0].begin_ns < m.phases[0].end_ns && m.phases[0].end_ns < m.duration_ns);
	assert_int_equal(m.ev.n - 4944, m.n_initial);
	model_free(&m);
}

/* --- one recording in many spellings ------------------------------------------------------ */

static void same_rows(const struct model *a, const struct model *b)
{
	size_t row;

	assert_int_equal(a->ev.n, b->ev.n);
	for (row = 0; row < a->ev.n; row++) {
		struct event x = model_event(a, row), y = model_event(b, row);

		assert_true(x.t_ns == y.t_ns && x.addr == y.addr && x.size == y.size && x.block == y.block &&
		            x.op == y.op);
		assert_int_equal(a->streams[x.stream].handle, b->streams[y.stream].handle);
	}
}

static void same_stacks(const struct model *a, const struct model *b)
{
	size_t row, i, n, k;

	for (row = 0; row < a->ev.n; row++) {
		const uint32_t *f = model_stack_frames(a, a->ev.stack[row], &n);
		const uint32_t *g = model_stack_frames(b, b->ev.stack[row], &k);

		assert_int_equal(n, k);
		for (i = 0; i < n; i++) {
			const struct frame *x = &a->frames.v[f[i]], *y = &b->frames.v[g[i]];

			assert_string_equal(model_text(a, x->function), model_text(b, y->function));
			assert_string_equal(model_text(a, x->file), model_text(b, y->file));
			assert_int_equal(x->line, y->line);
		}
	}
}

static void every_pickle_protocol_gives_the_same_model(void **state)
{
	static const char *const spellings[] = {"p0", "p1",        "p2",         "p3",         "p4",
	                                        "p5", "optimized", "python2-p0", "python2-p1", "python2-p2"};
	struct model want = load_own("streams");
	size_t i;

	(void)state;
	for (i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		char name[64];
		struct model m;

		snprintf(name, sizeof name, "protocols/%s", spellings[i]);
		m = load_own(name);
		same_rows(&want, &m);
		same_stacks(&want, &m);
		assert_int_equal(m.n_segments, want.n_segments);
		assert_int_equal(m.n_settings, want.n_settings);
		model_free(&m);
	}
	model_free(&want);
}

static void the_replay_finds_the_peers_that_model_link_finds(void **state)
{
	(void)state;
	for (EACH_TRUTH(t)) {
		struct model m = load_own(t->file);
		uint32_t *peer = m.ev.peer;

		m.ev.peer = NULL;
		m.linked = false;
		model_link(&m);
		assert_memory_equal(peer, m.ev.peer, m.ev.n * sizeof *peer);
		free(peer);
		model_free(&m);
	}
}

/* --- damage ------------------------------------------------------------------------------- */

/* Read the bytes, which lie at the end of their block; whatever comes of it must be in order. */
static int read_bytes(const unsigned char *bytes, size_t n, struct err *e)
{
	unsigned char *copy = mem_alloc(n);
	struct input in = {.name = "test", .data = copy, .n = n, .raw_n = n};
	struct model m;
	int rc;

	memcpy(copy, bytes, n);
	*e = (struct err){0};
	model_init(&m, "test");
	rc = torch_read(&in, &m, e);
	if (!rc)
		model_link(&m);
	model_free(&m);
	free(copy);
	return rc;
}

static void every_cut_is_a_clean_error(void **state)
{
	struct input in;
	struct err e;
	size_t cut;

	(void)state;
	assert_int_equal(input_open(&in, DATA "ring.pickle.gz", &e), 0);
	for (cut = 0; cut < in.n; cut += 1024) {
		assert_int_equal(read_bytes(in.data, cut, &e), -1);
		assert_int_equal(e.kind, ERR_INPUT);
		assert_true(e.offset >= 0 && (size_t)e.offset <= cut);
		assert_true(*e.msg != 0);
	}
	input_close(&in);
}

static void flipped_bits_are_survived(void **state)
{
	struct input in;
	struct err e = {0};
	unsigned char *bytes;
	uint64_t seed = 7;
	int i;

	(void)state;
	assert_int_equal(input_open(&in, DATA "streams.pickle.gz", &e), 0);
	bytes = (unsigned char *)mem_strndup((const char *)in.data, in.n);
	for (i = 0; i < 1500; i++) {
		size_t at;

		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		at = (seed >> 3) % in.n;
		bytes[at] ^= (unsigned char)(1 << (seed & 7));
		read_bytes(bytes, in.n, &e);
		bytes[at] = in.data[at];
	}
	free(bytes);
	input_close(&in);
}

static void what_follows_the_pickle_is_told_unless_it_is_padding(void **state)
{
	static const unsigned char padded[] = "\x80\4]\x94.\0\0", followed[] = "\x80\4]\x94.\0more";
	struct input in = {.name = "test", .data = padded, .n = sizeof padded};
	struct err e = {0};
	struct model m;

	(void)state;
	model_init(&m, "test");
	assert_int_equal(torch_read(&in, &m, &e), 0);
	assert_int_equal(m.n_notes, 0);
	model_free(&m);
	in.data = followed;
	in.n = sizeof followed;
	model_init(&m, "test");
	assert_int_equal(torch_read(&in, &m, &e), 0);
	assert_non_null(strstr(m.notes[0].text, "after the end of the pickle"));
	model_free(&m);
}

/* --- recordings of others ----------------------------------------------------------------- */

static const char *shared_folder(void)
{
	static char path[512];
	const char *from[] = {getenv("GPUMEMSNAP_SHARED"), "../shared", "../../shared"};
	size_t i;

	for (i = 0; i < 3; i++) {
		if (!from[i])
			continue;
		snprintf(path, sizeof path, "%s/snapshots/expected.jsonl", from[i]);
		if (!access(path, R_OK)) {
			snprintf(path, sizeof path, "%s/snapshots", from[i]);
			return path;
		}
	}
	return NULL;
}

/* The .xz file, unpacked into a temporary one; false if it is not there or cannot be. */
static bool unpack(const char *folder, const char *name, char *to, size_t size)
{
	char command[2048];
	int fd;

	snprintf(to, size, "/tmp/test_torch.XXXXXX");
	fd = mkstemp(to);
	close(fd);
	snprintf(command, sizeof command,
	         "f='%s'; for d in public torch; do [ -e \"$f/$d/%s\" ] && xz -dc \"$f/$d/%s\" >%s; done "
	         "2>/dev/null; [ -s %s ]",
	         folder, name, name, to, to);
	return system(command) == 0;
}

static uint64_t want(const cJSON *device, const char *key)
{
	const cJSON *v = cJSON_GetObjectItem(device, key);

	assert_non_null(v);
	return (uint64_t)v->valuedouble;
}

static void compare_device(const struct model *m, const cJSON *device)
{
	uint8_t d = (uint8_t)want(device, "device");
	struct figures f = replay(m, d);
	const cJSON *oom, *peak_event = cJSON_GetObjectItem(device, "requested_peak_event");
	size_t i, k = 0, segments = 0;

	assert_int_equal(f.events, want(device, "events"));
	for (i = 0; i < m->n_segments; i++)
		segments += m->segments[i].device == d;
	assert_int_equal(segments, want(device, "segments"));
	assert_int_equal(f.reserved.start, want(device, "reserved_start"));
	assert_int_equal(f.reserved.peak, want(device, "reserved_peak"));
	assert_int_equal(f.reserved.end, want(device, "reserved_end"));
	assert_int_equal(f.requested.start, want(device, "requested_start"));
	assert_int_equal(f.requested.peak, want(device, "requested_peak"));
	assert_true(f.requested.peak_event == (long long)peak_event->valuedouble);
	assert_int_equal(f.requested.end, want(device, "requested_end"));
	assert_int_equal(f.allocated.end, want(device, "allocated_end"));
	assert_int_equal(f.live_end, want(device, "live_blocks_end"));
	assert_int_equal(f.unmatched, want(device, "unmatched_frees"));
	assert_int_equal(f.no_stack, want(device, "events_without_stack"));
	cJSON_ArrayForEach(oom, cJSON_GetObjectItem(device, "oom"))
	{
		size_t row = 0, n = 0;

		while (k < m->n_failures && m->ev.device[m->failures[k].event] != d)
			k++;
		assert_true(k < m->n_failures);
		for (row = m->n_initial; row < m->failures[k].event; row++)
			n += m->ev.device[row] == d;
		assert_int_equal(n, want(oom, "index"));
		assert_int_equal(m->ev.size[row], want(oom, "size"));
		assert_int_equal(m->failures[k++].free, want(oom, "device_free"));
	}
}

static void the_recordings_of_others_give_the_expected_figures(void **state)
{
	const char *folder = shared_folder();
	char path[1024], line[65536], unpacked[64];
	size_t n = 0;
	FILE *f;

	(void)state;
	if (!folder || system("command -v xz >/dev/null"))
		skip();
	snprintf(path, sizeof path, "%s/expected.jsonl", folder);
	assert_non_null(f = fopen(path, "r"));
	while (fgets(line, sizeof line, f)) {
		cJSON *json = cJSON_Parse(line), *device;
		const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(json, "file"));
		struct model m;

		assert_non_null(name);
		if (unpack(folder, name, unpacked, sizeof unpacked)) {
			print_message("# %s\n", name);
			m = load(unpacked);
			cJSON_ArrayForEach(device, cJSON_GetObjectItem(json, "devices"))
			    compare_device(&m, device);
			model_free(&m);
			n++;
		}
		unlink(unpacked);
		cJSON_Delete(json);
	}
	fclose(f);
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_recording_gives_the_figures_of_its_run),
	    cmocka_unit_test(a_ring_that_lost_its_beginning_is_undone_from_its_end),
	    cmocka_unit_test(an_out_of_memory_error_is_a_failure_row),
	    cmocka_unit_test(settings_and_phases_come_along),
	    cmocka_unit_test(every_pickle_protocol_gives_the_same_model),
	    cmocka_unit_test(the_replay_finds_the_peers_that_model_link_finds),
	    cmocka_unit_test(every_cut_is_a_clean_error),
	    cmocka_unit_test(flipped_bits_are_survived),
	    cmocka_unit_test(what_follows_the_pickle_is_told_unless_it_is_padding),
	    cmocka_unit_test(the_recordings_of_others_give_the_expected_figures),
	};

	return cmocka_run_group_tests_name("torch_files", tests, NULL, NULL);
}
