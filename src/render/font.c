/* font.c: FreeType over the embedded DejaVu faces, with caches for advances and bitmaps.
 *
 * The only file that sees FreeType. A struct font belongs to one thread. The machine's own fonts are looked
 * for when the first character comes that the built-in ones lack.
 */
#include "render/font.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "render/font_data.h"
#include "render/font_other.h"
#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT 0xfffdu
#define ASCII       128
#define MAX_FACES   (FONT_FACES + 256)
#define NO_FACE     UINT16_MAX

struct face {
	FT_Face ft;
	int size; /* the size FreeType is set to, 0: none yet */
};

/* Characters as one built-in face shows them. */
struct advances {
	int16_t ascii[ASCII]; /* in font units, -1: not asked yet */
	struct map64 other; /* all other characters: font units, and << 16 the face that has it, or NO_FACE */
};

struct font {
	FT_Library lib;
	struct face *face; /* the built-in ones, then others */
	size_t n_faces, cap_faces;
	bool searched;
	struct advances advances[FONT_FACES];
	struct map64 cached; /* (face, size, character, quarter) → glyph */
	struct font_glyph **glyph;
	size_t n_glyphs, cap_glyphs;
};

static bool open_built_in(struct font *f, const unsigned char *data, const unsigned char *end)
{
	struct face *face = VEC_PUSH(f->face, f->n_faces, f->cap_faces);

	*face = (struct face){0};
	return !FT_New_Memory_Face(f->lib, data, (FT_Long)(end - data), 0, &face->ft);
}

struct font *font_open(struct err *e)
{
	struct font *f = mem_zalloc(1, sizeof *f);

	for (int i = 0; i < FONT_FACES; i++)
		memset(f->advances[i].ascii, 0xff, sizeof f->advances[i].ascii);
	if (!FT_Init_FreeType(&f->lib) && open_built_in(f, font_regular, font_regular_end) &&
	    open_built_in(f, font_bold, font_bold_end))
		return f;
	err_set(e, ERR_SYSTEM, NULL, -1, "FreeType cannot open the built-in font");
	font_close(f);
	return NULL;
}

static void open_others(struct font *f)
{
	struct font_files files;

	font_files_find(&files);
	for (size_t i = 0; i < files.n && f->n_faces < MAX_FACES; i++) {
		FT_Face ft;
		if (FT_New_Face(f->lib, files.path[i], 0, &ft))
			continue;
		if (FT_IS_SCALABLE(ft) && ft->units_per_EM)
			*VEC_PUSH(f->face, f->n_faces, f->cap_faces) = (struct face){.ft = ft};
		else
			FT_Done_Face(ft);
	}
	font_files_free(&files);
	f->searched = true;
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
	for (int i = 0; i < FONT_FACES; i++)
		map64_free(&f->advances[i].other);
	for (size_t i = 0; i < f->n_faces; i++)
		if (f->face[i].ft)
			FT_Done_Face(f->face[i].ft);
	free(f->face);
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

static int units(const struct font *f, size_t face, uint32_t c)
{
	FT_Face ft = f->face[face].ft;
	FT_Fixed a;

	if (FT_Load_Glyph(ft, FT_Get_Char_Index(ft, c), FT_LOAD_NO_SCALE))
		return 0;
	a = ft->glyph->metrics.horiAdvance;
	return a < 0 || a > INT16_MAX ? 0 : (int)a;
}

static bool has(const struct font *f, size_t face, uint32_t c)
{
	return FT_Get_Char_Index(f->face[face].ft, c) != 0;
}

/* The face that has a character: the one asked for if it does. */
static size_t face_of(struct font *f, enum font_face face, uint32_t c)
{
	if (has(f, face, c) || c == REPLACEMENT)
		return face;
	if (!f->searched)
		open_others(f);
	for (size_t i = FONT_FACES; i < f->n_faces; i++)
		if (has(f, i, c))
			return i;
	return NO_FACE;
}

/* Its advance in that face's units, and the face. */
static int advance_of(struct font *f, enum font_face face, uint32_t c, size_t *in)
{
	struct advances *a = &f->advances[face];
	bool fresh;

	*in = face;
	if (c < ASCII) {
		if (a->ascii[c] < 0)
			a->ascii[c] = (int16_t)units(f, face, c);
		return a->ascii[c];
	}
	uint32_t *v = map64_put(&a->other, c, &fresh);
	if (fresh) {
		size_t found = face_of(f, face, c);
		*v = (uint32_t)found << 16 | (uint32_t)(found == NO_FACE ? 0 : units(f, found, c));
	}
	*in = *v >> 16;
	return (int)(*v & 0xffff);
}

int font_advance(struct font *f, enum font_face face, int size, uint32_t c)
{
	size_t in;
	int64_t n = advance_of(f, face, c, &in);

	return in == NO_FACE ? font_hex_advance(size, c) * 64
	                     : (int)(n * size * 64 / f->face[in].ft->units_per_EM);
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
		size_t in;
		struct font_glyph *g;
		*at = (uint32_t)f->n_glyphs;
		advance_of(f, face, c, &in);
		if (in == NO_FACE)
			font_hex_draw(g = mem_zalloc(1, sizeof *g), size, c);
		else
			g = rasterise(&f->face[in], size, c, quarter);
		*VEC_PUSH(f->glyph, f->n_glyphs, f->cap_glyphs) = g;
		return g;
	}
	return f->glyph[*at];
}
