/* html_blob.c: numbers to LEB128, sections to base64 of gzip. */
#include "render/html_blob.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PIECE (1u << 30)

void blob_put(struct blob_column *c, uint64_t v)
{
	if (c->cap - c->bytes < 10) {
		c->cap = (c->cap + 64) * 2;
		c->v = mem_resize(c->v, c->cap, 1);
	}
	for (; v > 127; v >>= 7)
		c->v[c->bytes++] = (uint8_t)(v | 128);
	c->v[c->bytes++] = (uint8_t)v;
	c->n++;
}

void blob_put_signed(struct blob_column *c, int64_t v)
{
	blob_put(c, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void blob_add(struct blob *b, const char *name, struct blob_column *c)
{
	if (b->cap - b->n < c->bytes) {
		b->cap = (b->n + c->bytes) * 2;
		b->v = mem_resize(b->v, b->cap, 1);
	}
	if (c->bytes)
		memcpy(b->v + b->n, c->v, c->bytes);
	b->n += c->bytes;
	text_printf(&b->index, "%s\"%s\":[%zu,%zu]", b->index.n ? "," : "", name, c->n, c->bytes);
	free(c->v);
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
