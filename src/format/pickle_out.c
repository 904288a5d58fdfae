/* pickle_out.c: see pickle_out.h. */
#include "format/pickle_out.h"
#include <string.h>

static void byte(struct pickle_out *p, unsigned char c)
{
	text_add(&p->x.t, (const char *)&c, 1);
}

static void little_endian(struct pickle_out *p, uint64_t v, int bytes)
{
	for (; bytes; bytes--, v >>= 8)
		byte(p, (unsigned char)v);
}

void pickle_out_begin(struct pickle_out *p)
{
	byte(p, 0x80); /* PROTO */
	byte(p, 4);
}

int pickle_out_end(struct pickle_out *p)
{
	byte(p, '.'); /* STOP */
	return export_done(&p->x);
}

void pickle_out_dict(struct pickle_out *p)
{
	text_puts(&p->x.t, "}("); /* EMPTY_DICT MARK */
}

void pickle_out_dict_end(struct pickle_out *p)
{
	byte(p, 'u'); /* SETITEMS */
	export_flush(&p->x);
}

void pickle_out_list(struct pickle_out *p)
{
	text_puts(&p->x.t, "]("); /* EMPTY_LIST MARK */
}

void pickle_out_list_end(struct pickle_out *p)
{
	byte(p, 'e'); /* APPENDS */
	export_flush(&p->x);
}

void pickle_out_list_pause(struct pickle_out *p)
{
	text_puts(&p->x.t, "e("); /* APPENDS MARK */
}

void pickle_out_pair(struct pickle_out *p, uint64_t a, uint64_t b)
{
	pickle_out_u64(p, a);
	pickle_out_u64(p, b);
	byte(p, 0x86); /* TUPLE2 */
}

void pickle_out_text(struct pickle_out *p, const char *s)
{
	size_t n = strlen(s), i, len, bytes = 0;

	for (i = 0; i < n; i += len ? len : 1) {
		len = text_utf8_len(s + i, n - i);
		bytes += len ? len : 3;
	}
	byte(p, bytes < 256 ? 0x8c : 'X'); /* SHORT_BINUNICODE, BINUNICODE */
	little_endian(p, bytes, bytes < 256 ? 1 : 4);
	for (i = 0; i < n; i += len ? len : 1) {
		len = text_utf8_len(s + i, n - i);
		text_add(&p->x.t, len ? s + i : "\xef\xbf\xbd", len ? len : 3);
	}
}

/* LONG1: little-endian two's complement, here always of `bytes` bytes. */
static void long1(struct pickle_out *p, uint64_t v, int bytes, unsigned char sign)
{
	byte(p, 0x8a);
	byte(p, (unsigned char)(bytes + 1));
	little_endian(p, v, bytes);
	byte(p, sign);
}

void pickle_out_u64(struct pickle_out *p, uint64_t v)
{
	if (v < 0x100) {
		byte(p, 'K'); /* BININT1 */
		little_endian(p, v, 1);
	} else if (v < 0x10000) {
		byte(p, 'M'); /* BININT2 */
		little_endian(p, v, 2);
	} else if (v < 0x80000000u) {
		byte(p, 'J'); /* BININT */
		little_endian(p, v, 4);
	} else {
		long1(p, v, 8, 0);
	}
}

void pickle_out_i64(struct pickle_out *p, int64_t v)
{
	if (v >= 0) {
		pickle_out_u64(p, (uint64_t)v);
	} else if (v >= INT32_MIN) {
		byte(p, 'J');
		little_endian(p, (uint64_t)v, 4);
	} else {
		long1(p, (uint64_t)v, 8, 0xff);
	}
}

void pickle_out_double(struct pickle_out *p, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	byte(p, 'G'); /* BINFLOAT, big-endian */
	little_endian(p, __builtin_bswap64(bits), 8);
}

void pickle_out_bool(struct pickle_out *p, bool v)
{
	byte(p, v ? 0x88 : 0x89);
}

uint32_t pickle_out_remember(struct pickle_out *p)
{
	byte(p, 0x94); /* MEMOIZE */
	return p->n_memo++;
}

void pickle_out_again(struct pickle_out *p, uint32_t memo)
{
	byte(p, memo < 256 ? 'h' : 'j'); /* BINGET, LONG_BINGET */
	little_endian(p, memo, memo < 256 ? 1 : 4);
}
