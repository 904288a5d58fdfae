/* canvas_png.c: a canvas as a PNG file; the only file that sees libpng. */
#include "base/mem.h"
#include "render/canvas.h"
#include "render/canvas_px.h"
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MANY_BOXES 10000

struct sink {
	struct output *out;
	struct err *e;
};

static void put(png_structp png, png_bytep data, png_size_t n)
{
	struct sink *s = png_get_io_ptr(png);

	if (output_write(s->out, data, n, s->e))
		png_error(png, "write");
}

static void flush(png_structp png)
{
	(void)png;
}

static void on_error(png_structp png, png_const_charp msg)
{
	struct sink *s = png_get_error_ptr(png);

	err_set(s->e, ERR_SYSTEM, NULL, -1, "libpng: %s", msg); /* a failed write came first and wins */
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp msg)
{
	(void)png;
	(void)msg;
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

/* tEXt where that can hold it, which every program reads; iTXt for other UTF-8. */
static void put_texts(png_structp png, png_infop info, const struct picture *p)
{
	png_text *t = mem_zalloc(p->n_meta + 1, sizeof *t);

	for (size_t i = 0; i < p->n_meta; i++) {
		bool ascii = is_ascii(p->meta[i].value);
		t[i].compression = ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
		t[i].key = (char *)(uintptr_t)p->meta[i].key;
		t[i].text = p->meta[i].value;
		*(ascii ? &t[i].text_length : &t[i].itxt_length) = strlen(p->meta[i].value);
	}
	png_set_text(png, info, t, (int)p->n_meta); /* copies */
	free(t);
}

static void put_palette(png_structp png, png_infop info, const struct canvas *c)
{
	png_color pal[256];

	for (size_t i = 0; i < c->n_colours; i++)
		pal[i] =
		    (png_color){(png_byte)(c->rgb[i] >> 16), (png_byte)(c->rgb[i] >> 8), (png_byte)c->rgb[i]};
	png_set_PLTE(png, info, pal, (int)c->n_colours);
}

/* In blocks, which compilers make one instruction of. */
static void narrow(png_bytep to, const uint16_t *px, int n)
{
	int x = 0;

	for (; x + 32 <= n; x += 32)
		for (int k = 0; k < 32; k++)
			to[x + k] = (png_byte)px[x + k];
	for (; x < n; x++)
		to[x] = (png_byte)px[x];
}

static void put_rows(png_structp png, const struct canvas *c, bool palette, png_bytep row)
{
	for (int y = 0; y < c->h; y++) {
		const uint16_t *px = c->px + (size_t)y * (size_t)c->w;
		if (palette) {
			narrow(row, px, c->w);
		} else {
			for (int x = 0; x < c->w; x++) {
				uint32_t v = c->rgb[px[x]];
				row[3 * x] = (png_byte)(v >> 16);
				row[3 * x + 1] = (png_byte)(v >> 8);
				row[3 * x + 2] = (png_byte)v;
			}
		}
		png_write_row(png, row);
	}
}

int canvas_write_png(const struct canvas *c, const struct picture *p, struct output *out, struct err *e)
{
	struct sink sink = {out, e};
	bool palette = c->n_colours <= 256;
	png_bytep row = mem_alloc((size_t)c->w * 3 + 1);
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, on_error, on_warning);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	int rc = -1;

	if (!info) {
		err_set(e, ERR_SYSTEM, NULL, -1, "libpng does not start");
	} else if (!setjmp(png_jmpbuf(png))) {
		png_set_write_fn(png, &sink, put, flush);
		/* Long equal runs: low levels already find them, and higher ones only cost time. */
		png_set_compression_level(png, 3);
		if (p->n_boxes > MANY_BOXES) /* noise, in which only runs are worth looking for */
			png_set_compression_strategy(png, Z_RLE);
		png_set_filter(png, 0, palette ? PNG_FILTER_NONE : PNG_FILTER_SUB);
		png_set_IHDR(png, info, (png_uint_32)c->w, (png_uint_32)c->h, 8,
		             palette ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
		             PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
		if (palette)
			put_palette(png, info, c);
		put_texts(png, info, p);
		png_write_info(png, info);
		put_rows(png, c, palette, row);
		png_write_end(png, NULL);
		rc = 0;
	}
	png_destroy_write_struct(png ? &png : NULL, info ? &info : NULL);
	free(row);
	return rc;
}
