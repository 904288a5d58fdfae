/* test_flame.c: stacks merged into a tree, and where the boxes of its picture go. */
#include "analyze/diff_tree.h"
#include "analyze/flame.h"
#include "base/mem.h"
#include "models.h"
#include "render/flame.h"
#include <stdio.h>

static const struct flame_options plain;

static uint32_t child_named(const struct flame *f, uint32_t node, const char *name)
{
	uint32_t c;

	for (c = f->node[node].child; c; c = f->node[c].next)
		if (f->node[c].frame != FLAME_NO_STACK &&
		    !strcmp(model_text(f->m, f->m->frames.v[f->node[c].frame].function), name))
			return c;
	return 0;
}

static uint32_t depth(const struct flame *f)
{
	uint32_t deepest = 0;

	for (size_t i = 0; i < f->n; i++)
		deepest = f->node[i].depth > deepest ? f->node[i].depth : deepest;
	return deepest;
}

static void totals_of_a_node_are_its_own_and_its_childrens(void **state)
{
	struct model m;
	struct flame f;
	uint32_t i, c;

	(void)state;
	model_init(&m, "test");
	flame_begin(&f, &m, &plain);
	flame_add(&f, site(&m, "a", "main"), 10);
	flame_add(&f, site(&m, "b", "main"), 20);
	flame_add(&f, site(&m, "a", "main"), 3);
	flame_add(&f, 0, 7);
	flame_add(&f, site(&m, "b", "main"), 0);
	flame_build(&f, 0);
	assert_int_equal(f.node[0].total, 40);
	assert_int_equal(f.stacks, 4);
	for (i = 0; i < f.n; i++) {
		uint64_t sum = f.node[i].self;
		for (c = f.node[i].child; c; c = f.node[c].next) {
			assert_int_equal(f.node[c].parent, i);
			sum += f.node[c].total;
		}
		assert_int_equal(sum, f.node[i].total);
	}
	flame_free(&f);
	model_free(&m);
}

static void what_was_before_is_summed_and_takes_no_room(void **state)
{
	struct model m;
	struct flame f;

	(void)state;
	model_init(&m, "test");
	flame_begin(&f, &m, &plain);
	flame_add_change(&f, site(&m, "a", "main"), 10, 4);
	flame_add_change(&f, site(&m, "b", "main"), 0, 20);
	flame_add_change(&f, site(&m, "c", "main"), 5, 0);
	flame_build(&f, 1);
	assert_int_equal(f.node[0].total, 15);
	assert_int_equal(f.node[0].was, 24);
	assert_int_equal(f.stacks, 2);
	uint32_t caller = child_named(&f, 0, "main");
	assert_int_equal(f.node[caller].was, 24);
	assert_int_equal(f.node[child_named(&f, caller, "a")].was, 4);
	assert_int_equal(f.node[child_named(&f, caller, "c")].was, 0);
	assert_int_equal(child_named(&f, caller, "b"), 0);
	assert_int_equal(f.node[caller].n_small, 0);
	flame_free(&f);
	model_free(&m);
}

/* A stack of one frame of a function on a line. */
static uint32_t on_line(struct model *m, const char *function, uint32_t line)
{
	uint32_t frame = model_frame(
	    m, &(struct frame){
		   .function = model_cstring(m, function), .file = model_cstring(m, "app.c"), .line = line});

	return model_stack(m, &frame, 1);
}

static void frames_of_another_recording_follow_their_lines(void **state)
{
	struct model a, b;
	struct flame f;

	(void)state;
	model_init(&a, "a");
	model_init(&b, "b");
	model_cstring(&b, "so that numbers differ");
	uint32_t moved = on_line(&b, "moved", 9), kept = on_line(&b, "kept", 5);
	on_line(&b, "twice", 1);
	on_line(&b, "twice", 2);
	struct diff_row rows[] = {
	    {.stack = {on_line(&a, "moved", 7)}, .has = {true}, .peak = {70}},
	    {.stack = {on_line(&a, "kept", 5), kept}, .has = {true, true}, .peak = {50, 51}},
	    {.stack = {on_line(&a, "twice", 3)}, .has = {true}, .peak = {30}},
	    {.stack = {0, moved}, .has = {false, true}, .peak = {0, 90}},
	};
	size_t frames = b.frames.n;
	flame_begin(&f, &b, &plain);
	diff_tree_fill(&f, &b, &a, &(struct diff){.rows = rows, .n = 4}, false, false);
	assert_int_equal(b.frames.n, frames + 2); /* only the lines that b does not have */
	flame_build(&f, 1);
	assert_int_equal(f.node[0].total, 141);
	assert_int_equal(f.node[0].was, 150);
	assert_int_equal(f.node[child_named(&f, 0, "moved")].was, 70);
	assert_int_equal(f.node[child_named(&f, 0, "kept")].was, 50);
	flame_free(&f);
	model_free(&a);
	model_free(&b);
}

static void what_is_below_the_least_value_is_summed(void **state)
{
	struct model m;
	struct flame f;

	(void)state;
	model_init(&m, "test");
	flame_begin(&f, &m, &plain);
	flame_add(&f, site(&m, "big", "main"), 100);
	flame_add(&f, site(&m, "small", "main"), 4);
	flame_add(&f, site(&m, "tiny", "main"), 3);
	flame_add(&f, 0, 2);
	flame_build(&f, 5);
	uint32_t caller = child_named(&f, 0, "main");
	assert_int_equal(f.node[0].total, 109);
	assert_int_equal(f.node[0].small, 2);
	assert_int_equal(f.node[caller].small, 7);
	assert_int_equal(f.node[caller].n_small, 2);
	assert_int_equal(f.n, 3);
	flame_free(&f);
	model_free(&m);
}

static void children_are_sorted_largest_first(void **state)
{
	struct model m;
	struct flame f;
	uint32_t c, n = 0;
	uint64_t last = UINT64_MAX;

	(void)state;
	model_init(&m, "test");
	flame_begin(&f, &m, &plain);
	for (int i = 0; i < 100; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%d", i);
		flame_add(&f, site(&m, name), (uint64_t)(i * 37 % 50) + 1);
	}
	flame_build(&f, 0);
	for (c = f.node[0].child; c; c = f.node[c].next, n++) {
		assert_true(f.node[c].total <= last);
		last = f.node[c].total;
	}
	assert_int_equal(n, 100);
	flame_free(&f);
	model_free(&m);
}

static void reverse_begins_with_the_innermost_frame(void **state)
{
	struct model m;
	struct flame f;

	(void)state;
	model_init(&m, "test");
	uint32_t s = site(&m, "leaf", "middle", "main");
	flame_begin(&f, &m, &(struct flame_options){.reverse = true});
	flame_add(&f, s, 5);
	flame_build(&f, 0);
	uint32_t leaf = child_named(&f, 0, "leaf");
	assert_int_not_equal(leaf, 0);
	assert_int_not_equal(child_named(&f, child_named(&f, leaf, "middle"), "main"), 0);
	flame_free(&f);
	model_free(&m);
}

static uint32_t recursive(struct model *m, int turns, bool mutual)
{
	uint32_t fr[200], n = 0;

	for (int i = 0; i < turns; i++) {
		fr[n++] = model_frame(m, &(struct frame){.function = model_cstring(m, "even"), .line = 1});
		if (mutual)
			fr[n++] =
			    model_frame(m, &(struct frame){.function = model_cstring(m, "odd"), .line = 2});
	}
	fr[n++] = model_frame(m, &(struct frame){.function = model_cstring(m, "main"), .line = 3});
	return model_stack(m, fr, n);
}

static void folded_recursion_is_one_turn_and_loses_nothing(void **state)
{
	struct model m;
	struct flame f;

	(void)state;
	model_init(&m, "test");
	uint32_t direct = recursive(&m, 50, false), mutual = recursive(&m, 50, true),
	         once = recursive(&m, 1, true);
	flame_begin(&f, &m, &(struct flame_options){.fold = true});
	flame_add(&f, direct, 1);
	flame_add(&f, mutual, 2);
	flame_add(&f, once, 4);
	flame_build(&f, 0);
	assert_int_equal(f.node[0].total, 7);
	assert_int_equal(depth(&f), 3);
	flame_free(&f);
	flame_begin(&f, &m, &plain);
	flame_add(&f, mutual, 2);
	flame_build(&f, 0);
	assert_int_equal(depth(&f), 101);
	flame_free(&f);
	model_free(&m);
}

static void lines_are_told_apart_unless_merged(void **state)
{
	struct model m;
	struct flame f;
	uint32_t s[2];

	(void)state;
	model_init(&m, "test");
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t fr = model_frame(&m, &(struct frame){.function = model_cstring(&m, "f"),
		                                              .file = model_cstring(&m, "f.c"),
		                                              .line = 10 + i});
		s[i] = model_stack(&m, &fr, 1);
	}
	for (int merge = 0; merge < 2; merge++) {
		flame_begin(&f, &m, &(struct flame_options){.merge_lines = merge});
		flame_add(&f, s[0], 1);
		flame_add(&f, s[1], 1);
		flame_build(&f, 0);
		assert_int_equal(f.n, merge ? 2 : 3);
		flame_free(&f);
	}
	model_free(&m);
}

static uint32_t deep(struct model *m, size_t n)
{
	uint32_t *fr = mem_alloc(n * sizeof *fr);

	for (size_t i = 0; i < n; i++)
		fr[i] = model_frame(
		    m, &(struct frame){.function = model_cstring(m, "level"), .line = (uint32_t)(n - i)});
	uint32_t s = model_stack(m, fr, n);
	free(fr);
	return s;
}

static void stacks_deeper_than_the_cap_are_cut_and_counted(void **state)
{
	struct model m;
	struct flame f;

	(void)state;
	model_init(&m, "test");
	uint32_t s = deep(&m, 7000), t = deep(&m, FLAME_MAX_DEPTH);
	flame_begin(&f, &m, &plain);
	flame_add(&f, s, 9);
	flame_add(&f, t, 1);
	flame_build(&f, 0);
	assert_int_equal(depth(&f), FLAME_MAX_DEPTH);
	assert_int_equal(f.node[0].total, 10);
	assert_int_equal(f.cut, 1);
	assert_int_equal(f.cut_bytes, 9);
	flame_free(&f);
	model_free(&m);
}

/* --- the picture --- */

struct drawn {
	struct model m;
	struct flame f;
	struct picture p;
	struct font *font;
	char *text;
	bool full;
};

static void draw(struct drawn *d, const struct look_options *o)
{
	struct err e = {0};
	struct text t = {0};

	assert_non_null(d->font = font_open(&e));
	flame_layout(&d->p,
	             &(struct flame_picture){
	                 .m = &d->m, .tree = &d->f, .title = "T", .subtitle = "S", .full = d->full},
	             o, d->font);
	picture_print(&d->p, &t);
	d->text = t.s;
}

static void drop(struct drawn *d)
{
	picture_free(&d->p);
	font_close(d->font);
	flame_free(&d->f);
	model_free(&d->m);
	free(d->text);
}

static void boxes_of_a_level_lie_side_by_side_and_fill_the_width(void **state)
{
	struct drawn d = {0};
	uint32_t s[300];
	int covered = 0, level = -1;

	(void)state;
	model_init(&d.m, "test");
	for (int i = 0; i < 300; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%d", i);
		s[i] = site(&d.m, name);
	}
	flame_begin(&d.f, &d.m, &plain);
	for (int i = 0; i < 300; i++)
		flame_add(&d.f, s[i], i < 20 ? 1000000007u * (uint64_t)(i + 1) : 12345u);
	draw(&d, &(struct look_options){.width = 1000});
	for (size_t i = 0; i < d.p.n; i++) {
		const struct pic_item *it = &d.p.item[i];
		if (it->kind != PIC_RECT || !it->ref ||
		    (strcmp(it->role, "box") && strcmp(it->role, "smaller")))
			continue;
		assert_true(level < 0 || level == it->y);
		level = it->y;
		covered += it->w + (it->w >= 3 ? 1 : 0); /* the hairline between boxes */
		assert_true(it->x >= 16 && it->x + it->w <= 1000 - 16);
	}
	assert_in_range(covered, 1000 - 32 - 3, 1000 - 32 + 3);
	drop(&d);
}

static void what_is_too_thin_to_draw_is_one_grey_box_of_its_sum(void **state)
{
	struct drawn d = {0};
	uint32_t big, s[1000];

	(void)state;
	model_init(&d.m, "test");
	big = site(&d.m, "big");
	for (int i = 0; i < 1000; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%d", i);
		s[i] = site(&d.m, name);
	}
	flame_begin(&d.f, &d.m, &plain);
	flame_add(&d.f, big, 1000);
	for (int i = 0; i < 1000; i++)
		flame_add(&d.f, s[i], 1);
	draw(&d, &(struct look_options){.width = 1032, .scale = 100});
	assert_non_null(strstr(d.text, "\"1,000 smaller\""));
	assert_non_null(strstr(d.text, "rect smaller#0 516 "));
	assert_non_null(strstr(d.text, "Boxes narrower than 1 px (2 B) are merged"));
	drop(&d);
}

static void odd_names_are_drawn_as_they_are(void **state)
{
	static const char *const name[] = {"operator()<a; b>(int)", "\xe6\x97\xa5\xe6\x9c\xac",
	                                   "\xf0\x9f\x9a\x80", " ", "??"};
	struct drawn d = {0};
	uint32_t s[6];

	(void)state;
	model_init(&d.m, "test");
	for (int i = 0; i < 5; i++)
		s[i] = site(&d.m, name[i]);
	s[5] = site(&d.m, "broken \xff\xfe\xc3");
	flame_begin(&d.f, &d.m, &plain);
	for (int i = 0; i < 6; i++)
		flame_add(&d.f, s[i], 100);
	draw(&d, &(struct look_options){.width = 2400, .scale = 100});
	for (int i = 0; i < 5; i++) {
		char want[64];
		snprintf(want, sizeof want, " 12 \"%s\"\n", name[i]);
		assert_non_null(strstr(d.text, want));
	}
	assert_non_null(strstr(d.text, " 12 \"broken \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"));
	drop(&d);
}

static void a_name_too_long_for_its_box_is_in_the_legend(void **state)
{
	struct drawn d = {0};
	char name[2001];
	uint32_t s;

	(void)state;
	model_init(&d.m, "test");
	for (int i = 0; i < 2000; i++)
		name[i] = (char)('a' + i % 26);
	name[2000] = 0;
	s = site(&d.m, name);
	flame_begin(&d.f, &d.m, &plain);
	flame_add(&d.f, s, 1);
	draw(&d, &(struct look_options){.width = 800});
	assert_non_null(strstr(d.text, "text box.number#1 "));
	assert_non_null(strstr(d.text, "text legend.number#1 "));
	assert_non_null(strstr(d.text, "\xe2\x80\xa6"));
	/* its beginning and its end are there */
	assert_non_null(strstr(d.text, "\"abcdefghijkl"));
	assert_non_null(strstr(d.text, "uvwxyzabcdefghijklmnopqrstuvwx"));
	drop(&d);
}

static void a_tree_too_deep_for_any_picture_says_how_much_is_missing(void **state)
{
	struct drawn d = {0};
	uint32_t s;

	(void)state;
	model_init(&d.m, "test");
	s = deep(&d.m, 6000);
	flame_begin(&d.f, &d.m, &plain);
	flame_add(&d.f, s, 100);
	d.full = true;
	draw(&d, &(struct look_options){.width = 4000, .height = 800, .scale = 100});
	assert_int_equal(d.p.h, 800);
	assert_non_null(strstr(d.text, "more levels do not fit in the picture's height"));
	assert_non_null(strstr(d.text, "1 stack is deeper than 5000 frames"));
	drop(&d);
}

static void nothing_live_is_a_picture_that_says_so(void **state)
{
	struct drawn d = {0};

	(void)state;
	model_init(&d.m, "test");
	flame_begin(&d.f, &d.m, &plain);
	draw(&d, &(struct look_options){0});
	assert_non_null(strstr(d.text, "no memory is live here"));
	assert_true(d.p.h > 0);
	drop(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(totals_of_a_node_are_its_own_and_its_childrens),
	    cmocka_unit_test(what_was_before_is_summed_and_takes_no_room),
	    cmocka_unit_test(frames_of_another_recording_follow_their_lines),
	    cmocka_unit_test(what_is_below_the_least_value_is_summed),
	    cmocka_unit_test(children_are_sorted_largest_first),
	    cmocka_unit_test(reverse_begins_with_the_innermost_frame),
	    cmocka_unit_test(folded_recursion_is_one_turn_and_loses_nothing),
	    cmocka_unit_test(lines_are_told_apart_unless_merged),
	    cmocka_unit_test(stacks_deeper_than_the_cap_are_cut_and_counted),
	    cmocka_unit_test(boxes_of_a_level_lie_side_by_side_and_fill_the_width),
	    cmocka_unit_test(what_is_too_thin_to_draw_is_one_grey_box_of_its_sum),
	    cmocka_unit_test(odd_names_are_drawn_as_they_are),
	    cmocka_unit_test(a_name_too_long_for_its_box_is_in_the_legend),
	    cmocka_unit_test(a_tree_too_deep_for_any_picture_says_how_much_is_missing),
	    cmocka_unit_test(nothing_live_is_a_picture_that_says_so),
	};

	return cmocka_run_group_tests_name("flame", tests, NULL, NULL);
}
