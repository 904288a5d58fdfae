/* test_pictures.c: every picture of recordings that make no sense: nothing crashes, hangs or grows without
 * bound. */
#include "analyze/report.h"
#include "base/mem.h"
#include "models.h"
#include "render/canvas.h"
#include "render/flame.h"
#include "render/html.h"
#include "render/segmap.h"
#include "render/whatif_picture.h"
#include <unistd.h>

static struct font *font;
static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* Mostly sensible, now and then absurd. */
static uint64_t number(void)
{
	static const uint64_t odd[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, INT64_MAX, 1ull << 63, 1ull << 53};

	return rnd(8) ? rnd(1ull << rnd(40)) : odd[rnd(7)];
}

static int64_t moment(void)
{
	static const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, INT64_MAX / 2, -5000000000};

	return rnd(10) ? (int64_t)rnd(1000000000) : odd[rnd(6)];
}

static uint32_t odd_stack(struct model *m)
{
	uint32_t frames[40];
	char name[64];
	size_t n = rnd(40);

	for (size_t i = 0; i < n; i++) {
		size_t len = rnd(sizeof name);
		for (size_t k = 0; k < len; k++)
			name[k] = (char)rnd(256);
		frames[i] =
		    model_frame(m, &(struct frame){.function = model_string(m, name, rnd(3) ? len : 0),
		                                   .file = model_cstring(m, rnd(2) ? "a.py" : "??"),
		                                   .line = (uint32_t)number()});
	}
	return model_stack(m, frames, n);
}

static void odd_model(struct model *m, int events)
{
	uint32_t stack[10];

	model_init(m, "odd");
	m->source = rnd(2) ? SOURCE_TORCH : SOURCE_NATIVE;
	m->has_time = rnd(3);
	m->history = (enum history)rnd(3);
	m->duration_ns = moment();
	for (int i = 0; i < 10; i++)
		stack[i] = odd_stack(m);
	for (int i = 0; i < 3; i++)
		model_stream(m, number(), (uint8_t)rnd(256));
	for (int i = 0; i < events; i++) {
		uint8_t kind = (uint8_t)(rnd(2) ? rnd(GMS_KINDS) : GMS_K_BLOCK + rnd(2));
		struct event ev = {.t_ns = moment(),
		                   .addr = rnd(4) ? rnd(30) * 4096 : number(),
		                   .size = number(),
		                   .block = MODEL_UNKNOWN,
		                   .stack = stack[rnd(10)],
		                   .stream = (uint16_t)rnd(3),
		                   .op = GMS_OP(kind, rnd(8)),
		                   .device = (uint8_t)(rnd(20) ? rnd(2) : rnd(256))};
		size_t row = model_add(m, &ev);
		if (GMS_OP_ACTION(ev.op) == GMS_A_FAIL)
			model_fail(m, row, 2, number(), number());
	}
	m->n_initial = rnd(4) ? 0 : rnd((uint64_t)events + 1);
	for (int i = 0; i < 20; i++)
		*VEC_PUSH(m->phases, m->n_phases, m->cap_phases) =
		    (struct phase){.name = (uint32_t)rnd(m->strings.n),
		                   .device = (uint8_t)(rnd(2) ? 0 : 255),
		                   .begin_ns = moment(),
		                   .end_ns = moment()};
	model_link(m);
}

static void draw(struct picture *p, bool pixels)
{
	struct text t = {0};

	assert_in_range(p->h, 1, PIC_MAX_SIDE);
	picture_print(p, &t);
	assert_true(t.n > 0);
	text_free(&t);
	if (pixels)
		canvas_free(canvas_draw(p));
	picture_free(p);
}

static void flames(struct model *m, const struct rank *rank, const struct look_options *o)
{
	for (int kind = 0; kind < 4; kind++) {
		struct flame f;
		struct picture p;
		struct live l;
		live_at(m, 0, kind % 2 ? m->ev.n - 1 : live_peak_row(m, 0), &l);
		flame_begin(
		    &f, m,
		    &(struct flame_options){.reverse = kind & 1, .fold = kind & 2, .merge_lines = kind == 3});
		for (size_t i = 0; i < l.n; i++)
			flame_add(&f, l.rows[i].stack, kind == 3 ? l.rows[i].count : l.rows[i].bytes);
		flame_layout(
		    &p,
		    &(struct flame_picture){
		        .m = m, .tree = &f, .rank = rank, .title = "T", .subtitle = "S", .invert = kind & 1},
		    o, font);
		draw(&p, kind == 0);
		flame_free(&f);
		live_free(&l);
	}
}

static void timelines(struct model *m, const struct rank *rank, const struct look_options *o)
{
	for (int kind = 0; kind < 4; kind++) {
		struct timeline_picture t = {
		    .m = m,
		    .rank = rank,
		    .title = "T",
		    .subtitle = "S",
		    .n = 1,
		    .view = kind == 0 ? TIMELINE_ACTIVE : kind == 1 ? TIMELINE_RESERVED : TIMELINE_SEGMENTS,
		    .by = (enum group_by)rnd(GROUP_BYS),
		    .axis = {.from = -1 - (int64_t)rnd(1ull << 61), .to = (int64_t)rnd(1ull << 61)}};
		struct timeline_panel panel;
		struct picture p;
		t.axis.columns = kind < 2 ? timeline_plot(o) : segmap_plot(o);
		timeline_panel(&panel, &t, 0, timeline_bands(o, 1));
		t.panel = &panel;
		if (kind < 2) {
			timeline_layout(&p, &t, o, font);
		} else if (kind == 2) {
			struct segmap map;
			segmap_make(&map, m, 0);
			segmap_layout(&p, &t, &map, o, font);
			segmap_free(&map);
		} else {
			struct space s;
			space_at(m, 0, m->ev.n / 2, &s);
			if (!s.known) {
				space_free(&s);
				segmap_blocks_as_segments(&s, m, 0, m->ev.n / 2);
			}
			segstate_layout(&p, &t, &s, o, font);
			space_free(&s);
		}
		draw(&p, kind == 0);
		timeline_panel_free(&panel);
	}
}

static void predictions(struct model *m, const struct look_options *o)
{
	struct whatif_picture pic = {
	    .m = m,
	    .asked = rnd(2),
	    .axis = {.to = (int64_t)(m->ev.n - m->n_initial) + 1, .columns = timeline_plot(o)}};
	const char *conf[] = {"", "expandable_segments:True", "max_split_size_mb:20"};
	struct err e = {0};
	struct whatif w;
	struct picture p;

	assert_int_equal(whatif_make(&w, m,
	                             &(struct whatif_options){.conf = conf,
	                                                      .n_conf = pic.asked ? 3 : 0,
	                                                      .device = -1,
	                                                      .axis = &pic.axis,
	                                                      .threads = 1},
	                             &e),
	                 0);
	pic.w = &w;
	if (w.n_traces) {
		whatif_layout(&p, &pic, o, font);
		draw(&p, false);
	}
	whatif_free(&w);
}

static void pages(struct model *m)
{
	struct err e = {0};
	struct report r;
	struct output *o = output_open("/dev/null", &e);

	report_make(&r, m, 0);
	assert_int_equal(html_write(&r, 1, "<T>", o, &e), 0);
	output_close(o, &e);
	report_free(&r);
}

static void senseless_recordings_are_drawn_anyway(void **state)
{
	(void)state;
	for (int round = 0; round < 60; round++) {
		struct look_options o = {
		    .width = 200 + rnd(900), .height = rnd(3) ? 0 : 100 + rnd(900), .dark = rnd(2)};
		struct model m;
		struct rank rank;
		seed = 1000 + (uint64_t)round;
		odd_model(&m, (int)rnd(300));
		rank_make(&rank, &m);
		flames(&m, &rank, &o);
		timelines(&m, &rank, &o);
		predictions(&m, &o);
		pages(&m);
		model_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(senseless_recordings_are_drawn_anyway),
	};
	struct err e = {0};

	font = font_open(&e);
	int rc = cmocka_run_group_tests_name("pictures", tests, NULL, NULL);
	font_close(font);
	return rc;
}
