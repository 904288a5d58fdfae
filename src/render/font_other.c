/* font_other.c: looking for font files, and boxes with hexadecimal digits. */
#include "render/font_other.h"
#include "base/mem.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define USUAL     "/usr/share/fonts:/usr/local/share/fonts"
#define MAX_FILES 2000
#define MAX_DEPTH 4

/* --- files ----------------------------------------------------------------------------------- */

static bool is_font(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && (!strcasecmp(end, ".ttf") || !strcasecmp(end, ".otf") || !strcasecmp(end, ".ttc"));
}

static void walk(struct font_files *f, const char *folder, int depth)
{
	DIR *d = opendir(folder);
	const struct dirent *e;

	while (d && f->n < MAX_FILES && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		char *path = mem_printf("%s/%s", folder, e->d_name);
		if (is_font(e->d_name)) {
			*VEC_PUSH(f->path, f->n, f->cap) = path;
			continue;
		}
		if (depth > 1 && e->d_type != DT_REG)
			walk(f, path, depth - 1);
		free(path);
	}
	if (d)
		closedir(d);
}

static bool is_plain(const char *path)
{
	static const char *const odd[] = {"Bold",    "Black",     "Light", "Thin", "Italic",
	                                  "Oblique", "Condensed", "Serif", "Mono"};

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (strstr(path, odd[i]))
			return false;
	return true;
}

static int plain_first(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	int differ = is_plain(y) - is_plain(x);

	return differ ? differ : strcmp(x, y);
}

void font_files_find(struct font_files *f)
{
	const char *asked = getenv("GPUMEMSNAP_FONTS");
	char *folders = mem_strdup(asked ? asked : USUAL), *rest = folders, *folder;

	*f = (struct font_files){0};
	while ((folder = strsep(&rest, ":")))
		if (*folder)
			walk(f, folder, MAX_DEPTH);
	if (f->n)
		qsort(f->path, f->n, sizeof *f->path, plain_first);
	free(folders);
}

void font_files_free(struct font_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->path[i]);
	free(f->path);
	*f = (struct font_files){0};
}

/* --- boxes ----------------------------------------------------------------------------------- */

/* Digits of 3 × 5 dots, two rows of them with a dot between and around; 15 bits, the top left one first. */
static const uint16_t digit[16] = {075557, 026227, 071747, 071717, 055711, 074717, 074757, 071111,
                                   075757, 075717, 075755, 065656, 074447, 065556, 074747, 074744};
#define DIGIT_W 3
#define DIGIT_H 5
#define TINT    35 /* of 255 */

/* Pixels of a dot. */
static int dot(int size)
{
	return size >= 20 ? size / 10 : 1;
}

static int columns(uint32_t c)
{
	return c > 0xffff ? 3 : 2;
}

int font_hex_advance(int size, uint32_t c)
{
	return ((DIGIT_W + 1) * columns(c) + 2) * dot(size);
}

static bool lit(uint32_t c, int n, int x, int y)
{
	int column = x / (DIGIT_W + 1), row = y / (DIGIT_H + 1), dx = x % (DIGIT_W + 1),
	    dy = y % (DIGIT_H + 1);

	if (dx == DIGIT_W || dy == DIGIT_H)
		return false;
	int place = 2 * n - 1 - (row * n + column);
	return digit[c >> (4 * place) & 15] >> (DIGIT_W * DIGIT_H - 1 - (dy * DIGIT_W + dx)) & 1;
}

void font_hex_draw(struct font_glyph *g, int size, uint32_t c)
{
	int k = dot(size), n = columns(c), wide = (DIGIT_W + 1) * n + 1, high = 2 * (DIGIT_H + 1) + 1;

	g->w = wide * k;
	g->h = high * k;
	g->top = (high - 2) * k;
	g->coverage = mem_alloc((size_t)g->w * (size_t)g->h);
	for (int y = 0; y < g->h; y++)
		for (int x = 0; x < g->w; x++) {
			int dx = x / k - 1, dy = y / k - 1;
			bool inside = dx >= 0 && dy >= 0 && dx < wide - 2 && dy < high - 2;
			g->coverage[(size_t)y * (size_t)g->w + (size_t)x] =
			    inside && lit(c, n, dx, dy) ? 255 : TINT;
		}
}
