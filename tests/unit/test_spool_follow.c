/* test_spool_follow.c: a spool that is written and read in turns. */
#include "format/spool.h"
#include "wire/spool.h"
#include "models.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNK  SPOOL_CHUNK_MIN
#define CHUNKS 6

/* A spool of a process with two threads, each with chunks of its own. */
struct writer {
	char path[64];
	int fd;
	struct spool_header h;
	size_t next_chunk;
	struct lane {
		size_t at, end;
	} lane[2], table;
};

static void store(struct writer *w, size_t at, const void *p, size_t n)
{
	ssize_t put = pwrite(w->fd, p, n, (off_t)at);

	assert_int_equal(put, (ssize_t)n);
}

static void store_header(struct writer *w)
{
	store(w, 0, (const char *)w + offsetof(struct writer, h), sizeof w->h);
}

static void begin(struct writer *w, uint64_t max_bytes)
{
	*w = (struct writer){.path = "/tmp/gpumemsnap-follow-XXXXXX", .next_chunk = SPOOL_HEADER};
	w->fd = mkstemp(w->path);
	assert_true(w->fd >= 0);
	memcpy(w->h.magic, SPOOL_MAGIC, sizeof w->h.magic);
	w->h.version = SPOOL_VERSION;
	w->h.header_bytes = SPOOL_HEADER;
	w->h.chunk_bytes = CHUNK;
	w->h.pid = 1;
	w->h.start_ns = 1000;
	w->h.max_bytes = max_bytes;
	w->h.file_bytes = SPOOL_HEADER + 2 * CHUNK; /* grows by two chunks at a time */
	assert_int_equal(ftruncate(w->fd, (off_t)w->h.file_bytes), 0);
	store_header(w);
}

static void end(struct writer *w)
{
	close(w->fd);
	unlink(w->path);
}

static size_t room(struct writer *w, struct lane *l, enum spool_chunk_type type, size_t bytes)
{
	struct spool_chunk c = {.type = type};

	if (l->end - l->at < bytes) {
		if (w->next_chunk == w->h.file_bytes) {
			w->h.file_bytes += 2 * CHUNK;
			assert_int_equal(ftruncate(w->fd, (off_t)w->h.file_bytes), 0);
			store_header(w);
		}
		store(w, w->next_chunk, &c, sizeof c);
		*l = (struct lane){w->next_chunk + sizeof c, w->next_chunk + CHUNK};
		w->next_chunk += CHUNK;
	}
	l->at += bytes;
	return l->at - bytes;
}

static void put_event_at(struct writer *w, int thread, uint64_t t, enum gms_action action, uint64_t addr, uint64_t size,
			 uint32_t stack)
{
	struct spool_event ev = {.w = {.kind = SPOOL_EVENT, .op = GMS_OP(GMS_K_DEVICE, action), .words = sizeof ev / 8},
				 .t_ns = t,
				 .addr = addr,
				 .size = size,
				 .stack = stack};

	store(w, room(w, &w->lane[thread], SPOOL_EVENTS, sizeof ev), &ev, sizeof ev);
}

static void put_stack(struct writer *w, uint32_t id)
{
	uint64_t r[sizeof(struct spool_stack) / 8 + 1] = {0};
	struct spool_stack s = {.w = {.kind = SPOOL_STACK, .words = sizeof r / 8}, .id = id};

	memcpy(r, &s, sizeof s);
	r[sizeof s / 8] = 0x4000 + id; /* its frame */
	store(w, room(w, &w->table, SPOOL_TABLES, sizeof r), &r, sizeof r);
}

static struct spool_follow *follow(const struct writer *w, struct err *e)
{
	return spool_follow_open(w->path, &(struct spool_options){0}, e);
}

static void pieces_are_the_whole(void **state)
{
	struct writer w;
	struct err e = {0};
	struct spool_follow *f;
	struct model whole;
	const struct model *m;
	size_t i;
	long n;

	(void)state;
	begin(&w, 0);
	put_stack(&w, 1);
	f = follow(&w, &e);
	assert_non_null(f);
	assert_int_equal(spool_follow_read(f, UINT64_MAX, 100), 0);
	for (i = 0; i < 1500; i++) { /* more than a chunk of each thread */
		if (i % 100 == 7)
			put_stack(&w, (uint32_t)(2 + i / 100));
		put_event_at(&w, i % 3 == 0, 2000 + i, GMS_A_ALLOC, 0x1000 * (i + 1), i + 1,
			     (uint32_t)(i < 7 ? 1 : 2 + (i - 7) / 100));
		if (i % 250 == 249)
			while ((n = spool_follow_read(f, UINT64_MAX, 60)) > 0)
				assert_true(n <= 60);
	}
	m = spool_follow_model(f);
	assert_int_equal(m->ev.n, 1500);
	assert_int_equal(spool_read(&whole, w.path, NULL, NULL, &e), 0);
	assert_int_equal(whole.ev.n, 1500);
	assert_int_equal(m->duration_ns, whole.duration_ns);
	for (i = 0; i < 1500; i++) {
		size_t frames;

		assert_int_equal(m->ev.t_ns[i], whole.ev.t_ns[i]);
		assert_int_equal(m->ev.addr[i], whole.ev.addr[i]);
		assert_int_equal(m->ev.size[i], i + 1);
		assert_string_equal(
		    model_text(m, m->frames.v[*model_stack_frames(m, m->ev.stack[i], &frames)].function),
		    model_text(&whole, whole.frames.v[*model_stack_frames(&whole, whole.ev.stack[i], &frames)].function));
	}
	model_free(&whole);
	spool_follow_close(f);
	end(&w);
}

static void reading_stops_at_the_time_given(void **state)
{
	struct writer w;
	struct err e = {0};
	struct spool_follow *f;
	size_t i;

	(void)state;
	begin(&w, 0);
	for (i = 0; i < 10; i++)
		put_event_at(&w, i % 2, 2000 + i, GMS_A_ALLOC, 0x1000 * (i + 1), 1, 0);
	f = follow(&w, &e);
	assert_int_equal(spool_follow_read(f, 2004, 100), 5);
	assert_int_equal(spool_follow_read(f, 2004, 100), 0);
	assert_int_equal(spool_follow_read(f, 3000, 100), 5);
	spool_follow_close(f);
	end(&w);
}

static void an_event_from_before_is_noticed(void **state)
{
	struct writer w;
	struct err e = {0};
	struct spool_follow *f;

	(void)state;
	begin(&w, 0);
	put_event_at(&w, 0, 2000, GMS_A_ALLOC, 0x1000, 1, 0);
	f = follow(&w, &e);
	assert_int_equal(spool_follow_read(f, 3000, 100), 1);
	put_event_at(&w, 1, 2000, GMS_A_ALLOC, 0x2000, 1, 0); /* at the same time: in order */
	assert_int_equal(spool_follow_read(f, 3000, 100), 1);
	put_event_at(&w, 1, 1999, GMS_A_FREE, 0x1000, 0, 0);
	assert_int_equal(spool_follow_read(f, 3000, 100), -1);
	spool_follow_close(f);
	end(&w);
}

static void a_flight_recorder_is_not_followed(void **state)
{
	struct writer w;
	struct err e = {0};

	(void)state;
	begin(&w, 1 << 20);
	assert_null(follow(&w, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_the_whole),
		cmocka_unit_test(reading_stops_at_the_time_given),
		cmocka_unit_test(an_event_from_before_is_noticed),
		cmocka_unit_test(a_flight_recorder_is_not_followed),
	};

	return cmocka_run_group_tests_name("spool_follow", tests, NULL, NULL);
}
