/* input.c: files, pipes and gzip as one range of bytes. */
#include "base/input.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* A large file is mapped, so that all of it can be reached at any time. But a reader goes through it
 * from front to back, and mapping costs by the page (on a virtual machine much more than reading), so
 * the stretch around its place is laid over with memory in large pages, and the file read into it. */
#define LARGE_FILE (8u << 20) /* smaller ones are just read */
#define CHUNK	   (2u << 20) /* a large page */
#define GZIP_LAYERS 3 /* a file may have been compressed again on its way; some hold themselves, without end */

struct input_window {
	int fd;		    /* -1: no window, just a mapping */
	unsigned char *map; /* what was mapped: the file in whole chunks, and one more, so that data is aligned */
	size_t map_bytes;
	size_t from, to; /* these bytes of the file are in memory of our own; multiples of CHUNK */
};

static int read_all(int fd, struct input *in, struct err *e)
{
	unsigned char *buf = NULL;
	size_t cap = 0;
	ssize_t got;

	for (in->n = 0;; in->n += (size_t)got) {
		if (cap - in->n < 65536)
			buf = mem_resize(buf, cap = cap * 2 + 65536 * 2, 1);
		do
			got = read(fd, buf + in->n, cap - in->n);
		while (got < 0 && errno == EINTR);
		if (got <= 0)
			break;
	}
	in->data = buf;
	return got < 0 ? err_sys(e, in->name, "read") : 0;
}

static size_t chunk_bytes(const struct input *in, size_t at)
{
	return in->n - at < CHUNK ? in->n - at : CHUNK;
}

/* Put the file itself (back) where these bytes are. */
static bool lay_file(const struct input *in, size_t at)
{
	return mmap((void *)(in->data + at), chunk_bytes(in, at), PROT_READ, MAP_PRIVATE | MAP_FIXED, in->window->fd,
		    (off_t)at) != MAP_FAILED;
}

/* Memory for the bytes at `at`: that of a chunk that is done with, if there is one, else new. */
static bool lay_memory(const struct input *in, size_t at, bool reuse, size_t used)
{
	void *p = (void *)(in->data + at), *old = (void *)(in->data + used);

	if (reuse)
		return mremap(old, CHUNK, CHUNK, MREMAP_MAYMOVE | MREMAP_FIXED, p) != MAP_FAILED && lay_file(in, used);
	if (mmap(p, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	madvise(p, CHUNK, MADV_HUGEPAGE);
	return true;
}

static void read_chunk(const struct input *in, size_t at)
{
	size_t n = chunk_bytes(in, at), done = 0;
	ssize_t got = 1;

	for (; done < n && got > 0; done += got > 0 ? (size_t)got : 0)
		got = pread(in->window->fd, (void *)(in->data + at + done), n - done, (off_t)(at + done));
	if (done < n)
		lay_file(in, at);
}

void input_done_until(const struct input *in, size_t upto)
{
	struct input_window *w = in->window;

	if (!w || w->fd < 0)
		return;
	if (upto > w->to) { /* the reader skipped something */
		for (; w->from < w->to; w->from += CHUNK)
			lay_file(in, w->from);
		w->from = w->to = upto & ~(size_t)(CHUNK - 1);
	}
	for (; w->to < in->n && w->to < upto + CHUNK; w->to += CHUNK) {
		bool reuse = w->from < w->to && w->from + CHUNK <= upto;

		if (!lay_memory(in, w->to, reuse, w->from))
			return;
		w->from += reuse ? CHUNK : 0;
		read_chunk(in, w->to);
	}
}

static int map_file(int fd, size_t n, struct input *in, struct err *e)
{
	size_t room = (n + 2 * CHUNK - 1) & ~(size_t)(CHUNK - 1);
	unsigned char *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;

	if (p == MAP_FAILED)
		return err_sys(e, in->name, "mmap");
	at = (unsigned char *)(((uintptr_t)p + CHUNK - 1) & ~(uintptr_t)(CHUNK - 1));
	if (mmap(at, n, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
		munmap(p, room);
		return err_sys(e, in->name, "mmap");
	}
	in->window = mem_zalloc(1, sizeof *in->window);
	in->window->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	in->window->map = p;
	in->window->map_bytes = room;
	in->data = at;
	in->n = n;
	input_done_until(in, 0);
	return 0;
}

static void release(struct input *in)
{
	if (in->window) {
		munmap(in->window->map, in->window->map_bytes);
		if (in->window->fd >= 0)
			close(in->window->fd);
		free(in->window);
	} else {
		free((void *)in->data);
	}
	in->window = NULL;
	in->data = NULL;
}

/* Replace a gzip (one or several members) by what it holds. A cut gzip keeps what could be read. */
static int gunzip(struct input *in, struct err *e)
{
	z_stream z = {0};
	unsigned char *out = NULL;
	size_t n = 0, cap = 0, fed = 0;
	int rc = Z_OK;

	if (inflateInit2(&z, 15 + 32) != Z_OK)
		return err_set(e, ERR_SYSTEM, in->name, -1, "zlib cannot start");
	for (;;) {
		if (!z.avail_in && fed < in->n) {
			z.next_in = (unsigned char *)in->data + fed;
			z.avail_in = in->n - fed > 1 << 30 ? 1 << 30 : (unsigned)(in->n - fed);
			fed += z.avail_in;
		}
		if (cap - n < 65536)
			out = mem_resize(out, cap = cap * 2 + (1 << 18), 1);
		z.next_out = out + n;
		z.avail_out = cap - n > 1 << 30 ? 1 << 30 : (unsigned)(cap - n);
		rc = inflate(&z, Z_NO_FLUSH);
		n = (size_t)(z.next_out - out);
		if (rc == Z_STREAM_END && (z.avail_in || fed < in->n) && inflateReset(&z) == Z_OK)
			continue;
		if (rc != Z_OK || (!z.avail_in && fed == in->n && z.avail_out))
			break;
	}
	fed -= z.avail_in;
	inflateEnd(&z);
	if (rc != Z_STREAM_END && n == 0) {
		free(out);
		return err_set(e, ERR_INPUT, in->name, (int64_t)fed, "%s",
		               rc == Z_OK || rc == Z_BUF_ERROR ? "the gzip data were cut short before anything can be read"
		                                               : "damaged gzip data");
	}
	release(in);
	in->data = out;
	in->n = n;
	in->gz = 1;
	in->cut |= rc != Z_STREAM_END;
	return 0;
}

int input_open(struct input *in, const char *path, struct err *e)
{
	int is_stdin = !strcmp(path, "-"), fd, rc, layer;
	struct stat st;

	*in = (struct input){.name = is_stdin ? "standard input" : path};
	fd = is_stdin ? 0 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, ERR_INPUT, path, -1, "cannot open: %s", strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(e, ERR_INPUT, path, -1, "is a directory, not a snapshot");
	}
	if (S_ISREG(st.st_mode) && st.st_size >= LARGE_FILE && lseek(fd, 0, SEEK_CUR) == 0)
		rc = map_file(fd, (size_t)st.st_size, in, e);
	else
		rc = read_all(fd, in, e);
	if (!is_stdin)
		close(fd);
	in->raw_n = in->n;
	for (layer = 0; layer < GZIP_LAYERS && !rc && in->n > 2 && in->data[0] == 0x1f && in->data[1] == 0x8b; layer++)
		rc = gunzip(in, e);
	if (rc)
		input_close(in);
	return rc;
}

int input_open_live(struct input *in, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	*in = (struct input){.name = path};
	if (fd < 0 || fstat(fd, &st)) {
		err_set(e, ERR_INPUT, path, -1, "cannot open: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (!S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return err_set(e, ERR_INPUT, path, -1, S_ISREG(st.st_mode) ? "is empty" : "is no regular file");
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return err_sys(e, path, "mmap");
	in->window = mem_zalloc(1, sizeof *in->window);
	*in->window = (struct input_window){.fd = -1, .map = p, .map_bytes = (size_t)st.st_size};
	in->data = p;
	in->n = in->raw_n = (size_t)st.st_size;
	return 0;
}

void input_close(struct input *in)
{
	if (in->data)
		release(in);
	in->n = 0;
}

/* A pipe would lose what is read, and whoever writes to it its reader. */
static bool can_be_read_twice(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

size_t input_peek(const char *path, void *buf, size_t n)
{
	gzFile f = can_be_read_twice(path) ? gzopen(path, "rbe") : NULL; /* reads plain files as they are */
	int got = f ? gzread(f, buf, (unsigned)n) : 0;

	if (f)
		gzclose(f);
	return got > 0 ? (size_t)got : 0;
}
