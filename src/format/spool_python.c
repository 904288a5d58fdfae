/* spool_python.c: a Python code object and a place in its bytecode as a frame.
 *
 * Since CPython 3.11 a code object's line table (PEP 626's promise, the format of Objects/locations.md)
 * is a sequence of entries: one byte 1|code|length-1, then what the code asks for, in little-endian
 * groups of six bits.
 */
#include "format/spool_reader.h"

struct table {
	const unsigned char *at, *end;
};

static unsigned varint(struct table *t)
{
	unsigned value = 0, shift = 0, byte;

	do {
		if (t->at == t->end)
			return 0;
		byte = *t->at++;
		if (shift < 30)
			value |= (byte & 63u) << shift;
		shift += 6;
	} while (byte & 64);
	return value;
}

static int signed_varint(struct table *t)
{
	unsigned v = varint(t);

	return v & 1 ? -(int)(v >> 1) : (int)(v >> 1);
}

static void skip(struct table *t, size_t n)
{
	t->at = (size_t)(t->end - t->at) < n ? t->end : t->at + n;
}

/* The line of the instruction at a byte offset; 0 if the table does not say. */
static unsigned line_at(struct table t, unsigned first_line, uint32_t offset)
{
	uint32_t from = 0;
	int64_t line = first_line;

	while (t.at < t.end) {
		unsigned head = *t.at++, code = head >> 3 & 15;
		uint32_t to = from + ((head & 7) + 1) * 2;
		bool has_line = true;

		if (!(head & 128))
			return 0;
		if (code == 15) {
			has_line = false;
		} else if (code == 14) {
			line += signed_varint(&t);
			varint(&t);
			varint(&t);
			varint(&t);
		} else if (code == 13) {
			line += signed_varint(&t);
		} else if (code >= 10) {
			line += code - 10;
			skip(&t, 2);
		} else {
			skip(&t, 1);
		}
		if (offset < to)
			return has_line && line > 0 && line <= UINT32_MAX ? (unsigned)line : 0;
		from = to;
	}
	return 0;
}

static uint32_t decode(struct spool_reader *r, uint64_t word)
{
	uint32_t id = SPOOL_PY_CODE(word);
	size_t at = id < r->n_pycode ? r->pycode[id] : 0, bytes;
	struct spool_pycode c;
	struct spool_word w;
	const char *text;
	struct frame f = {0};

	if (!at || !(bytes = spool_record(r, at, r->n, &w)) || bytes < sizeof c) {
		f.function = model_cstring(r->m, "[Python function lost]");
		return model_frame(r->m, &f);
	}
	spool_copy(r, at, bytes, &c, sizeof c);
	bytes -= sizeof c;
	if (c.file_bytes > bytes || c.name_bytes > bytes - c.file_bytes)
		return 0;
	text = (const char *)r->data + at + sizeof c;
	f.file = model_string(r->m, text, c.file_bytes);
	f.function = model_string(r->m, text + c.file_bytes, c.name_bytes);
	if (c.table_bytes <= bytes - c.file_bytes - c.name_bytes) {
		const unsigned char *t = (const unsigned char *)text + c.file_bytes + c.name_bytes;

		f.line = line_at((struct table){t, t + c.table_bytes}, c.first_line, SPOOL_PY_AT(word));
	}
	if (!f.line)
		f.line = c.first_line;
	return model_frame(r->m, &f);
}

uint32_t spool_python_frame(struct spool_reader *r, uint64_t word)
{
	bool fresh;
	uint32_t *at = map64_put(&r->pylines, word, &fresh), frame;

	if (!fresh)
		return *at;
	frame = decode(r, word);
	*map64_find(&r->pylines, word) = frame;
	return frame;
}
