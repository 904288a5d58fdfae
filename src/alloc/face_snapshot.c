/* face_snapshot.c: the present state as a snapshot (gpumemsnap-snapshot(5)): segments and blocks, and as
 * "initial" rows what lives; nothing has happened yet.
 *
 * Written to a temporary name beside its place and renamed, so that no reader sees half of it.
 */
#include "alloc/face.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct writer {
	int fd;
	int failed; /* errno of the write that did not succeed */
	size_t n;
	char buf[1 << 14];
};

static void flush(struct writer *w)
{
	size_t done = 0;
	ssize_t r;

	while (done < w->n && !w->failed) {
		r = write(w->fd, w->buf + done, w->n - done);
		if (r < 0 && errno != EINTR)
			w->failed = errno;
		done += r > 0 ? (size_t)r : 0;
	}
	w->n = 0;
}

static void put(struct writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct writer *w, const char *fmt, ...)
{
	va_list ap;

	if (sizeof w->buf - w->n < 1024)
		flush(w);
	va_start(ap, fmt);
	w->n += (size_t)vsnprintf(w->buf + w->n, sizeof w->buf - w->n, fmt, ap);
	va_end(ap);
}

/* Streams and pools get numbers in the order in which segments show them; 0 is the default one. */
struct numbers {
	uint64_t v[1024];
	size_t n;
};

static size_t number_of(struct numbers *t, uint64_t v)
{
	size_t i;

	for (i = 0; i < t->n && t->v[i] != v; i++)
		;
	if (i == t->n && t->n < sizeof t->v / sizeof *t->v)
		t->v[t->n++] = v;
	return i < t->n ? i : 0;
}

/* A pool is told apart by its id and by small or large. */
static uint64_t pool_key(const struct gma_segment *s)
{
	struct gma_pool *p = gma_segment_pool(s);
	uint64_t id[2] = {0, 0};

	if (p)
		gma_core_pool_id(p, id);
	return id[1] << 2 | (gma_segment_small(s) ? 1 : 2);
}

static void put_tables(struct writer *w, const struct gma *g, struct numbers *streams, struct numbers *pools)
{
	const struct gma_segment *s;
	size_t i;

	streams->v[streams->n++] = 0;
	pools->v[pools->n++] = 0;
	for (s = gma_core_segments(g->core); s; s = s->next) {
		number_of(streams, gma_segment_stream(s));
		number_of(pools, pool_key(s));
	}
	put(w, ",\n\"streams\":[\n");
	for (i = 0; i < streams->n; i++)
		put(w, "%s[%llu,%d]", i ? ",\n" : "", (unsigned long long)streams->v[i], g->device < 0 ? 0 : g->device);
	put(w, "],\n\"pools\":[\n");
	for (i = 0; i < pools->n; i++)
		put(w, "%s[0,0,%llu,%d,%llu]", i ? ",\n" : "", (unsigned long long)(pools->v[i] >> 2),
		    g->device < 0 ? 0 : g->device, (unsigned long long)(pools->v[i] & 3));
	put(w, "]");
}

/* The next run of blocks without unmapped space between them, from b on; NULL at the end. */
static const struct gma_block *next_run(const struct gma_block *b)
{
	while (b && b->state == GMA_UNMAPPED)
		b = b->next;
	return b;
}

static void put_blocks(struct writer *w, const struct gma *g)
{
	static const int state[] = {[GMA_FREE] = 0, [GMA_LIVE] = 1, [GMA_PENDING] = 2};
	const struct gma_segment *s;
	const struct gma_block *b;
	bool first = true;

	put(w, ",\n\"blocks\":[");
	for (s = gma_core_segments(g->core); s; s = s->next)
		for (b = next_run(s->first); b; b = next_run(b->next), first = false)
			put(w, "%s[%llu,%llu,%llu,0,%d]", first ? "\n" : ",\n", (unsigned long long)b->addr,
			    (unsigned long long)b->size, (unsigned long long)b->requested, state[b->state]);
	put(w, "]");
}

static void put_segments(struct writer *w, const struct gma *g, struct numbers *streams, struct numbers *pools)
{
	const struct gma_segment *s;
	const struct gma_block *b, *from;
	uint64_t size, requested, n, at = 0;
	bool first = true;

	put(w, ",\n\"segments\":[");
	for (s = gma_core_segments(g->core); s; s = s->next) {
		for (from = next_run(s->first); from; from = next_run(b), first = false) {
			size = requested = n = 0;
			for (b = from; b && b->state != GMA_UNMAPPED; b = b->next, n++) {
				size += b->size;
				requested += b->state == GMA_FREE ? 0 : b->requested;
			}
			put(w, "%s[%llu,%llu,%llu,0,%zu,%zu,%d,%d,%d,%llu,%llu]", first ? "\n" : ",\n",
			    (unsigned long long)from->addr, (unsigned long long)size, (unsigned long long)requested,
			    number_of(streams, gma_segment_stream(s)), number_of(pools, pool_key(s)),
			    g->device < 0 ? 0 : g->device, gma_segment_small(s) ? 1 : 2, s->expandable,
			    (unsigned long long)at, (unsigned long long)n);
			at += n;
		}
	}
	put(w, "]");
}

/* One initial row; ops are numbered as write_state lists them. */
static void put_row(struct writer *w, const struct gma *g, bool *first, int op, uint64_t addr, uint64_t size,
		    size_t stream, size_t pool, uint64_t block)
{
	put(w, "%s[0,%d,%d,%llu,%llu,%zu,0,0,%zu,", *first ? "" : ",\n", op, g->device < 0 ? 0 : g->device,
	    (unsigned long long)addr, (unsigned long long)size, stream, pool);
	if (block)
		put(w, "%llu]", (unsigned long long)block);
	else
		put(w, "null]");
	*first = false;
}

static uint64_t run_size(const struct gma_block *b)
{
	uint64_t size = 0;

	for (; b && b->state != GMA_UNMAPPED; b = b->next)
		size += b->size;
	return size;
}

static void put_initial(struct writer *w, const struct gma *g, struct numbers *streams, struct numbers *pools)
{
	const struct gma_segment *s;
	const struct gma_block *b;
	bool first = true;

	for (s = gma_core_segments(g->core); s; s = s->next) {
		size_t stream = number_of(streams, gma_segment_stream(s)), pool = number_of(pools, pool_key(s));

		for (b = s->first; b; b = b->next) {
			if (b->state != GMA_UNMAPPED && (!b->prev || b->prev->state == GMA_UNMAPPED))
				put_row(w, g, &first, 1, b->addr, run_size(b), stream, pool, 0);
			if (b->state == GMA_LIVE || b->state == GMA_PENDING)
				put_row(w, g, &first, 0, b->addr, b->requested, stream, pool, b->size);
		}
	}
}

static uint64_t count_initial(const struct gma *g)
{
	const struct gma_segment *s;
	const struct gma_block *b;
	uint64_t n = 0;

	for (s = gma_core_segments(g->core); s; s = s->next)
		for (b = s->first; b; b = b->next)
			n += (uint64_t)(b->state == GMA_LIVE || b->state == GMA_PENDING) +
			     (b->state != GMA_UNMAPPED && (!b->prev || b->prev->state == GMA_UNMAPPED));
	return n;
}

/* JSON's escapes; a configuration has no others. */
static void put_escaped(struct writer *w, const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= ' ')
			put(w, "%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
}

static void write_state(struct writer *w, struct gma *g)
{
	struct numbers streams = {.n = 0}, pools = {.n = 0};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	put(w, "{\"format\":\"gpumemsnap\",\"version\":1,\n\"meta\":{\"source\":\"gpumemsnap\",\"pid\":%d,"
	       "\"start_wall_ns\":%lld,\"has_time\":true,\"complete\":true,\"history\":\"none\"}",
	    (int)getpid(), (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	put(w, ",\n\"table_fields\":{\"streams\":[\"handle\",\"device\"],"
	       "\"pools\":[\"handle\",\"id0\",\"id1\",\"device\",\"size_class\"],"
	       "\"blocks\":[\"addr\",\"size\",\"requested\",\"stack\",\"state\"],"
	       "\"segments\":[\"addr\",\"size\",\"requested\",\"stack\",\"stream\",\"pool\",\"device\","
	       "\"size_class\",\"expandable\",\"first_block\",\"blocks\"]}");
	put(w, ",\n\"settings\":[[\"PYTORCH_CUDA_ALLOC_CONF\",\"");
	put_escaped(w, g->conf);
	put(w, "\"]],\n\"strings\":[\n\"\"],\n\"frames\":[\n[0,0,0,0]],\n\"stacks\":[\n[]]");
	put_tables(w, g, &streams, &pools);
	put_blocks(w, g);
	put_segments(w, g, &streams, &pools);
	put(w, ",\n\"event_fields\":[\"t_ns\",\"op\",\"device\",\"addr\",\"size\",\"stream\",\"stack\",\"thread\",\"pool\",\"block\"],"
	       "\"ops\":[\"block.alloc\",\"segment.alloc\"],\n\"initial\":%llu,\n\"events\":[\n",
	    (unsigned long long)count_initial(g));
	put_initial(w, g, &streams, &pools);
	put(w, "]}\n");
	flush(w);
}

/* A new file beside `path`; what a process left that died while it wrote is in nobody's way. */
static int open_beside(const char *path, char *name, size_t size)
{
	static atomic_uint number;
	int fd, tries;

	for (tries = 0; tries < 100; tries++) {
		if ((size_t)snprintf(name, size, "%s.%d.%u.tmp", path, (int)getpid(), atomic_fetch_add(&number, 1)) >= size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

GMA_EXPORT int gma_snapshot(struct gma *g, const char *path)
{
	char temporary[4096];
	struct writer w = {.fd = open_beside(path, temporary, sizeof temporary)};

	if (w.fd < 0)
		return gma_fail(GMA_INVALID_VALUE, "cannot write %s: %s", path, strerror(errno));
	gma_lock_take(&g->lock);
	write_state(&w, g);
	gma_lock_let_go(&g->lock);
	if (close(w.fd) || w.failed || rename(temporary, path)) {
		gma_fail(GMA_INVALID_VALUE, "cannot write %s: %s", path, strerror(w.failed ? w.failed : errno));
		unlink(temporary);
		return GMA_INVALID_VALUE;
	}
	return GMA_OK;
}
