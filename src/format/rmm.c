/* rmm.c: the CSV log of RAPIDS RMM's logging adaptor: Thread,Time,Action,Pointer,Size,Stream.
 *
 * Each line is one row of the framework level, on the device that the file name says (.dev1). Times
 * are seconds since 1970, or the time of day; then a step back by more than ten minutes is midnight.
 * Programs write other text between the lines: what is no row is counted and left out. Whoever saved the log again may
 * have put its fields in quotes, or a byte order mark before them.
 */
#include "base/mem.h"
#include "format/format.h"
#include <stdlib.h>
#include <string.h>

#define HEADER "Thread,Time,Action,Pointer,Size,Stream"

enum { PROBED = 64 << 10 }; /* a program may have written something before the header */
enum { THREAD, TIME, ACTION, POINTER, SIZE, STREAM, FIELDS };

struct field {
	const char *s;
	size_t n;
};

struct log {
	struct model *m;
	uint8_t device;
	struct map64 threads, streams; /* number → the model's */
	struct map64 seen;             /* addresses allocated so far */
	int64_t last_ns, day_ns;       /* of the row before */
	int64_t first_ns;
	bool of_day;
	uint64_t n_odd; /* lines that are no rows */
	size_t first_odd, line;
	bool unknown_free;
};

/* --- fields ----------------------------------------------------------------------------- */

static bool is(struct field f, const char *text)
{
	return f.n == strlen(text) && !memcmp(f.s, text, f.n);
}

static struct field without_quotes(struct field f)
{
	if (f.n > 1 && f.s[0] == '"' && f.s[f.n - 1] == '"')
		return (struct field){f.s + 1, f.n - 2};
	return f;
}

/* Split a line at its commas; false if there are fewer fields than a row needs (the stream may lack). */
static bool split(const char *s, const char *end, struct field field[FIELDS])
{
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		const char *comma = memchr(s, ',', (size_t)(end - s));

		field[i] = without_quotes((struct field){s, (size_t)((comma ? comma : end) - s)});
		if (!comma)
			break;
		s = comma + 1;
	}
	for (size_t k = i + 1; k < FIELDS; k++)
		field[k] = (struct field){end, 0};
	return i >= SIZE;
}

/* Decimal, or hexadecimal behind 0x. */
static bool number(struct field f, uint64_t *out)
{
	bool hex = f.n > 2 && f.s[0] == '0' && (f.s[1] | 0x20) == 'x';
	uint64_t v = 0, digit;
	size_t i;

	for (i = hex ? 2 : 0; i < f.n; i++) {
		unsigned char c = (unsigned char)f.s[i];

		digit = c >= '0' && c <= '9'       ? (uint64_t)(c - '0')
		        : hex && (c | 0x20) >= 'a' ? (uint64_t)((c | 0x20) - 'a' + 10)
		                                   : 99;
		if (digit >= (hex ? 16 : 10) || __builtin_mul_overflow(v, hex ? 16 : 10, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*out = v;
	return f.n > 0;
}

/* Digits behind the point, as nanoseconds. */
static bool fraction(const char *s, const char *end, int64_t *ns)
{
	int64_t unit = 100000000;

	for (*ns = 0; s < end; s++, unit /= 10) {
		if (*s < '0' || *s > '9')
			return false;
		*ns += (*s - '0') * unit;
	}
	return true;
}

/* HH:MM:SS.ffffff or SSSSSSSSSS.ffffff */
static bool time_of(struct field f, int64_t *ns, bool *of_day)
{
	const char *colon = memchr(f.s, ':', f.n), *end = f.s + f.n, *point;
	uint64_t part[3];
	int64_t rest;
	size_t i;

	*of_day = colon != NULL;
	if (!colon) {
		point = memchr(f.s, '.', f.n);
		if (!number((struct field){f.s, (size_t)((point ? point : end) - f.s)}, &part[0]) ||
		    part[0] > INT64_MAX / 1000000000 - 1 || !fraction(point ? point + 1 : end, end, &rest))
			return false;
		*ns = (int64_t)part[0] * 1000000000 + rest;
		return true;
	}
	if (f.n < 8)
		return false;
	for (i = 0; i < 3; i++)
		if (!number((struct field){f.s + 3 * i, 2}, &part[i]) || part[i] > (i ? 60 : 23))
			return false;
	if (f.s[2] != ':' || f.s[5] != ':' || (f.n > 8 && f.s[8] != '.' && f.s[8] != ':') ||
	    !fraction(f.n > 8 ? f.s + 9 : end, end, &rest))
		return false;
	*ns = (int64_t)(part[0] * 3600 + part[1] * 60 + part[2]) * 1000000000 + rest;
	return true;
}

static uint8_t action_op(struct field f)
{
	if (is(f, "allocate"))
		return GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC);
	if (is(f, "free") || is(f, "deallocate"))
		return GMS_OP(GMS_K_BLOCK, GMS_A_FREE);
	if (is(f, "allocate failure"))
		return GMS_OP(GMS_K_BLOCK, GMS_A_FAIL);
	return GMS_OP(GMS_K_TRACE, GMS_A_OTHER);
}

/* --- rows ------------------------------------------------------------------------------- */

/* The time of day, with the days that went by. Threads' lines may be a little out of order: ten minutes are.
 */
static int64_t with_day(struct log *l, int64_t ns)
{
	const int64_t day = 86400ll * 1000000000, little = 600ll * 1000000000;

	if (l->m->ev.n && ns + l->day_ns < l->last_ns - little)
		l->day_ns += day;
	else if (l->m->ev.n && ns + l->day_ns > l->last_ns + day - little)
		l->day_ns -= day;
	return ns + l->day_ns;
}

static uint16_t stream_of(struct log *l, struct field f)
{
	uint64_t handle = 0;
	uint32_t *at;
	bool fresh;

	number(f, &handle);
	at = map64_put(&l->streams, handle, &fresh);
	if (fresh)
		*at = l->m->n_streams > UINT16_MAX ? UINT16_MAX : model_stream(l->m, handle, l->device);
	return (uint16_t)*at;
}

static uint16_t thread_of(struct log *l, uint64_t tid)
{
	bool fresh;
	uint32_t *at = map64_put(&l->threads, tid, &fresh);

	if (fresh)
		*at = l->m->n_threads > UINT16_MAX ? UINT16_MAX : model_thread(l->m, tid, 0);
	return (uint16_t)*at;
}

static bool read_row(struct log *l, const struct field field[FIELDS])
{
	struct event ev = {.block = MODEL_UNKNOWN, .device = l->device, .op = action_op(field[ACTION])};
	uint64_t tid;
	bool of_day, fresh;
	size_t row;

	if (!number(field[THREAD], &tid) || !time_of(field[TIME], &ev.t_ns, &of_day) ||
	    !number(field[SIZE], &ev.size))
		return false;
	if (!number(field[POINTER], &ev.addr) && !is(field[POINTER], "(nil)"))
		return false;
	if (of_day)
		ev.t_ns = with_day(l, ev.t_ns);
	l->of_day |= of_day;
	l->last_ns = ev.t_ns;
	if (!l->m->ev.n || ev.t_ns < l->first_ns)
		l->first_ns = ev.t_ns;
	ev.stream = stream_of(l, field[STREAM]);
	ev.thread = thread_of(l, tid);
	row = model_add(l->m, &ev);
	if (ev.op == GMS_OP(GMS_K_BLOCK, GMS_A_FAIL))
		model_fail(l->m, row, 2, MODEL_UNKNOWN, MODEL_UNKNOWN);
	else if (ev.op == GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC))
		map64_put(&l->seen, ev.addr, &fresh);
	else if (ev.op == GMS_OP(GMS_K_BLOCK, GMS_A_FREE))
		l->unknown_free |= ev.addr && !map64_find(&l->seen, ev.addr);
	else
		l->m->unknown_entries++;
	return true;
}

static void read_line(struct log *l, const char *s, const char *end)
{
	struct field field[FIELDS];

	l->line++;
	while (end > s && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (s == end || (split(s, end, field) && (is(field[THREAD], "Thread") || read_row(l, field))))
		return;
	if (!l->n_odd++)
		l->first_odd = l->line;
}

/* --- the file --------------------------------------------------------------------------- */

/* name.dev1.csv is about device 1. */
static uint8_t device_of(const char *name)
{
	const char *at = NULL, *next = name;
	char *end;
	unsigned long device;

	while ((next = strstr(next, ".dev")))
		at = next += 4;
	if (!at || *at < '0' || *at > '9')
		return 0;
	device = strtoul(at, &end, 10);
	return (*end && *end != '.') || device >= MODEL_NO_DEVICE ? 0 : (uint8_t)device;
}

/* The text, behind a byte order mark. */
static const char *start_of(const struct input *in)
{
	return (const char *)in->data + (in->n > 3 && !memcmp(in->data, "\xef\xbb\xbf", 3) ? 3 : 0);
}

bool rmm_probe(const struct input *in)
{
	const char *s = start_of(in), *last = (const char *)in->data + in->n;
	const char *end = memchr(s, '\n', last - s < 4096 ? (size_t)(last - s) : 4096);
	struct field field[FIELDS];
	int64_t ns;
	uint64_t tid;
	bool of_day;

	if (in->n && (memmem(in->data, in->n < PROBED ? in->n : PROBED, "\n" HEADER, strlen(HEADER) + 1) ||
	              (in->n >= strlen(HEADER) && !memcmp(in->data, HEADER, strlen(HEADER)))))
		return true;
	if (!end || !split(s, end, field))
		return false;
	if (is(field[THREAD], "Thread") && is(field[ACTION], "Action") && is(field[POINTER], "Pointer"))
		return true;
	return number(field[THREAD], &tid) && time_of(field[TIME], &ns, &of_day) &&
	       GMS_OP_KIND(action_op(field[ACTION])) == GMS_K_BLOCK;
}

static void finish(struct log *l)
{
	struct model *m = l->m;
	size_t row;

	for (row = 0; row < m->ev.n; row++) {
		m->ev.t_ns[row] -= l->first_ns;
		if (m->ev.t_ns[row] > m->duration_ns)
			m->duration_ns = m->ev.t_ns[row];
	}
	if (m->ev.n && !l->of_day)
		m->start_wall_ns = l->first_ns;
	m->history = l->unknown_free ? HISTORY_PARTIAL : HISTORY_COMPLETE;
	m->device[l->device].present = true;
	if (!m->ev.n)
		model_note(m, NOTE_WARNING,
		           "the RMM log has no rows: nothing was allocated through it, or it was not written out yet");
	if (l->n_odd)
		model_note(m, NOTE_WARNING,
		           "%llu line%s of an RMM log and left out, the first is line %zu", (unsigned long long)l->n_odd,
		           l->n_odd == 1 ? " is no row" : "s are no rows", l->first_odd);
}

/* The last line without its end: whole if its last field has begun. */
static void read_rest(struct log *l, const char *s, const char *end)
{
	struct field field[FIELDS];

	if (split(s, end, field) && field[STREAM].n) {
		read_line(l, s, end);
		return;
	}
	l->m->complete = false;
	l->m->why_incomplete = mem_strdup("the log ends in the middle of a line");
}

int rmm_read(const struct input *in, struct model *m, struct err *e)
{
	struct log l = {.m = m, .device = device_of(in->name)};
	const char *s = start_of(in), *end = (const char *)in->data + in->n, *stop, *released = s;

	(void)e;
	m->source = SOURCE_RMM;
	for (; s < end && (stop = memchr(s, '\n', (size_t)(end - s))); s = stop + 1) {
		read_line(&l, s, stop);
		if (s - released > 1 << 20)
			input_done_until(in, (size_t)((released = s) - (const char *)in->data));
	}
	if (s < end)
		read_rest(&l, s, end);
	finish(&l);
	map64_free(&l.threads);
	map64_free(&l.streams);
	map64_free(&l.seen);
	return 0;
}
