/* test_pixels.c: the pixels of whole pictures, as a reader decodes them from the PNG, have not changed.
 *
 * Letters are left out: how they look depends on the version of FreeType. Everything else is drawn by our own
 * code. If a sum differs, look at the pictures; if they are right, put the new sum here.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "format/format.h"
#include "models.h"
#include "render/canvas.h"
#include "render/flame.h"
#include "render/segmap.h"
#include <png.h>
#include <stdio.h>
#include <unistd.h>

static struct font *font;
static struct model m;
static struct rank rank_of_m;

static int setup(void **state)
{
	struct err e = {0};

	(void)state;
	font = font_open(&e);
	if (!font || format_read(&m, "tests/data/solver.json", &e))
		return -1;
	if (!m.linked)
		model_link(&m);
	rank_make(&rank_of_m, &m);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	model_free(&m);
	font_close(font);
	return 0;
}

static void drop_letters(struct picture *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->item[i].kind != PIC_TEXT)
			p->item[kept++] = p->item[i];
	p->n = kept;
}

/* Through the file and back. */
static uint64_t decoded(struct picture *p)
{
	char path[] = "/tmp/gpumemsnap-pixels.XXXXXX";
	png_image image = {.version = PNG_IMAGE_VERSION};
	struct err e = {0};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	drop_letters(p);
	struct output *out = output_open(path, &e);
	assert_non_null(out);
	assert_int_equal(canvas_save(p, out, &e), 0);
	assert_int_equal(output_close(out, &e), 0);
	assert_true(png_image_begin_read_from_file(&image, path));
	image.format = PNG_FORMAT_RGB;
	png_bytep pixels = mem_alloc(PNG_IMAGE_SIZE(image));
	assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
	assert_int_equal(image.width, p->w);
	assert_int_equal(image.height, p->h);
	uint64_t sum = hash_bytes(pixels, PNG_IMAGE_SIZE(image));
	free(pixels);
	unlink(path);
	char old[sizeof path + 8];
	snprintf(old, sizeof old, "%s.old", path);
	unlink(old);
	picture_free(p);
	return sum;
}

static void assert_sum(struct picture *p, uint64_t want)
{
	uint64_t sum = decoded(p);

	if (sum != want)
		fprintf(stderr, "# the sum is now 0x%016llx\n", (unsigned long long)sum);
	assert_true(sum == want);
}

static void a_flame_light_and_dark(void **state)
{
	static const uint64_t want[] = {0xbb47b991eefe5058, 0xc81d79801d86c714};

	(void)state;
	for (int dark = 0; dark < 2; dark++) {
		struct look_options o = {.width = 1000, .dark = dark};
		struct flame f;
		struct picture p;
		struct live l;
		live_at(&m, 0, live_peak_row(&m, 0), &l);
		flame_begin(&f, &m, &(struct flame_options){0});
		for (size_t i = 0; i < l.n; i++)
			flame_add(&f, l.rows[i].stack, l.rows[i].bytes);
		flame_layout(&p,
		             &(struct flame_picture){
		                 .m = &m, .tree = &f, .rank = &rank_of_m, .title = "T", .subtitle = "S"},
		             &o, font);
		assert_sum(&p, want[dark]);
		flame_free(&f);
		live_free(&l);
	}
}

static struct timeline_picture timeline_of(struct timeline_panel *panel, const struct look_options *o,
                                           int columns, enum timeline_view view)
{
	struct timeline_picture t = {.m = &m,
	                             .rank = &rank_of_m,
	                             .title = "T",
	                             .subtitle = "S",
	                             .n = 1,
	                             .view = view,
	                             .panel = panel,
	                             .axis = {0, 560000000, columns}};

	timeline_panel(panel, &t, 0, timeline_bands(o, 1));
	return t;
}

static void a_timeline_of_what_is_live(void **state)
{
	struct look_options o = {.width = 1000};
	struct timeline_panel panel;
	struct picture p;

	(void)state;
	struct timeline_picture t = timeline_of(&panel, &o, timeline_plot(&o), TIMELINE_ACTIVE);
	timeline_layout(&p, &t, &o, font);
	assert_sum(&p, 0x5e0808f9ead060dd);
	timeline_panel_free(&panel);
}

static void a_map_of_addresses_over_time(void **state)
{
	struct look_options o = {.width = 1000, .height = 700};
	struct timeline_panel panel;
	struct segmap map;
	struct picture p;

	(void)state;
	struct timeline_picture t = timeline_of(&panel, &o, segmap_plot(&o), TIMELINE_SEGMENTS);
	segmap_make(&map, &m, 0);
	segmap_layout(&p, &t, &map, &o, font);
	assert_sum(&p, 0xbda509269c6d0568);
	segmap_free(&map);
	timeline_panel_free(&panel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_flame_light_and_dark),
	    cmocka_unit_test(a_timeline_of_what_is_live),
	    cmocka_unit_test(a_map_of_addresses_over_time),
	};

	return cmocka_run_group_tests_name("pixels", tests, setup, teardown);
}
