/* spool_tables.c: what a spool's events refer to by number, read before the events. */
#include "base/mem.h"
#include "base/text.h"
#include "format/spool_reader.h"
#include <stdio.h>
#include <stdlib.h>

/* A file cannot hold more rows of a kind than this many per byte: bounds what a damaged number costs. */
static bool plausible(const struct spool_reader *r, uint64_t index)
{
	return index && index < r->n / 8;
}

size_t spool_record(const struct spool_reader *r, size_t at, size_t end, struct spool_word *w)
{
	uint64_t word;
	size_t bytes;

	if (end > r->n)
		end = r->n;
	if (at + sizeof word > end)
		return 0;
	word = __atomic_load_n((const uint64_t *)(const void *)(r->data + at), __ATOMIC_ACQUIRE);
	memcpy(w, &word, sizeof *w);
	bytes = w->words * (size_t)8;
	return w->kind == SPOOL_NONE || !bytes || bytes > end - at ? 0 : bytes;
}

void spool_copy(const struct spool_reader *r, size_t at, size_t bytes, void *to, size_t size)
{
	size_t n = bytes < size ? bytes : size;

	memcpy(to, r->data + at, n);
	memset((char *)to + n, 0, size - n);
}

/* Make room for index i; new entries are `fill` bytes. */
#define GROW(v, n, i, fill)                                                                                  \
	do {                                                                                                 \
		if ((size_t)(i) >= (n)) {                                                                    \
			size_t more = (size_t)(i) + (i) / 2 + 16;                                            \
			(v) = mem_resize((v), more, sizeof *(v));                                            \
			memset((v) + (n), fill, (more - (n)) * sizeof *(v));                                 \
			(n) = more;                                                                          \
		}                                                                                            \
	} while (0)

static void read_string(struct spool_reader *r, size_t at, size_t bytes)
{
	struct spool_string s;

	spool_copy(r, at, bytes, &s, sizeof s);
	if (!plausible(r, s.id) || s.bytes > bytes - sizeof s)
		return;
	GROW(r->string, r->n_string, s.id, 0);
	r->string[s.id] = model_string(r->m, (const char *)r->data + at + sizeof s, s.bytes);
}

static void read_thread(struct spool_reader *r, size_t at, size_t bytes)
{
	struct spool_thread t;
	uint32_t name;

	spool_copy(r, at, bytes, &t, sizeof t);
	if (!t.index || t.index > SPOOL_MANY)
		return;
	name = model_string(r->m, t.name, strnlen(t.name, sizeof t.name));
	GROW(r->thread, r->n_thread, t.index, 0);
	if (r->thread[t.index]) /* renamed */
		r->m->threads[r->thread[t.index]].name = name;
	else
		r->thread[t.index] = model_thread(r->m, t.tid, name);
}

static void read_handle(struct spool_reader *r, enum spool_kind kind, size_t at, size_t bytes)
{
	struct spool_handle h;

	spool_copy(r, at, bytes, &h, sizeof h);
	if (!h.index || h.index > SPOOL_MANY)
		return;
	if (kind == SPOOL_STREAM) {
		GROW(r->stream, r->n_stream, h.index, 0);
		r->stream[h.index] = model_stream(r->m, h.handle, h.w.device);
	} else if (kind == SPOOL_POOL) {
		struct pool_info p = {.handle = h.handle, .device = h.w.device};

		GROW(r->pool, r->n_pool, h.index, 0);
		r->pool[h.index] = model_pool(r->m, &p);
	} else {
		GROW(r->context, r->n_context, h.index, 0);
		r->context[h.index] = h.handle;
	}
}

static void read_stack(struct spool_reader *r, size_t at, size_t bytes)
{
	struct spool_stack s;

	spool_copy(r, at, bytes, &s, sizeof s);
	if (!plausible(r, s.id) || bytes < sizeof s)
		return;
	GROW(r->stack, r->n_stack, s.id, 0);
	r->stack[s.id] = (struct spool_stack_row){.at = at + sizeof s,
						  .n = (uint32_t)((bytes - sizeof s) / 8),
						  .epoch = s.epoch,
						  .model = UINT32_MAX,
						  .cut = s.w.flags & SPOOL_STACK_CUT};
}

static void read_device(struct spool_reader *r, size_t at, size_t bytes)
{
	struct spool_device d;

	spool_copy(r, at, bytes, &d, sizeof d);
	r->m->device[d.w.device].name = model_string(r->m, d.name, strnlen(d.name, sizeof d.name));
	r->m->device[d.w.device].total = d.total;
	memcpy(r->m->device[d.w.device].uuid, d.uuid, sizeof d.uuid);
}

static void read_module(struct spool_reader *r, size_t at, size_t bytes)
{
	const size_t fixed = offsetof(struct spool_module, path);
	struct spool_module s;
	struct spool_module_row *row;
	unsigned char *id = NULL;
	const char *path = (const char *)r->data + at + fixed;

	spool_copy(r, at, bytes, &s, fixed);
	if (bytes < fixed || s.path_bytes > bytes - fixed || s.begin >= s.end)
		return;
	if (s.build_id_bytes > sizeof s.build_id)
		s.build_id_bytes = 0;
	if (s.build_id_bytes) {
		id = mem_alloc(s.build_id_bytes);
		memcpy(id, s.build_id, s.build_id_bytes);
	}
	row = VEC_PUSH(r->modules, r->n_modules, r->cap_modules);
	*row = (struct spool_module_row){.begin = s.begin,
					 .end = s.end,
					 .bias = s.bias,
					 .id = s.id,
					 .epoch = s.epoch,
					 .gone = UINT32_MAX,
					 .name = model_string(r->m, path, s.path_bytes)};
	row->file = (struct spool_file){.path = mem_strndup(path, s.path_bytes),
					.build_id = id,
					.build_id_bytes = s.build_id_bytes};
}

static void read_gone(struct spool_reader *r, size_t at, size_t bytes)
{
	struct spool_module_gone g;
	size_t i;

	spool_copy(r, at, bytes, &g, sizeof g);
	for (i = 0; i < r->n_modules; i++)
		if (r->modules[i].id == g.id)
			r->modules[i].gone = g.epoch;
}

static void read_pycode(struct spool_reader *r, size_t at, size_t bytes)
{
	struct spool_pycode c;

	spool_copy(r, at, bytes, &c, sizeof c);
	if (!plausible(r, c.id))
		return;
	GROW(r->pycode, r->n_pycode, c.id, 0);
	r->pycode[c.id] = at;
}

static void read_setting(struct spool_reader *r, size_t at, size_t bytes)
{
	static const char *const attribute[] = {"", "reuse after events", "opportunistic reuse",
						"reuse with dependencies of its own", "release threshold"};
	static const char *const limit[] = {"stack of a kernel's thread", "printf buffer", "heap of kernels' malloc"};
	struct spool_setting s;
	char size[32], gpu[16] = "";
	double ms;

	spool_copy(r, at, bytes, &s, sizeof s);
	if (bytes < sizeof s || s.w.op > 1 || s.what > (s.w.op ? 2 : 4) || (!s.w.op && !s.what))
		return;
	ms = s.t_ns > r->h.start_ns ? (double)(s.t_ns - r->h.start_ns) / 1e6 : 0;
	if (s.w.device != SPOOL_NO_DEVICE)
		snprintf(gpu, sizeof gpu, "GPU %u, ", s.w.device);
	if (s.w.op)
		model_note(r->m, NOTE_INFO, "%scontext 0x%llx: the %s was set to %s after %.1f ms", gpu,
			   (unsigned long long)s.handle, limit[s.what], text_bytes(size, s.value), ms);
	else if (s.what < 4)
		model_note(r->m, NOTE_INFO, "%spool 0x%llx: %s was switched %s after %.1f ms", gpu,
			   (unsigned long long)s.handle, attribute[s.what], s.value ? "on" : "off", ms);
	else
		model_note(r->m, NOTE_INFO, "%spool 0x%llx: the release threshold was set to %s after %.1f ms", gpu,
			   (unsigned long long)s.handle,
			   s.value == UINT64_MAX ? "all it has" : text_bytes(size, s.value), ms);
}

static void read_record(struct spool_reader *r, const struct spool_word *w, size_t at, size_t bytes)
{
	switch (w->kind) {
	case SPOOL_STRING:
		read_string(r, at, bytes);
		break;
	case SPOOL_THREAD:
		read_thread(r, at, bytes);
		break;
	case SPOOL_STREAM:
	case SPOOL_POOL:
	case SPOOL_CONTEXT:
		read_handle(r, (enum spool_kind)w->kind, at, bytes);
		break;
	case SPOOL_STACK:
		read_stack(r, at, bytes);
		break;
	case SPOOL_DEVICE:
		read_device(r, at, bytes);
		break;
	case SPOOL_MODULE:
		read_module(r, at, bytes);
		break;
	case SPOOL_MODULE_GONE:
		read_gone(r, at, bytes);
		break;
	case SPOOL_PYCODE:
		read_pycode(r, at, bytes);
		break;
	case SPOOL_SETTING:
		read_setting(r, at, bytes);
		break;
	default: /* a newer recorder's */
		break;
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct spool_module_row *x = a, *y = b;

	return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

void spool_tables_read(struct spool_reader *r)
{
	size_t i, n, modules = r->n_modules;
	struct spool_word w;

	for (i = 0; i < r->n_tables; i++)
		for (; (n = spool_record(r, r->tables[i].at, r->tables[i].end, &w)); r->tables[i].at += n)
			read_record(r, &w, r->tables[i].at, n);
	if (r->n_modules != modules)
		qsort(r->modules, r->n_modules, sizeof *r->modules, by_begin);
}
