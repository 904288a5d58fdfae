/* spool_live.c: a spool as of one moment, while its process goes on writing.
 *
 * Every event is stamped before it is stored, and what ends an allocation is stamped after that allocation was
 * stored. So the events stamped up to a moment T, read after T, are consistent: of no free is the allocation
 * missing. A file that only grows is mapped and read as it is. A flight recorder uses its room again: it is
 * asked not to for a moment and copied, until nothing was dropped meanwhile.
 */
#include "base/mem.h"
#include "format/spool_reader.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 200 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_briefly(void)
{
	struct timespec t = {0, 1000000};

	nanosleep(&t, NULL);
}

/* --- a flight recorder ---------------------------------------------------------------------------------- */
struct copy {
	int fd; /* writable if the recorder can be asked to hold */
	const unsigned char *map;
	unsigned char *data;
	size_t n;
};

static void set_hold(const struct copy *c, uint64_t until)
{
	ssize_t put = pwrite(c->fd, &until, sizeof until, offsetof(struct spool_header, hold_until_ns));

	(void)put; /* then it does not hold: the copy may be torn, which is noticed */
}

static const struct spool_header *header(const struct copy *c)
{
	return (const struct spool_header *)(const void *)c->map;
}

/* Word by word and upwards: a record whose first word is there is whole. */
static void copy_words(const struct copy *c, size_t at, size_t bytes)
{
	const uint64_t *from = (const void *)(c->map + at);
	uint64_t *to = (void *)(c->data + at);
	size_t i;

	for (i = 0; i < bytes / sizeof *to; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

/* Events first, then what they refer to. False if events were dropped meanwhile. */
static bool copy_once(const struct copy *c, uint64_t *moment)
{
	uint64_t folded = __atomic_load_n(&header(c)->folded_events, __ATOMIC_ACQUIRE);
	uint64_t window = __atomic_load_n(&header(c)->window_ns, __ATOMIC_ACQUIRE);
	size_t chunk = header(c)->chunk_bytes, at;

	*moment = now_ns();
	copy_words(c, 0, c->n);
	for (at = SPOOL_HEADER; at + chunk <= c->n; at += chunk)
		if (__atomic_load_n((const uint32_t *)(const void *)(c->map + at), __ATOMIC_ACQUIRE) == SPOOL_TABLES)
			copy_words(c, at, chunk);
	return folded == __atomic_load_n(&header(c)->folded_events, __ATOMIC_ACQUIRE) &&
	       window == __atomic_load_n(&header(c)->window_ns, __ATOMIC_ACQUIRE) &&
	       header(c)->file_bytes <= c->n;
}

static bool map_again(struct copy *c)
{
	struct stat st;
	void *p;

	if (fstat(c->fd, &st) || (size_t)st.st_size < sizeof(struct spool_header))
		return false;
	if (c->map && (size_t)st.st_size == c->n)
		return true;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, c->fd, 0);
	if (p == MAP_FAILED)
		return false;
	if (c->map)
		munmap((void *)c->map, c->n);
	c->map = p;
	c->n = (size_t)st.st_size / 8 * 8;
	c->data = mem_resize(c->data, c->n, 1);
	return true;
}

static int copy_flight(struct input *in, struct copy *c, struct spool_moment *moment, struct err *e)
{
	uint64_t t = 0;
	int i;

	moment->torn = true;
	for (i = 0; i < TRIES && moment->torn; i++) {
		set_hold(c, now_ns() + SPOOL_HOLD_MAX_NS / 2);
		if (!map_again(c))
			break;
		moment->torn = !copy_once(c, &t);
		set_hold(c, 0);
		if (moment->torn)
			pause_briefly(); /* it gets room again */
	}
	if (!t)
		return err_sys(e, in->name, "cannot read");
	moment->t_ns = (int64_t)(t - header(c)->start_ns);
	in->data = c->data;
	in->n = in->raw_n = c->n;
	c->data = NULL;
	return 0;
}

static int open_flight(struct input *in, const char *path, struct spool_moment *moment, struct err *e)
{
	struct copy c = {.fd = open(path, O_RDWR | O_CLOEXEC)};
	int rc;

	*in = (struct input){.name = path};
	if (c.fd < 0)
		c.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (c.fd < 0)
		return err_sys(e, path, "open");
	rc = copy_flight(in, &c, moment, e);
	if (c.map)
		munmap((void *)c.map, c.n);
	free(c.data);
	close(c.fd);
	return rc;
}

/* --- any spool -------------------------------------------------------------------------------------------- */
/* The header of a spool whose process still runs. */
static bool running(const char *path, struct spool_header *h)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && pread(fd, h, sizeof *h, 0) == (ssize_t)sizeof *h && !memcmp(h->magic, SPOOL_MAGIC, sizeof h->magic) &&
		  h->state == SPOOL_RUNNING && h->pid > 0 && (!kill(h->pid, 0) || errno != ESRCH) &&
		  h->chunk_bytes >= SPOOL_CHUNK_MIN && now_ns() > h->start_ns;

	if (fd >= 0)
		close(fd);
	return is;
}

int spool_live_open(struct input *in, const char *path, struct spool_moment *moment, struct err *e)
{
	struct spool_header h;

	*moment = (struct spool_moment){0};
	if (!running(path, &h))
		return input_open(in, path, e);
	if (h.max_bytes)
		return open_flight(in, path, moment, e);
	moment->t_ns = (int64_t)(now_ns() - h.start_ns);
	pause_briefly(); /* what events up to then refer to is in the file when that is opened */
	return input_open_live(in, path, e);
}
