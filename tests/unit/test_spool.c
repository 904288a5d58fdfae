/* test_spool.c: the spool reader: a whole file, and the same file cut, flipped and filled with huge numbers.
 *
 * The file is made here by hand: one chunk of each type and one record of each kind.
 */
#include "base/mem.h"
#include "format/spool.h"
#include "wire/events.h"
#include "wire/spool.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__
enum { STEP = 7 }; /* it is slow: not every byte */
#else
enum { STEP = 1 };
#endif
enum { CHUNK = SPOOL_CHUNK_MIN, CHUNKS = 3, SIZE = SPOOL_HEADER + CHUNKS * CHUNK };

struct file {
	unsigned char data[SIZE];
	size_t at; /* where the next record goes */
	struct part {
		size_t from, to; /* bytes that mean something */
	} part[1 + CHUNKS];
};

static void *record(struct file *f, enum spool_kind kind, size_t bytes)
{
	struct spool_word *w = (void *)(f->data + f->at);

	*w = (struct spool_word){.kind = (uint8_t)kind, .words = (uint16_t)((bytes + 7) / 8)};
	f->at += w->words * 8u;
	return w;
}

static void begin_chunk(struct file *f, size_t i, enum spool_chunk_type type)
{
	struct spool_chunk *c = (void *)(f->data + SPOOL_HEADER + i * CHUNK);

	c->type = type;
	c->thread = 1;
	f->part[i + 1].from = SPOOL_HEADER + i * CHUNK;
	f->at = f->part[i + 1].from + sizeof *c;
}

static void make_tables(struct file *f)
{
	struct spool_string *s = record(f, SPOOL_STRING, sizeof *s + 5);
	struct spool_thread *t = record(f, SPOOL_THREAD, sizeof *t);
	struct spool_handle *h = record(f, SPOOL_STREAM, sizeof *h);
	struct spool_handle *pool = record(f, SPOOL_POOL, sizeof *pool), *context = record(f, SPOOL_CONTEXT, sizeof *context);
	struct spool_stack *stack = record(f, SPOOL_STACK, sizeof *stack + 3 * 8);
	struct spool_device *d = record(f, SPOOL_DEVICE, sizeof *d);
	struct spool_module *m = record(f, SPOOL_MODULE, sizeof *m + 8);
	struct spool_module_gone *gone = record(f, SPOOL_MODULE_GONE, sizeof *gone);
	struct spool_pycode *p = record(f, SPOOL_PYCODE, sizeof *p + 12);
	struct spool_setting *set = record(f, SPOOL_SETTING, sizeof *set);

	s->id = 1;
	s->bytes = 5;
	memcpy(s->text, "phase", 5);
	t->index = 1;
	memcpy(t->name, "worker", 6);
	h->index = pool->index = context->index = 1;
	h->handle = 0x100;
	pool->handle = 0x200;
	context->handle = 0x300;
	stack->id = 1;
	stack->frame[0] = 0x401001;
	stack->frame[1] = 0x402001 | SPOOL_LOOP;
	stack->frame[2] = SPOOL_PY | SPOOL_PY_ENTRY | 1ull << 32 | 2;
	d->total = 1 << 30;
	memcpy(d->name, "a GPU", 5);
	m->id = gone->id = 1;
	m->begin = 0x400000;
	m->end = 0x500000;
	m->path_bytes = 8;
	memcpy(m->path, "/bin/app", 8);
	gone->epoch = 9;
	p->id = 1;
	p->version = 0x030b;
	p->first_line = 3;
	p->table_bytes = p->file_bytes = p->name_bytes = 4;
	memcpy(p->bytes, "a.pymain\x80\x01\x80\x01", 12);
	set->what = 4;
	set->value = 1 << 20;
}

static struct spool_event *event(struct file *f, enum spool_kind kind, size_t bytes, uint8_t op, uint64_t t, uint64_t addr,
				 uint64_t size)
{
	struct spool_event *ev = record(f, kind, bytes);

	ev->w.op = op;
	ev->w.stream = 1;
	ev->t_ns = 1000 + t;
	ev->addr = addr;
	ev->size = size;
	ev->stack = ev->pool = ev->context = 1;
	return ev;
}

static void make_events(struct file *f)
{
	struct spool_owner *o = record(f, SPOOL_OWNER, sizeof *o);
	struct spool_phase *p = record(f, SPOOL_PHASE, sizeof *p);
	struct spool_snapshot *s = record(f, SPOOL_SNAPSHOT, sizeof *s);
	struct spool_fail *fail;

	o->thread = 1;
	p->w.op = SPOOL_PUSH;
	p->name = 1;
	p->t_ns = s->t_ns = 1010;
	event(f, SPOOL_EVENT, sizeof(struct spool_event), GMS_OP(GMS_K_CONTEXT, GMS_A_ALLOC), 16, 0x300, 0);
	event(f, SPOOL_EVENT, sizeof(struct spool_event), GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC), 20, 0x1000, 512);
	event(f, SPOOL_EVENT, sizeof(struct spool_event), GMS_OP(GMS_K_DEVICE, GMS_A_FREE), 30, 0x2000, 0);
	event(f, SPOOL_EVENT, sizeof(struct spool_event), GMS_OP(GMS_K_CONTEXT, GMS_A_FREE), 40, 0x300, 0);
	fail = (void *)event(f, SPOOL_FAIL, sizeof *fail, GMS_OP(GMS_K_DEVICE, GMS_A_FAIL), 50, 0, 1 << 30);
	fail->error = 2;
	fail->free = 7;
	fail->total = 9;
}

static void make_live(struct file *f)
{
	struct spool_slot *slot = (void *)event(f, SPOOL_EVENT, sizeof *slot, GMS_OP(GMS_K_DEVICE, GMS_A_ALLOC), 5, 0x2000, 256);

	slot->thread = 1;
}

static struct file *make_file(void)
{
	struct file *f = mem_zalloc(1, sizeof *f);
	struct spool_header *h = (void *)f->data;

	memcpy(h->magic, SPOOL_MAGIC, sizeof h->magic);
	h->version = SPOOL_VERSION;
	h->header_bytes = SPOOL_HEADER;
	h->chunk_bytes = CHUNK;
	h->state = SPOOL_EXITED;
	h->file_bytes = SIZE;
	h->pid = 42;
	h->start_ns = 1000;
	h->end_ns = 1100;
	h->window_ns = 1015;
	h->folded_events = 3;
	h->exe_bytes = 8;
	h->argv_bytes = 6;
	memcpy(h->exe, "/bin/app", 8);
	memcpy(h->argv, "app\0-v", 6);
	f->part[0] = (struct part){0, offsetof(struct spool_header, host)};
	begin_chunk(f, 0, SPOOL_TABLES);
	make_tables(f);
	f->part[1].to = f->at;
	begin_chunk(f, 1, SPOOL_EVENTS);
	make_events(f);
	f->part[2].to = f->at;
	begin_chunk(f, 2, SPOOL_LIVE);
	make_live(f);
	f->part[3].to = f->at;
	return f;
}

/* Reads n bytes, which lie in memory of just that size; then the model must be sound. Returns its events, -1 if refused. */
static int64_t read_bytes(const unsigned char *data, size_t n)
{
	unsigned char *copy = mem_alloc(n ? n : 1);
	struct input in = {.name = "spool", .data = copy, .n = n, .raw_n = n};
	struct err e = {0};
	struct model m;
	int64_t events = -1;
	size_t row;

	memcpy(copy, data, n);
	model_init(&m, "spool");
	if (spool_format_read(&in, &m, &e)) {
		assert_int_not_equal(strlen(e.msg), 0);
	} else {
		model_link(&m);
		events = (int64_t)m.ev.n;
		assert_true(events <= (int64_t)(n / sizeof(struct spool_event)) + 8);
		for (row = 0; row < m.ev.n; row++)
			assert_true(m.ev.stack[row] < m.stacks.n && m.ev.thread[row] < m.n_threads &&
				    m.ev.stream[row] < m.n_streams && m.ev.pool[row] < m.n_pools);
	}
	model_free(&m);
	free(copy);
	return events;
}

static void a_whole_file_is_understood(void **state)
{
	struct file *f = make_file();
	struct input in = {.name = "spool", .data = f->data, .n = SIZE, .raw_n = SIZE};
	struct err e = {0};
	struct model m;

	(void)state;
	model_init(&m, "spool");
	assert_int_equal(spool_format_read(&in, &m, &e), 0);
	model_link(&m);
	assert_int_equal(m.n_initial, 1); /* the live slot */
	/* … the context, the allocation, the free of what was live, an end by the context, the context's end, the failure */
	assert_int_equal(m.ev.n, 7);
	assert_int_equal(m.anomalies.free_unknown + m.anomalies.double_free, 0);
	assert_int_equal(m.n_phases, 1);
	assert_string_equal(model_text(&m, m.device[0].name), "a GPU");
	assert_int_equal(m.dropped_events, 3);
	assert_true(m.complete);
	model_free(&m);
	free(f);
}

static void a_cut_file_is_read_up_to_the_cut(void **state)
{
	struct file *f = make_file();
	int64_t last = -1, events;
	size_t n, i;

	(void)state;
	for (n = 0; n < SIZE; n++) {
		bool means = n % 509 == 0;

		for (i = 0; i < 1 + CHUNKS; i++)
			means |= n >= f->part[i].from && n < f->part[i].to + 8;
		if (!means)
			continue;
		events = read_bytes(f->data, n);
		assert_true(events >= last);
		last = events;
	}
	free(f);
}

static void flipped_bits_do_no_harm(void **state)
{
	struct file *f = make_file();
	size_t i, at;
	int bit;

	(void)state;
	for (i = 0; i < 1 + CHUNKS; i++)
		for (at = f->part[i].from; at < f->part[i].to; at += STEP)
			for (bit = 0; bit < 8; bit++) {
				f->data[at] ^= (unsigned char)(1 << bit);
				read_bytes(f->data, SIZE);
				f->data[at] ^= (unsigned char)(1 << bit);
			}
	free(f);
}

static void huge_numbers_cost_no_memory(void **state)
{
	static const uint64_t huge[] = {UINT64_MAX, INT64_MAX, UINT32_MAX, INT32_MAX, 0xffff, 0x7fff};
	struct file *f = make_file();
	struct rusage before, after;
	size_t i, k, at, bytes;

	(void)state;
	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < 1 + CHUNKS; i++)
		for (at = f->part[i].from; at < f->part[i].to; at += 2 * STEP)
			for (k = 0; k < sizeof huge / sizeof *huge; k++)
				for (bytes = 2; bytes <= 8; bytes *= 2) {
					unsigned char kept[8];

					memcpy(kept, f->data + at, 8);
					memcpy(f->data + at, &huge[k], bytes);
					read_bytes(f->data, SIZE);
					memcpy(f->data + at, kept, 8);
				}
	getrusage(RUSAGE_SELF, &after);
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory for a while */
	assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
#endif
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_is_understood),
		cmocka_unit_test(a_cut_file_is_read_up_to_the_cut),
		cmocka_unit_test(flipped_bits_do_no_harm),
		cmocka_unit_test(huge_numbers_cost_no_memory),
	};

	return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
