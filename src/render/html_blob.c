/* html_blob.c: numbers to sections of the least width, sections to base64 of gzip. */
#include "render/html_blob.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PIECE (1u << 30)

static uint32_t number_at(const struct blob_column *c, size_t i)
{
	uint32_t x = 0; /* the lowest bytes are first, here and in the page */

	if (!c->width)
		return c->first;
	memcpy(&x, c->v + i * c->width, c->width);
	return x;
}

static void widen(struct blob_column *c, unsigned width)
{
	struct blob_column wide = {.width = width, .cap = (c->n + 64) * width};

	wide.v = mem_alloc(wide.cap);
	for (size_t i = 0; i < c->n; i++) {
		uint32_t x = number_at(c, i);
		memcpy(wide.v + i * width, &x, width);
	}
	free(c->v);
	c->v = wide.v;
	c->cap = wide.cap;
	c->width = width;
}

static unsigned width_of(uint32_t x)
{
	return x < 256 ? 1 : x < 65536 ? 2 : 4;
}

void blob_put(struct blob_column *c, uint64_t v)
{
	uint32_t x = v < BLOB_LARGE ? (uint32_t)v : BLOB_LARGE;

	if (x == BLOB_LARGE)
		*VEC_PUSH(c->large, c->n_large, c->cap_large) = (double)v;
	if (!c->n)
		c->first = x;
	if (!c->width && x != c->first)
		widen(c, width_of(c->first));
	if (c->width && c->width < width_of(x))
		widen(c, width_of(x));
	if (c->width) {
		if (c->cap < (c->n + 1) * c->width)
			c->v = mem_resize(c->v, c->cap *= 2, 1);
		memcpy(c->v + c->n * c->width, &x, c->width);
	}
	c->n++;
}

void blob_put_signed(struct blob_column *c, int64_t v)
{
	blob_put(c, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* Append and fill up to a multiple of 8. */
static void append(struct blob *b, const void *v, size_t bytes)
{
	size_t all = (bytes + 7) & ~(size_t)7;

	if (!bytes)
		return;
	if (b->cap - b->n < all) {
		b->cap = (b->n + all) * 2;
		b->v = mem_resize(b->v, b->cap, 1);
	}
	memcpy(b->v + b->n, v, bytes);
	memset(b->v + b->n + bytes, 0, all - bytes);
	b->n += all;
}

void blob_add(struct blob *b, const char *name, struct blob_column *c)
{
	size_t at = b->n;

	append(b, c->v, c->n * c->width);
	append(b, c->large, c->n_large * sizeof *c->large);
	text_printf(&b->index, "%s\"%s\":[%zu,%zu,%u,%u,%zu]", b->index.n ? "," : "", name, c->n, b->n - at,
	            c->width, c->first, c->n_large);
	free(c->v);
	free(c->large);
	*c = (struct blob_column){0};
}

static void base64(struct text *out, const uint8_t *v, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char quad[4 * 256];
	size_t i, k = 0;

	for (i = 0; i < n; i += 3) {
		uint32_t x = (uint32_t)v[i] << 16 | (i + 1 < n ? (uint32_t)v[i + 1] << 8 : 0) |
		             (i + 2 < n ? v[i + 2] : 0);
		quad[k++] = digit[x >> 18];
		quad[k++] = digit[x >> 12 & 63];
		quad[k++] = i + 1 < n ? digit[x >> 6 & 63] : '=';
		quad[k++] = i + 2 < n ? digit[x & 63] : '=';
		if (k == sizeof quad || i + 3 >= n) {
			text_add(out, quad, k);
			k = 0;
		}
	}
}

void blob_finish(struct blob *b, struct text *out)
{
	/* 15 + 16: the largest window, with a gzip header. */
	z_stream z = {0};
	uLong room;
	uint8_t *packed;

	deflateInit2(&z, 5, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	room = deflateBound(&z, b->n);
	packed = mem_alloc(room);
	z.next_in = b->v;
	z.next_out = packed;
	/* avail_in and avail_out are unsigned ints: at most a piece of 1 GiB at a time. */
	for (size_t done = 0, piece;; done += piece) {
		piece = b->n - done > PIECE ? PIECE : b->n - done;
		z.avail_in = (unsigned)piece;
		bool last = done + piece == b->n;
		do {
			z.avail_out = room - z.total_out > PIECE ? PIECE : (unsigned)(room - z.total_out);
			deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
		} while (z.avail_in);
		if (last)
			break;
	}
	base64(out, packed, z.total_out);
	deflateEnd(&z);
	free(packed);
	free(b->v);
	*b = (struct blob){.index = b->index};
}
