/* spool_follow.c: a spool read piece by piece while its process runs. See format/spool.h.
 *
 * Every chunk that may still get events keeps its place in r.runs; a full one that is read up leaves
 * the list. The order of steps is that of any reader: note how far events go, then read tables, then
 * take the events.
 */
#include "base/mem.h"
#include "format/spool_reader.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct spool_follow {
	struct spool_reader r;
	struct model m;
	struct spool_options o;
	int fd;
	size_t mapped;
	size_t known; /* chunks before this offset are in the reader's lists */
	bool more;    /* the last reading ended because it had read enough */
};

/* Map what the file has become; the old mapping stays if that fails. */
static bool map_all(struct spool_follow *f)
{
	struct stat st;
	void *p;

	if (fstat(f->fd, &st) || st.st_size < SPOOL_HEADER)
		return false;
	if ((size_t)st.st_size <= f->mapped)
		return true;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return false;
	if (f->mapped)
		munmap((void *)f->r.data, f->mapped);
	f->r.data = p;
	f->mapped = (size_t)st.st_size;
	return true;
}

static int read_header(struct spool_follow *f, struct err *e)
{
	memcpy(&f->r.h, f->r.data, sizeof f->r.h);
	if (spool_check_header(&f->r.h, f->r.name, e))
		return -1;
	f->r.n = f->r.h.file_bytes < f->mapped ? f->r.h.file_bytes : f->mapped;
	return 0;
}

struct spool_follow *spool_follow_open(const char *path, const struct spool_options *o, struct err *e)
{
	struct spool_follow *f = mem_zalloc(1, sizeof *f);

	model_init(&f->m, NULL);
	f->o = *o;
	f->known = SPOOL_HEADER;
	f->r.m = &f->m;
	f->r.o = &f->o;
	f->r.name = path;
	f->r.tracks = f->r.no_phases = true;
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		err_sys(e, path, "open");
	else if (!map_all(f))
		err_set(e, ERR_INPUT, path, -1, "cannot be mapped, or is too short for a spool");
	else if (!read_header(f, e) && f->r.h.max_bytes)
		err_set(e, ERR_INPUT, path, -1, "is of a flight recorder, which cannot be followed");
	if (e->kind != ERR_NONE) {
		spool_follow_close(f);
		return NULL;
	}
	spool_tell_header(&f->r);
	return f;
}

/* Chunks come into use one after the other. */
static void find_more(struct spool_follow *f)
{
	struct spool_reader *r = &f->r;
	size_t i, n = 0;

	while (f->known + r->h.chunk_bytes <= r->n && spool_add_chunk(r, f->known))
		f->known += r->h.chunk_bytes;
	for (i = 0; i < r->n_runs; i++) {
		r->runs[i].end = spool_run_end(r, r->runs[i].end, r->runs[i].limit);
		if (r->runs[i].at < r->runs[i].end || r->runs[i].limit - r->runs[i].end >= sizeof(struct spool_event))
			r->runs[n++] = r->runs[i];
	}
	r->n_runs = n;
}

/* See what has come; false if there is something from before what was read. */
static bool look(struct spool_follow *f)
{
	struct spool_reader *r = &f->r;
	struct err e = {0};

	if (!map_all(f) || read_header(f, &e))
		return true;
	find_more(f);
	spool_tables_read(r);
	spool_events_sort(r);
	return !r->n_ready || r->runs[0].next_ns >= r->last_ns;
}

long spool_follow_read(struct spool_follow *f, uint64_t until_ns, size_t most)
{
	struct spool_reader *r = &f->r;
	size_t taken;

	if (!f->more && !look(f))
		return -1;
	r->until_ns = until_ns;
	taken = spool_events_take(r, most);
	f->more = taken == most;
	if (taken) {
		spool_events_blocks(r);
		f->m.dropped_events = r->h.dropped;
		f->m.duration_ns = (int64_t)(r->last_ns - r->h.start_ns);
	}
	madvise((void *)r->data, f->mapped, MADV_DONTNEED); /* it is the file's memory, not ours */
	return (long)taken;
}

struct model *spool_follow_model(struct spool_follow *f)
{
	return &f->m;
}

void spool_follow_folded(struct spool_follow *f)
{
	spool_events_prune(&f->r);
}

uint64_t spool_follow_start_ns(const struct spool_follow *f)
{
	return f->r.h.start_ns;
}

void spool_follow_close(struct spool_follow *f)
{
	spool_close(&f->r);
	model_free(&f->m);
	if (f->mapped)
		munmap((void *)f->r.data, f->mapped);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}
