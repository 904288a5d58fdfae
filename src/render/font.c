/* font.c: FreeType over the embedded DejaVu faces, with caches for advances and bitmaps.
 *
 * The only file that sees FreeType. A struct font belongs to one thread.
 */
#include "render/font.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "render/font_data.h"
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT 0xfffdu
#define ASCII       128

struct face {
	FT_Face ft;
	int size;             /* the size FreeType is set to, 0: none yet */
	int16_t ascii[ASCII]; /* advances in font units, -1: not asked yet */
	struct map64 other;   /* the same for all other characters */
};

struct font {
	FT_Library lib;
	struct face face[FONT_FACES];
	struct map64 cached; /* (face, size, character, quarter) → glyph */
	struct font_glyph **glyph;
	size_t n_glyphs, cap_glyphs;
};

static bool face_open(struct font *f, enum font_face which, const unsigned char *data,
                      const unsigned char *end)
{
	struct face *face = &f->face[which];

	memset(face->ascii, 0xff, sizeof face->ascii);
	return !FT_New_Memory_Face(f->lib, data, (FT_Long)(end - data), 0, &face->ft);
}

struct font *font_open(struct err *e)
{
	struct font *f = mem_zalloc(1, sizeof *f);

	if (!FT_Init_FreeType(&f->lib) && face_open(f, FONT_REGULAR, font_regular, font_regular_end) &&
	    face_open(f, FONT_BOLD, font_bold, font_bold_end))
		return f;
	err_set(e, ERR_SYSTEM, NULL, -1, "FreeType cannot open the built-in font");
	font_close(f);
	return NULL;
}

void font_close(struct font *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_glyphs; i++) {
		free(f->glyph[i]->coverage);
		free(f->glyph[i]);
	}
	free(f->glyph);
	map64_free(&f->cached);
	for (int i = 0; i < FONT_FACES; i++) {
		map64_free(&f->face[i].other);
		if (f->face[i].ft)
			FT_Done_Face(f->face[i].ft);
	}
	if (f->lib)
		FT_Done_FreeType(f->lib);
	free(f);
}

uint32_t font_decode(const char *s, size_t n, size_t *len)
{
	const unsigned char *u = (const unsigned char *)s;

	*len = 1;
	if (*u < 0x80)
		return *u < 0x20 || *u == 0x7f ? REPLACEMENT : *u;
	size_t k = text_utf8_len(s, n);
	if (k < 2)
		return REPLACEMENT;
	*len = k;
	uint32_t c = u[0] & (0xffu >> (k + 1));
	for (size_t i = 1; i < k; i++)
		c = c << 6 | (u[i] & 0x3f);
	return c < 0xa0 ? REPLACEMENT : c;
}

static int units(struct face *face, uint32_t c)
{
	FT_Fixed a = 0;

	FT_Load_Glyph(face->ft, FT_Get_Char_Index(face->ft, c), FT_LOAD_NO_SCALE);
	a = face->ft->glyph->metrics.horiAdvance;
	return a < 0 || a > INT16_MAX ? 0 : (int)a;
}

static int cached_units(struct face *face, uint32_t c)
{
	bool fresh;

	if (c < ASCII) {
		if (face->ascii[c] < 0)
			face->ascii[c] = (int16_t)units(face, c);
		return face->ascii[c];
	}
	uint32_t *v = map64_put(&face->other, c, &fresh);
	if (fresh)
		*v = (uint32_t)units(face, c);
	return (int)*v;
}

int font_advance(struct font *f, enum font_face face, int size, uint32_t c)
{
	struct face *fc = &f->face[face];

	return cached_units(fc, c) * size * 64 / fc->ft->units_per_EM;
}

static int to_pixels(int64_t sixty_fourths)
{
	return sixty_fourths > (int64_t)INT32_MAX * 32 ? INT32_MAX / 2 : (int)((sixty_fourths + 63) / 64);
}

int font_width(struct font *f, enum font_face face, int size, const char *s, size_t n)
{
	int64_t w = 0;

	for (size_t i = 0, len; i < n; i += len)
		w += font_advance(f, face, size, font_decode(s + i, n - i, &len));
	return to_pixels(w);
}

/* The byte where the character that ends before s[end] begins. */
static size_t step_back(const char *s, size_t end)
{
	for (size_t k = 2; k <= 4 && k <= end; k++)
		if (text_utf8_len(s + end - k, k) == k)
			return end - k;
	return end - 1;
}

int font_elide(struct font *f, enum font_face face, int size, const char *s, size_t n, int room, size_t *head,
               size_t *tail)
{
	int64_t limit = (int64_t)room * 64, w = 0;
	size_t i = 0, len;

	for (; i < n && w <= limit; i += len)
		w += font_advance(f, face, size, font_decode(s + i, n - i, &len));
	*head = n;
	*tail = 0;
	if (w <= limit)
		return to_pixels(w);

	/* Grow both ends, the head first and then whichever is shorter. */
	int64_t used = font_advance(f, face, size, 0x2026), h = 0, t = 0;
	size_t a = 0, b = n;
	while (a < b) {
		bool front = h <= t;
		size_t from = front ? a : step_back(s, b);
		int adv = font_advance(f, face, size, font_decode(s + from, b - from, &len));
		if (used + adv > limit)
			break;
		used += adv;
		if (front)
			a += len, h += adv;
		else
			b = from, t += adv;
	}
	*head = a;
	*tail = n - b;
	return a ? to_pixels(used) : 0;
}

size_t font_break(struct font *f, enum font_face face, int size, const char *s, size_t n, int room)
{
	int64_t limit = (int64_t)room * 64, w = 0;
	size_t i = 0, len, space = 0;

	for (; i < n; i += len) {
		w += font_advance(f, face, size, font_decode(s + i, n - i, &len));
		if (s[i] == ' ')
			space = i + 1;
		else if (w > limit)
			break;
	}
	return i == n ? n : space ? space : i ? i : len;
}

static struct font_glyph *rasterise(struct face *face, int size, uint32_t c, int quarter)
{
	struct font_glyph *g = mem_zalloc(1, sizeof *g);

	if (face->size != size) {
		FT_Set_Pixel_Sizes(face->ft, 0, (FT_UInt)size);
		face->size = size;
	}
	/* Light hinting moves points up and down only, so the advances above stay true. */
	if (FT_Load_Glyph(face->ft, FT_Get_Char_Index(face->ft, c), FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP))
		return g;
	FT_GlyphSlot slot = face->ft->glyph;
	if (slot->format == FT_GLYPH_FORMAT_OUTLINE)
		FT_Outline_Translate(&slot->outline, quarter * 16, 0);
	if (FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) || slot->bitmap.pixel_mode != FT_PIXEL_MODE_GRAY)
		return g;
	g->left = slot->bitmap_left;
	g->top = slot->bitmap_top;
	g->w = (int)slot->bitmap.width;
	g->h = (int)slot->bitmap.rows;
	g->coverage = mem_alloc((size_t)g->w * (size_t)g->h + 1);
	for (int y = 0; y < g->h; y++)
		memcpy(g->coverage + (size_t)y * (size_t)g->w, slot->bitmap.buffer + y * slot->bitmap.pitch,
		       (size_t)g->w);
	return g;
}

const struct font_glyph *font_glyph(struct font *f, enum font_face face, int size, uint32_t c, int quarter)
{
	uint64_t key = (uint64_t)c << 16 | (uint64_t)size << 8 | (uint64_t)face << 2 | (uint64_t)quarter;
	bool fresh;
	uint32_t *at = map64_put(&f->cached, key, &fresh);

	if (fresh) {
		*at = (uint32_t)f->n_glyphs;
		struct font_glyph *g = rasterise(&f->face[face], size, c, quarter);
		*VEC_PUSH(f->glyph, f->n_glyphs, f->cap_glyphs) = g;
		return g;
	}
	return f->glyph[*at];
}
