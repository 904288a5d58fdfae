/* test_canvas.c: fonts, pictures, pixels and the PNG they become. */
#include "models.h"
#include "render/canvas.h"
#include "render/look.h"
#include <png.h>
#include <unistd.h>

static struct font *font;

static int open_font(void **state)
{
	struct err e = {0};

	(void)state;
	setenv("GPUMEMSNAP_FONTS", "", 1);
	font = font_open(&e);
	return font ? 0 : -1;
}

static int close_font(void **state)
{
	(void)state;
	font_close(font);
	return 0;
}

/* --- fonts --- */

static void bytes_that_are_no_text_are_one_replacement_each(void **state)
{
	static const struct {
		const char *s;
		size_t n;
		uint32_t want;
		size_t len;
	} cases[] = {
	    {"A", 1, 'A', 1},
	    {"\xc3\xa9", 2, 0xe9, 2},
	    {"\xe6\x97\xa5", 3, 0x65e5, 3},
	    {"\xf0\x9f\x9a\x80", 4, 0x1f680, 4},
	    {"\xff", 1, 0xfffd, 1},
	    {"\xe6\x97", 2, 0xfffd, 1},
	    {"\n", 1, 0xfffd, 1},
	    {"\xc0\x80", 2, 0xfffd, 1},
	    {"\xc2\x85", 2, 0xfffd, 2},
	};
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(font_decode(cases[i].s, cases[i].n, &len), cases[i].want);
		assert_int_equal(len, cases[i].len);
	}
}

static void what_the_font_lacks_is_a_box_with_its_number(void **state)
{
	static const uint32_t lacks[] = {0x65e5, 0x672c, 0x1f680, 0x1f681};
	const struct font_glyph *last = NULL;

	(void)state;
	for (int size = 8; size <= 40; size += 4, last = NULL)
		for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
			const struct font_glyph *g = font_glyph(font, FONT_REGULAR, size, lacks[i], 0);
			assert_true(g->w > 0 && g->h > 0 && g->h <= 2 * size);
			assert_true(g->w * 64 < font_advance(font, FONT_REGULAR, size, lacks[i]));
			if (last && last->w == g->w)
				assert_memory_not_equal(last->coverage, g->coverage, (size_t)(g->w * g->h));
			last = g;
		}
	assert_true(font_advance(font, FONT_BOLD, 20, 0x1f680) > font_advance(font, FONT_BOLD, 20, 0x65e5));
}

static void text_is_as_wide_as_its_letters(void **state)
{
	(void)state;
	assert_int_equal(font_width(font, FONT_REGULAR, 20, "", 0), 0);
	int one = font_width(font, FONT_REGULAR, 20, "W", 1),
	    ten = font_width(font, FONT_REGULAR, 20, "WWWWWWWWWW", 10);
	assert_in_range(ten, 10 * one - 10, 10 * one);
	assert_true(font_width(font, FONT_BOLD, 20, "W", 1) > one);
	assert_true(font_width(font, FONT_REGULAR, 40, "WWWW", 4) >
	            font_width(font, FONT_REGULAR, 20, "WWWW", 4));
}

static void elided_text_keeps_both_ends_whole_and_fits(void **state)
{
	static const char s[] = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e: at::native::\xc3\xa9mpty_str\xc3\xaf"
	                        "ded_cuda(long)\xf0\x9f\x9a\x80";
	size_t n = sizeof s - 1, head, tail, len;

	(void)state;
	for (int room = 1; room < 700; room++) {
		int w = font_elide(font, FONT_REGULAR, 20, s, n, room, &head, &tail);
		if (!w)
			continue;
		assert_true(w <= room);
		assert_true(head + tail <= n);
		/* both cuts are between characters */
		for (size_t i = 0; i < head; i += len)
			font_decode(s + i, n - i, &len);
		for (size_t i = n - tail; i < n; i += len) {
			uint32_t c = font_decode(s + i, n - i, &len);
			assert_int_not_equal(c, 0xfffd);
		}
		if (head < n) {
			int sum = font_width(font, FONT_REGULAR, 20, s, head) +
			          font_width(font, FONT_REGULAR, 20, s + n - tail, tail) +
			          font_width(font, FONT_REGULAR, 20, FONT_ELLIPSIS, 3);
			assert_in_range(w, sum - 3, sum);
		}
	}
	assert_int_equal(head, n);
	assert_int_equal(font_elide(font, FONT_REGULAR, 20, s, n, 3, &head, &tail), 0);
}

static void elided_broken_text_does_not_run_away(void **state)
{
	char s[300];
	size_t head, tail;

	(void)state;
	memset(s, 0x80, sizeof s);
	assert_true(font_elide(font, FONT_REGULAR, 20, s, sizeof s, 200, &head, &tail) <= 200);
	memset(s, 0xf0, sizeof s);
	assert_true(font_elide(font, FONT_REGULAR, 20, s, sizeof s, 200, &head, &tail) <= 200);
}

static void lines_break_at_spaces_and_always_advance(void **state)
{
	static const char s[] = "one two three";
	(void)state;
	int two = font_width(font, FONT_REGULAR, 20, "one two", 7);
	assert_int_equal(font_break(font, FONT_REGULAR, 20, s, 13, two + 2), 8);
	assert_int_equal(font_break(font, FONT_REGULAR, 20, s, 13, 10000), 13);
	assert_int_equal(font_break(font, FONT_REGULAR, 20, "\xe6\x97\xa5\xe6\x9c\xac", 6, 1), 3);
}

/* --- pictures --- */

static void a_picture_is_drawn_in_order_and_clipped(void **state)
{
	struct picture p;

	(void)state;
	picture_init(&p, font, 20, 10, 0xffffff);
	picture_rect(&p, "a", -1, -5, -5, 10, 10, 0xff0000);
	picture_rect(&p, "b", -1, 3, 3, 100, 100, 0x0000ff);
	picture_rect(&p, "dash", -1, 0, 9, 20, 1, 0x00ff00)->dash = 2;
	struct pic_run *run = picture_area(&p, "area", -1, 10, 4, 0x123456);
	for (int i = 0; i < 4; i++)
		run[i] = (struct pic_run){i, i + 1};
	struct canvas *c = canvas_draw(&p);
	assert_int_equal(canvas_pixel(c, 0, 0), 0xff0000);
	assert_int_equal(canvas_pixel(c, 4, 4), 0x0000ff);
	assert_int_equal(canvas_pixel(c, 19, 8), 0x0000ff);
	assert_int_equal(canvas_pixel(c, 5, 0), 0xffffff);
	assert_int_equal(canvas_pixel(c, 0, 9), 0x00ff00);
	assert_int_equal(canvas_pixel(c, 2, 9), 0xffffff);
	assert_int_equal(canvas_pixel(c, 12, 2), 0x123456);
	assert_int_equal(canvas_pixel(c, 12, 3), 0x0000ff);
	canvas_free(c);
	picture_free(&p);
}

static void text_has_ink_between_its_edges_and_nowhere_else(void **state)
{
	struct pic_style s = {FONT_REGULAR, 30, 0x000000, 100};
	struct picture p;
	int first = 1000, last = -1;

	(void)state;
	picture_init(&p, font, 300, 60, 0xffffff);
	int w = picture_puts(&p, "t", -1, 50, 40, PIC_LEFT, &s, "Hm\xe6\x97\xa5\xff");
	struct canvas *c = canvas_draw(&p);
	for (int y = 0; y < 60; y++)
		for (int x = 0; x < 300; x++)
			if (canvas_pixel(c, x, y) != 0xffffff) {
				first = x < first ? x : first;
				last = x > last ? x : last;
				assert_in_range(y, 5, 52);
			}
	assert_in_range(first, 50, 56);
	assert_in_range(last, 50 + w - 8, 50 + w + 1);
	assert_true(canvas_colours(c) <= 10);
	canvas_free(c);
	picture_free(&p);
}

static void the_layout_text_tells_every_item(void **state)
{
	struct pic_style s = {FONT_BOLD, 12, 0x101010, 100};
	struct picture p;
	struct text t = {0};

	(void)state;
	picture_init(&p, font, 40, 30, 0xffffff);
	picture_meta(&p, "Title", "a \"quoted\" %d", 7);
	picture_rect(&p, "box", 3, 1, 2, 3, 4, 0xabcdef);
	picture_puts(&p, "name", -1, 5, 6, PIC_LEFT, &s, "x");
	struct pic_run *run = picture_area(&p, "band", 1, 0, 3, 0x000001);
	run[0] = run[1] = (struct pic_run){5, 9};
	run[2] = (struct pic_run){6, 9};
	picture_print(&p, &t);
	assert_string_equal(t.s, "picture 40 30 #ffffff\n"
	                         "meta Title \"a \\\"quoted\\\" 7\"\n"
	                         "rect box#3 1 2 3 4 #abcdef\n"
	                         "text name 5 6 8 #101010 bold12 \"x\"\n"
	                         "area band#1 0 0 3 #000001 2*5-9 1*6-9\n");
	text_free(&t);
	picture_free(&p);
}

/* --- the file --- */

static void check_file(const char *path, const struct canvas *c, int want_type)
{
	FILE *f = fopen(path, "rb");
	png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png_create_info_struct(png);
	png_textp text;
	int n;

	assert_non_null(f);
	png_init_io(png, f);
	png_read_png(png, info, PNG_TRANSFORM_EXPAND, NULL);
	fseek(f, 25, SEEK_SET);
	assert_int_equal(fgetc(f), want_type);
	png_bytepp rows = png_get_rows(png, info);
	for (unsigned y = 0; y < png_get_image_height(png, info); y++)
		for (unsigned x = 0; x < png_get_image_width(png, info); x++) {
			png_bytep q = rows[y] + 3 * (size_t)x;
			uint32_t rgb = (uint32_t)(q[0] << 16 | q[1] << 8 | q[2]);
			assert_int_equal(rgb, canvas_pixel(c, (int)x, (int)y));
		}
	assert_int_equal(png_get_text(png, info, &text, &n), 1);
	assert_string_equal(text[0].key, "Title");
	assert_string_equal(text[0].text, "\xe6\x97\xa5");
	png_destroy_read_struct(&png, &info, NULL);
	fclose(f);
}

static void few_colours_make_a_palette_png_and_many_a_true_one(void **state)
{
	char path[] = "/tmp/test_canvas.XXXXXX";

	(void)state;
	close(mkstemp(path));
	for (int colours = 3; colours < 2000; colours += 1500) {
		struct err e = {0};
		struct picture p;
		picture_init(&p, font, 64, 40, 0xffffff);
		picture_meta(&p, "Title", "\xe6\x97\xa5");
		for (int i = 0; i < colours; i++)
			picture_rect(&p, "dot", i, i % 64, i / 64, 1, 1,
			             (uint32_t)i * 2654435761u & 0xffffff);
		struct canvas *c = canvas_draw(&p);
		struct output *o = output_open(path, &e);
		assert_int_equal(canvas_write_png(c, &p, o, &e), 0);
		assert_int_equal(output_close(o, &e), 0);
		check_file(path, c, colours < 256 ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB);
		canvas_free(c);
		picture_free(&p);
	}
	unlink(path);
}

/* --- colours --- */

static double linear(uint32_t v)
{
	double s = v / 255.0;

	return s <= 0.04045 ? s / 12.92 : __builtin_pow((s + 0.055) / 1.055, 2.4);
}

/* OKLab of a colour as a dichromat sees it (Machado, Oliveira and Fernandes 2009, severity 1). */
static void seen(uint32_t rgb, int how, double lab[3])
{
	static const double sim[4][9] = {
	    {1, 0, 0, 0, 1, 0, 0, 0, 1},
	    {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
	    {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
	    {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}};
	double in[3] = {linear(rgb >> 16), linear(rgb >> 8 & 255), linear(rgb & 255)}, c[3];

	for (int i = 0; i < 3; i++) {
		c[i] = sim[how][3 * i] * in[0] + sim[how][3 * i + 1] * in[1] + sim[how][3 * i + 2] * in[2];
		c[i] = c[i] < 0 ? 0 : c[i] > 1 ? 1 : c[i];
	}
	double l = __builtin_cbrt(.4122214708 * c[0] + .5363325363 * c[1] + .0514459929 * c[2]);
	double m = __builtin_cbrt(.2119034982 * c[0] + .6806995451 * c[1] + .1073969566 * c[2]);
	double s = __builtin_cbrt(.0883024619 * c[0] + .2817188376 * c[1] + .6299787005 * c[2]);
	lab[0] = .2104542553 * l + .7936177850 * m - .0040720468 * s;
	lab[1] = 1.9779984951 * l - 2.4285922050 * m + .4505937099 * s;
	lab[2] = .0259040371 * l + .7827717662 * m - .8086757660 * s;
}

static void the_twelve_colours_stay_apart_whoever_looks(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++)
		for (uint32_t i = 0; i < PALETTE_CATEGORIES; i++)
			for (uint32_t k = 0; k < i; k++) {
				double a[3], b[3], d = 0;
				seen(palette_category(i), how, a);
				seen(palette_category(k), how, b);
				for (int j = 0; j < 3; j++)
					d += (a[j] - b[j]) * (a[j] - b[j]);
				assert_true(d > 0.09 * 0.09);
			}
}

static double apart(uint32_t x, uint32_t y, int how)
{
	double a[3], b[3], d = 0;

	seen(x, how, a);
	seen(y, how, b);
	for (int j = 0; j < 3; j++)
		d += (a[j] - b[j]) * (a[j] - b[j]);
	return d;
}

static void growing_and_shrinking_stay_apart_whoever_looks(void **state)
{
	struct palette pal;

	(void)state;
	for (int dark = 0; dark < 2; dark++) {
		palette_make(&pal, dark);
		for (int how = 0; how < 4; how++)
			for (int k = 2; k <= PALETTE_STEPS; k++) {
				assert_true(apart(palette_change(&pal, k), palette_change(&pal, -k), how) >
				            0.08 * 0.08);
				/* and the stronger the further from grey */
				for (int sign = -1; sign <= 1; sign += 2)
					assert_true(apart(palette_change(&pal, sign * k),
					                  palette_change(&pal, 0),
					                  how) > apart(palette_change(&pal, sign * (k - 1)),
					                               palette_change(&pal, 0), how));
			}
	}
}

static double luminance(uint32_t rgb)
{
	return 0.2126 * linear(rgb >> 16) + 0.7152 * linear(rgb >> 8 & 255) + 0.0722 * linear(rgb & 255);
}

static void assert_readable(uint32_t fill)
{
	double a = luminance(fill) + .05, b = luminance(palette_ink_on(fill)) + .05;

	assert_true((a > b ? a / b : b / a) >= 4.0); /* WCAG asks for 3 in large and 4.5 in small text */
}

static void text_on_every_colour_is_readable(void **state)
{
	struct palette pal;

	(void)state;
	for (int dark = 0; dark < 2; dark++) {
		palette_make(&pal, dark);
		for (uint32_t i = 0; i < 3 * PALETTE_CATEGORIES; i++)
			assert_readable(palette_category(i));
		for (int i = 0; i < CODES * PALETTE_SHADES; i++)
			assert_readable(pal.code[i / PALETTE_SHADES][i % PALETTE_SHADES]);
		for (int step = -PALETTE_STEPS; step <= PALETTE_STEPS; step++)
			assert_readable(palette_change(&pal, step));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_that_are_no_text_are_one_replacement_each),
	    cmocka_unit_test(what_the_font_lacks_is_a_box_with_its_number),
	    cmocka_unit_test(text_is_as_wide_as_its_letters),
	    cmocka_unit_test(elided_text_keeps_both_ends_whole_and_fits),
	    cmocka_unit_test(elided_broken_text_does_not_run_away),
	    cmocka_unit_test(lines_break_at_spaces_and_always_advance),
	    cmocka_unit_test(a_picture_is_drawn_in_order_and_clipped),
	    cmocka_unit_test(text_has_ink_between_its_edges_and_nowhere_else),
	    cmocka_unit_test(the_layout_text_tells_every_item),
	    cmocka_unit_test(few_colours_make_a_palette_png_and_many_a_true_one),
	    cmocka_unit_test(the_twelve_colours_stay_apart_whoever_looks),
	    cmocka_unit_test(growing_and_shrinking_stay_apart_whoever_looks),
	    cmocka_unit_test(text_on_every_colour_is_readable),
	};

	return cmocka_run_group_tests_name("canvas", tests, open_font, close_font);
}
