/* pyframes.c: the calling thread's Python frames, without the GIL.
 *
 * A CUDA call often runs inside a lock that another thread wants while it holds the GIL: to take the
 * GIL here could deadlock. It is not needed: a thread's chain of frames changes only while that thread
 * runs Python, and now it runs us. PyGILState_GetThisThreadState takes no lock; the rest is plain loads
 * by the layout of the interpreter at hand: CPython 3.11 and 3.12 by fixed offsets, 3.13 and 3.14 by
 * the table that they publish at the start of _PyRuntime. No reference count is touched.
 *
 * The first walk goes through a system call that cannot fault, and checks that what it meets are code
 * objects; if not, Python frames are left out for good.
 */
#include "record/pyframes.h"
#include "record/map.h"
#include "record/resolve.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHIM 3 /* owners from here on are no Python functions: they mark an activation of the loop */

struct layout {
	uint16_t version; /* 0x030b; 0 = no interpreter that we know */
	bool via_cframe, has_entry, free_threaded;
	uint16_t tstate_frame, cframe_frame;
	uint16_t frame_code, frame_previous, frame_instr, frame_owner, frame_entry;
	uint16_t code_file, code_name, code_lines, code_line, code_bytes;
	uint16_t type, bytes_size, bytes_data;
	uint16_t text_length, text_state, text_ascii, text_compact;
};
static const struct layout v311 = {.version = 0x030b,
				   .via_cframe = true,
				   .has_entry = true,
				   .tstate_frame = 56,
				   .cframe_frame = 8,
				   .frame_code = 32,
				   .frame_previous = 48,
				   .frame_instr = 56,
				   .frame_owner = 69,
				   .frame_entry = 68,
				   .code_file = 112,
				   .code_name = 128,
				   .code_lines = 136,
				   .code_line = 72,
				   .code_bytes = 184,
				   .type = 8,
				   .bytes_size = 16,
				   .bytes_data = 32,
				   .text_length = 16,
				   .text_state = 32,
				   .text_ascii = 48,
				   .text_compact = 72};
static const struct layout v312 = {.version = 0x030c,
				   .via_cframe = true,
				   .tstate_frame = 56,
				   .cframe_frame = 0,
				   .frame_code = 0,
				   .frame_previous = 8,
				   .frame_instr = 56,
				   .frame_owner = 70,
				   .code_file = 112,
				   .code_name = 128,
				   .code_lines = 136,
				   .code_line = 68,
				   .code_bytes = 192,
				   .type = 8,
				   .bytes_size = 16,
				   .bytes_data = 32,
				   .text_length = 16,
				   .text_state = 32,
				   .text_ascii = 40,
				   .text_compact = 56};

static struct layout layout;
static void *(*this_thread)(void);
static const void *code_type;
static uint64_t loop_begin, loop_end; /* of _PyEval_EvalFrameDefault */
static uint32_t usable;		      /* 0 not known, 1 checked, 2 never */

static struct rec_map codes; /* by code object: a = fingerprint, count = id */
static struct rec_lock codes_lock;
static uint32_t last_code;

/* --- finding the interpreter -------------------------------------------------------------------------- */
/* The table at the start of _PyRuntime: groups of u64, each beginning with the size of what it is about.
 * Which groups there are, and how long, depends on the minor version. */
struct group {
	uint8_t runtime, interpreter, thread, frame, code, object, type, tuple, list, set, dict, floating, integer;
};
static const struct group v313_groups = {3, 13, 9, 6, 10, 2, 4, 3, 3, 0, 3, 2, 3};
static const struct group v314_groups = {3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3};

static bool plausible(const struct layout *l, const uint64_t *thread, const uint64_t *frame, const uint64_t *code)
{
	return thread[0] > 200 && thread[0] < 4096 && frame[0] > 64 && frame[0] < 512 && code[0] > 128 &&
	       code[0] < 1024 && l->tstate_frame < thread[0] && l->frame_code < frame[0] &&
	       l->frame_previous < frame[0] && l->frame_instr < frame[0] && l->frame_owner < frame[0] &&
	       l->code_file < code[0] && l->code_name < code[0] && l->code_lines < code[0] &&
	       l->code_bytes <= code[0] && l->type < 64 && l->text_ascii >= 40 && l->text_ascii < 128;
}

static bool read_table(struct layout *l, const unsigned char *runtime, uint16_t version)
{
	const struct group *g = version == 0x030d ? &v313_groups : &v314_groups;
	const uint64_t *thread, *frame, *code, *object, *bytes, *text;

	if (memcmp(runtime, "xdebugpy", 8) != 0)
		return false;
	thread = (const uint64_t *)(const void *)(runtime + 24) + g->runtime + g->interpreter;
	frame = thread + g->thread;
	code = frame + g->frame;
	object = code + g->code;
	bytes = object + g->object + g->type + g->tuple + g->list + g->set + g->dict + g->floating + g->integer;
	text = bytes + 3;
	*l = (struct layout){.version = version,
			     .free_threaded = ((const uint64_t *)(const void *)runtime)[2] != 0,
			     .tstate_frame = (uint16_t)thread[4],
			     .frame_previous = (uint16_t)frame[1],
			     .frame_code = (uint16_t)frame[2],
			     .frame_instr = (uint16_t)frame[3],
			     .frame_owner = (uint16_t)frame[5],
			     .code_file = (uint16_t)code[1],
			     .code_name = (uint16_t)code[3],
			     .code_lines = (uint16_t)code[4],
			     .code_line = (uint16_t)code[5],
			     .code_bytes = (uint16_t)code[9],
			     .type = (uint16_t)object[1],
			     .bytes_size = (uint16_t)bytes[1],
			     .bytes_data = (uint16_t)bytes[2],
			     .text_state = (uint16_t)text[1],
			     .text_length = (uint16_t)text[2],
			     .text_ascii = (uint16_t)text[3],
			     .text_compact = (uint16_t)(text[3] + 16)};
	return plausible(l, thread, frame, code);
}

/* A symbol of the interpreter: of the program itself, which stands before us and so is not "next", of
 * the libraries behind us, or of a libpython that was loaded apart. */
static void *python_symbol(const char *name)
{
	void *p = rec_symbol(RTLD_DEFAULT, name);

	return p ? p : rec_module_symbol("libpython3", name, NULL);
}

static void find_loop(void)
{
	uint64_t size = 0;
	void *p = rec_module_symbol("", "_PyEval_EvalFrameDefault", &size);

	loop_begin = (uintptr_t)p;
	loop_end = loop_begin + size;
}

void rec_python_look(void)
{
	const unsigned long *hex;
	struct layout l = {0};
	void *runtime;

	if (this_thread || !rec_options.python || !(hex = python_symbol("Py_Version")))
		return;
	runtime = python_symbol("_PyRuntime");
	code_type = python_symbol("PyCode_Type");
	switch (*hex >> 16) {
	case 0x030b:
		l = v311;
		break;
	case 0x030c:
		l = v312;
		break;
	case 0x030d:
	case 0x030e:
		if (!runtime || !read_table(&l, runtime, (uint16_t)(*hex >> 16)))
			return;
		break;
	default:
		return;
	}
	if (!code_type)
		return;
	find_loop();
	layout = l;
	this_thread = (void *(*)(void))python_symbol("PyGILState_GetThisThreadState");
}

/* --- walking -------------------------------------------------------------------------------------------- */
static inline uint64_t word(uint64_t at, unsigned offset)
{
	return *(const uint64_t *)(uintptr_t)(at + offset);
}

static inline uint32_t half(uint64_t at, unsigned offset)
{
	return *(const uint32_t *)(uintptr_t)(at + offset);
}

static uint64_t top_frame(const struct layout *l)
{
	uint64_t t = (uintptr_t)this_thread();

	if (!t)
		return 0;
	if (!l->via_cframe)
		return word(t, l->tstate_frame);
	t = word(t, l->tstate_frame);
	return t ? word(t, l->cframe_frame) : 0;
}

/* References are tagged in their low bits since 3.14. */
static inline uint64_t code_of(const struct layout *l, uint64_t frame)
{
	return word(frame, l->frame_code) & ~7ull;
}

/* A read that fails instead of faulting. */
static bool safe_read(uint64_t at, void *to, size_t n)
{
	struct iovec mine = {to, n}, theirs = {(void *)(uintptr_t)at, n};

	return process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) == (ssize_t)n;
}

/* Is every frame's code a code object, as far as can be read without risk? */
static bool check(const struct layout *l, uint64_t frame)
{
	unsigned n, seen = 0;

	for (n = 0; frame && n < 256; n++) {
		uint64_t code, type, previous;
		uint8_t owner;

		if (!safe_read(frame + l->frame_code, &code, 8) || !safe_read(frame + l->frame_owner, &owner, 1) ||
		    !safe_read(frame + l->frame_previous, &previous, 8))
			return false;
		if (owner < SHIM) {
			if (!safe_read((code & ~7ull) + l->type, &type, 8) || type != (uintptr_t)code_type)
				return false;
			seen++;
		}
		frame = previous;
	}
	return seen > 0;
}

static bool may_walk(const struct layout *l, uint64_t frame)
{
	uint32_t state = __atomic_load_n(&usable, __ATOMIC_RELAXED);

	if (__builtin_expect(state == 1, 1))
		return true;
	if (state == 2 || !frame)
		return false;
	state = check(l, frame) ? 1 : 2;
	__atomic_store_n(&usable, state, __ATOMIC_RELAXED);
	return state == 1;
}

/* What tells a code object from another that came to lie at its address. */
static inline uint64_t fingerprint(const struct layout *l, uint64_t code)
{
	return (word(code, l->code_file) * 3 + word(code, l->code_name)) * 5 + word(code, l->code_lines) * 7 +
	       half(code, l->code_line);
}

bool rec_python_here(void)
{
	return this_thread && this_thread();
}

uint32_t rec_python_walk(struct rec_pyframe *out, uint32_t max, bool *cut)
{
	const struct layout *l = &layout;
	uint64_t frame;
	uint32_t n = 0;

	if (__builtin_expect(!this_thread, 1))
		return 0;
	frame = top_frame(l);
	if (!frame || !may_walk(l, frame))
		return 0;
	for (; frame; frame = word(frame, l->frame_previous)) {
		uint64_t code = code_of(l, frame);
		uint8_t owner = *(const uint8_t *)(uintptr_t)(frame + l->frame_owner);

		if (owner >= SHIM) {
			if (n)
				out[n - 1].code |= REC_PY_ENTRY;
			continue;
		}
		if (!code || word(code, l->type) != (uintptr_t)code_type)
			continue;
		if (n == max) {
			*cut = true;
			break;
		}
		out[n] = (struct rec_pyframe){code, word(frame, l->frame_instr), fingerprint(l, code)};
		if (l->has_entry && *(const uint8_t *)(uintptr_t)(frame + l->frame_entry))
			out[n].code |= REC_PY_ENTRY;
		n++;
	}
	return n;
}

static void mark_by_address(uint64_t *native, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (native[i] > loop_begin && native[i] <= loop_end)
			native[i] |= SPOOL_LOOP;
}

/* Since 3.12 each activation has a frame of its own among its C variables: that tells whose they are, also
 * where the loop has no name, is in several parts, or is a function for each instruction. */
void rec_python_mark(uint64_t *native, uint32_t n, const struct rec_step *step, uint64_t sp)
{
	const struct layout *l = &layout;
	uint64_t frame;
	uint32_t i = 0;

	if (!step || l->has_entry) {
		mark_by_address(native, n);
		return;
	}
	for (frame = top_frame(l); frame; frame = word(frame, l->frame_previous)) {
		if (*(const uint8_t *)(uintptr_t)(frame + l->frame_owner) < SHIM || frame < sp)
			continue;
		while (i + 1 < n && step[i].at < frame)
			i++;
		if (i + 1 == n) /* not on this stack, or beyond where it was cut */
			return;
		native[i] |= SPOOL_LOOP;
	}
}

/* --- code objects ------------------------------------------------------------------------------------------ */
#define TEXT_MAX 1024

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* A str object as UTF-8; returns the bytes. */
static size_t text(uint64_t str, char *to, size_t size)
{
	const struct layout *l = &layout;
	uint32_t state = half(str, l->text_state), kind, at;
	uint64_t length = word(str, l->text_length), data, i;
	size_t n = 0;

	at = l->free_threaded && l->version >= 0x030e ? 8 : 2;
	kind = state >> at & 7;
	if (!(state >> (at + 3) & 1) || (kind != 1 && kind != 2 && kind != 4)) /* not compact: never for names */
		return 0;
	data = str + (state >> (at + 4) & 1 ? l->text_ascii : l->text_compact);
	for (i = 0; i < length && n + 4 <= size; i++) {
		const void *p = (const void *)(uintptr_t)(data + i * kind);

		n += put_utf8(to + n, kind == 1	  ? *(const uint8_t *)p
				      : kind == 2 ? *(const uint16_t *)p
						  : *(const uint32_t *)p);
	}
	return n;
}

/* Write the code object down. Under the tables lock. */
static bool write_code(struct rec_lane *lane, uint64_t code, uint32_t id)
{
	const struct layout *l = &layout;
	union {
		struct spool_pycode head;
		char room[sizeof(struct spool_pycode) + 2 * TEXT_MAX];
	} record = {.head = {.w = {.kind = SPOOL_PYCODE}, .id = id, .version = l->version}};
	uint64_t lines = word(code, l->code_lines), bytes = lines ? word(lines, l->bytes_size) : 0;
	size_t file = text(word(code, l->code_file), record.head.bytes, TEXT_MAX);
	size_t name = text(word(code, l->code_name), record.head.bytes + file, TEXT_MAX);

	if (bytes > rec_head->chunk_bytes / 2) /* of a function so long its first line must do */
		bytes = 0;
	record.head.first_line = half(code, l->code_line);
	record.head.file_bytes = (uint32_t)file;
	record.head.name_bytes = (uint32_t)name;
	record.head.table_bytes = (uint32_t)bytes;
	return rec_table_put(lane, &record, sizeof record.head + file + name,
			     (const void *)(uintptr_t)(lines + l->bytes_data), bytes) != NULL;
}

static uint32_t code_id(struct rec_lane *lane, uint64_t code, uint64_t mark)
{
	struct rec_map_entry *e;
	uint32_t id = 0;

	if (!rec_lock(&codes_lock, lane))
		return 0;
	e = rec_map_put(&codes, code);
	if (e && e->count && e->a == mark) {
		id = e->count;
	} else if (e && rec_tables_lock(lane)) {
		id = last_code + 1;
		if (write_code(lane, code, id)) {
			e->a = mark;
			e->count = last_code = id;
		} else {
			id = 0;
		}
		rec_tables_unlock();
	}
	rec_unlock(&codes_lock);
	return id;
}

uint64_t rec_python_word(struct rec_lane *lane, const struct rec_pyframe *f)
{
	const struct layout *l = &layout;
	uint64_t code = f->code & ~REC_PY_ENTRY, begin = code + l->code_bytes, at = f->instr - begin;
	uint32_t id = code_id(lane, code, f->fingerprint);

	/* A thread's own copy of the bytecode (free threading) lies elsewhere: the line is not known. */
	if (at > 1u << 28)
		at = UINT32_MAX;
	return SPOOL_PY | (f->code & REC_PY_ENTRY ? SPOOL_PY_ENTRY : 0) | (uint64_t)(id & 0x3fffffff) << 32 |
	       (uint32_t)at;
}

void rec_python_forked(void)
{
	rec_map_clear(&codes);
	last_code = 0;
	codes_lock.owner = 0;
}
