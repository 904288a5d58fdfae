/* input.c: files, pipes and gzip as one range of bytes. */
#include "base/input.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

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

static int map_file(int fd, size_t n, struct input *in, struct err *e)
{
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		return err_sys(e, in->name, "mmap");
	madvise(p, n, MADV_SEQUENTIAL);
	in->data = p;
	in->n = n;
	in->mapped = 1;
	return 0;
}

static void release(struct input *in)
{
	if (in->mapped)
		munmap((void *)in->data, in->raw_n);
	else
		free((void *)in->data);
	in->mapped = 0;
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
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR && n == 0) {
		free(out);
		return err_set(e, ERR_INPUT, in->name, (int64_t)fed, "damaged gzip data");
	}
	release(in);
	in->data = out;
	in->n = n;
	in->gz = 1;
	return 0;
}

int input_open(struct input *in, const char *path, struct err *e)
{
	int is_stdin = !strcmp(path, "-"), fd, rc;
	struct stat st;

	*in = (struct input){.name = is_stdin ? "standard input" : path};
	fd = is_stdin ? 0 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, ERR_INPUT, path, -1, "cannot open: %s", strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(e, ERR_INPUT, path, -1, "is a directory, not a snapshot");
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0 && lseek(fd, 0, SEEK_CUR) == 0)
		rc = map_file(fd, (size_t)st.st_size, in, e);
	else
		rc = read_all(fd, in, e);
	if (!is_stdin)
		close(fd);
	in->raw_n = in->n;
	if (!rc && in->n > 2 && in->data[0] == 0x1f && in->data[1] == 0x8b)
		rc = gunzip(in, e);
	if (rc)
		input_close(in);
	return rc;
}

void input_close(struct input *in)
{
	if (in->data)
		release(in);
	in->n = 0;
}

void input_done_until(const struct input *in, size_t upto)
{
	if (in->mapped)
		madvise((void *)in->data, upto & ~(size_t)0xfffff, MADV_DONTNEED);
}
