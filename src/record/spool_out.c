/* spool_out.c: the file events go to: how it is made, how it grows, who writes where.
 *
 * The file is only open while it is made or grows, so the program never meets a descriptor of ours,
 * and one that closes all descriptors takes nothing from us; only one that is about to go where the file
 * cannot be opened any more (chroot, another user) gets one kept. Its blocks are allocated before they are
 * mapped: a full disk is a growth that fails.
 */
#include "record/rec.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXTENT_FIRST 4  /* chunks the file first grows by */
#define EXTENT_LAST  64 /* … and at most, if the options say nothing */
#define PARTIALS     256
#define RING_MIN     8 /* chunks a flight recorder has at least */
#define RING_SPARE   8 /* of so many one is kept free, for when it must not fold */

static struct spool_header no_spool; /* what rec_head is while there is none */
struct spool_header *rec_head = &no_spool;

static struct rec_lock lock; /* all below */
static char path[640];
static struct stat made; /* the file: what tells it from another */
static int kept = -1;	 /* a descriptor of it, see rec_spool_keep */
static uint8_t *fresh, *fresh_end; /* chunks of the last extent that were not used yet */
static uint32_t extent;		   /* chunks of the next extent */
static struct partial {		   /* chunks whose thread ended */
	struct spool_chunk *chunk;
	uint8_t *at;
	uint64_t last_ns;
} partials[PARTIALS];
static uint32_t n_partials;
static struct rec_chunk *ring; /* all chunks of a flight recorder, else NULL */
static size_t n_ring, cap_ring;
static struct spool_chunk *reserve[2]; /* kept for live slots */

/* --- making it ------------------------------------------------------------------------------------ */
static void read_file(const char *name, char *to, size_t size, uint32_t *got)
{
	int fd = rec_open(name, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : syscall(SYS_read, fd, to, size);

	*got = n > 0 ? (uint32_t)n : 0;
	if (fd >= 0)
		syscall(SYS_close, fd);
}

static uint32_t chunk_size(uint64_t max_bytes)
{
	uint32_t bytes = SPOOL_CHUNK;

	while (max_bytes && bytes > SPOOL_CHUNK_MIN && max_bytes / bytes < 64)
		bytes /= 2;
	return bytes;
}

static void fill_header(struct spool_header *h)
{
	struct timespec wall;
	ssize_t n;

	h->version = SPOOL_VERSION;
	h->header_bytes = SPOOL_HEADER;
	h->max_bytes = rec_options.max_bytes;
	h->chunk_bytes = chunk_size(h->max_bytes);
	h->file_bytes = SPOOL_HEADER;
	h->pid = getpid();
	h->ppid = getppid();
	h->start_ns = rec_now();
	clock_gettime(CLOCK_REALTIME, &wall);
	h->start_wall_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
	gethostname(h->host, sizeof h->host - 1);
	rec_cat(h->options, sizeof h->options, rec_options.text);
	n = readlink("/proc/self/exe", h->exe, sizeof h->exe - 1);
	h->exe_bytes = n > 0 ? (uint32_t)n : 0;
	read_file("/proc/self/cmdline", h->argv, sizeof h->argv, &h->argv_bytes);
	h->rank = rec_options.rank;
	h->unwinder = rec_unwinder();
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(h->magic, SPOOL_MAGIC, sizeof h->magic);
}

static int allocate(int fd, off_t from, off_t bytes)
{
	struct rlimit limit;
	int error;

	/* The kernel would send SIGXFSZ, which is for the program alone to receive. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)(from + bytes) > limit.rlim_cur)
		return EFBIG;
	do
		error = posix_fallocate(fd, from, bytes);
	while (error == EINTR);
	return error;
}

static void *map(int fd, off_t from, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTFORK);
	return p;
}

/* All page faults at once, which is much cheaper than one by one on the way, and no signal where the disk fails after
 * all. Returns such an error. */
static int populate(void *p, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	int error = rec_confined() || !madvise(p, bytes, MADV_POPULATE_WRITE) ? 0 : errno;

	if (error == EFAULT) /* a signal it would have been */
		return EIO;
	if (error == EIO || error == ENOSPC || error == EDQUOT || error == EHWPOISON)
		return error;
#endif
	return 0;
}

static int create(void)
{
	unsigned n;
	int fd = -1;

	for (n = 0; n < 10000; n++) {
		path[0] = '\0';
		rec_cat(path, sizeof path, rec_options.dir);
		rec_cat(path, sizeof path, "/");
		rec_cat_number(path, sizeof path, (uint64_t)getpid());
		rec_cat(path, sizeof path, ".");
		rec_cat_number(path, sizeof path, n);
		rec_cat(path, sizeof path, ".spool");
		fd = rec_open(path, O_RDWR | O_CREAT | O_EXCL);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

/* Memory for the list of chunks: as many as the bound allows, and room to exceed it for live slots. */
static bool ring_init(const struct spool_header *h)
{
	size_t chunks = h->max_bytes / h->chunk_bytes;

	if (!h->max_bytes)
		return true;
	cap_ring = chunks + (1u << 20);
	ring = rec_memory(cap_ring * sizeof *ring);
	return ring != NULL;
}

void rec_spool_forget(void)
{
	rec_head = &no_spool;
	memset(&no_spool, 0, sizeof no_spool);
	fresh = fresh_end = NULL;
	n_partials = 0;
	kept = -1;
	ring = NULL;
	n_ring = 0;
	reserve[0] = reserve[1] = NULL;
	lock.owner = 0;
	rec_fold_forked();
}

/* --- growing ------------------------------------------------------------------------------------------ */
static bool is_spool(int fd)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_dev == made.st_dev && now.st_ino == made.st_ino;
}

/* The program has used up its descriptors: one more, for a moment, where its own limit may be raised. */
static int open_beyond_limit(void)
{
	struct rlimit limit, more;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return -1;
	more = (struct rlimit){limit.rlim_cur + 8, limit.rlim_max};
	if (more.rlim_cur > more.rlim_max)
		more.rlim_cur = more.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &more))
		return -1;
	fd = rec_open(path, O_RDWR);
	setrlimit(RLIMIT_NOFILE, &limit);
	return fd;
}

/* The spool, open; -1 and errno if that cannot be. */
static int open_again(void)
{
	int fd = rec_open(path, O_RDWR), error;

	if (fd < 0 && errno == EMFILE && (fd = open_beyond_limit()) < 0)
		errno = EMFILE;
	if (fd >= 0 && is_spool(fd))
		return fd;
	error = fd < 0 ? errno : ENOENT;
	if (fd >= 0)
		syscall(SYS_close, fd);
	/* A copy first: the program may close what it does not know and open something else there. */
	fd = kept < 0 ? -1 : fcntl(kept, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && is_spool(fd))
		return fd;
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = error;
	return -1;
}

static void keep(void)
{
	enum { OUT_OF_THE_WAY = 512 };
	int fd = kept >= 0 && is_spool(kept) ? -1 : rec_open(path, O_RDWR), high;

	if (fd < 0)
		return;
	high = fcntl(fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
	kept = high < 0 ? fd : high;
	if (high >= 0)
		syscall(SYS_close, fd);
}

void rec_spool_keep(void)
{
	int saved = errno;

	/* A child of vfork has its parent's memory, but descriptors of its own. */
	if (rec_running() && getpid() == rec_head->pid && rec_lock(&lock, NULL)) {
		keep();
		rec_unlock(&lock);
	}
	errno = saved;
}

static int grow_by(uint32_t chunks)
{
	struct spool_header *h = rec_head;
	off_t from = (off_t)h->file_bytes;
	size_t bytes = (size_t)chunks * h->chunk_bytes;
	uint8_t *p = NULL;
	int fd = open_again(), error = fd < 0 ? errno : allocate(fd, from, (off_t)bytes);

	if (!error && !(p = map(fd, from, bytes)))
		error = errno;
	if (fd >= 0)
		syscall(SYS_close, fd);
	if (error)
		return error;
	fresh = p;
	fresh_end = p + bytes;
	__atomic_store_n(&h->file_bytes, h->file_bytes + bytes, __ATOMIC_RELEASE);
	return 0;
}

/* By so many chunks, or by fewer if there is no more room. */
static bool grow(uint32_t chunks)
{
	int error;

	if (rec_confined()) {
		rec_trouble(0, "the spool is full, and the program has forbidden itself system calls (seccomp)");
		return false;
	}
	error = grow_by(chunks);
	while (error && chunks > 1)
		error = grow_by(chunks /= 2);
	if (error)
		rec_trouble(error, "cannot grow the spool");
	return !error;
}

/* May the file still grow by an extent (which is made smaller to fit)? */
static bool may_grow(uint32_t *chunks)
{
	const struct spool_header *h = rec_head;
	uint64_t most = h->max_bytes, least = SPOOL_HEADER + (uint64_t)RING_MIN * h->chunk_bytes;

	*chunks = extent;
	if (!most)
		return true;
	if (most < least)
		most = least;
	while (*chunks && h->file_bytes + (uint64_t)*chunks * h->chunk_bytes > most)
		--*chunks;
	return *chunks > 0;
}

static uint32_t whole_chunks(const struct spool_header *h, uint64_t bytes)
{
	uint64_t n = bytes / h->chunk_bytes;

	return n < 1 ? 1 : n > 1u << 20 ? 1u << 20 : (uint32_t)n;
}

bool rec_spool_open(void)
{
	struct spool_header *h = NULL;
	uint32_t chunks;
	int fd, error;

	if (rec_confined()) { /* a fork's child */
		rec_trouble(0, "the program has forbidden itself system calls (seccomp)");
		return false;
	}
	fd = create();
	if (fd < 0) {
		rec_trouble(errno, "cannot create the spool");
		return false;
	}
	error = fstat(fd, &made) ? errno : allocate(fd, 0, SPOOL_HEADER);
	if (!error && !(h = map(fd, 0, SPOOL_HEADER)))
		error = errno;
	if (!error)
		error = populate(h, SPOOL_HEADER);
	syscall(SYS_close, fd);
	if (error) {
		rec_trouble(error, "cannot allocate the spool");
		return false;
	}
	fill_header(h);
	extent = rec_options.grow ? whole_chunks(h, rec_options.grow) : EXTENT_FIRST;
	rec_head = h;
	if (!ring_init(h)) {
		rec_trouble(ENOMEM, "no memory for the flight recorder");
		return false;
	}
	return !rec_options.grow || !may_grow(&chunks) || grow(chunks);
}

static bool held(void)
{
	uint64_t until = __atomic_load_n(&rec_head->hold_until_ns, __ATOMIC_RELAXED), now;

	if (!until)
		return false;
	now = rec_now();
	return now < until && until - now <= SPOOL_HOLD_MAX_NS;
}

static bool touch(struct spool_chunk *c, size_t bytes)
{
	int error = populate(c, bytes);

	if (error)
		rec_trouble(error, "cannot write to the spool");
	return !error;
}

static struct spool_chunk *fresh_chunk(void)
{
	struct spool_chunk *c;

	if (fresh == fresh_end)
		return NULL;
	c = (struct spool_chunk *)fresh;
	fresh += rec_head->chunk_bytes;
	if (!touch(c, sizeof *c)) /* the rest is touched without the lock */
		return NULL;
	if (ring && n_ring < cap_ring)
		ring[n_ring++] = (struct rec_chunk){.chunk = c, .use = REC_CHUNK_OTHER};
	return c;
}

/* An empty chunk, all zero; NULL after trouble. */
static struct spool_chunk *take_chunk(void)
{
	struct spool_chunk *c = fresh_chunk();
	uint32_t chunks;

	if (c)
		return c;
	if (may_grow(&chunks)) {
		if (!rec_options.grow)
			extent = extent * 2 > EXTENT_LAST ? EXTENT_LAST : extent * 2;
		return grow(chunks) ? fresh_chunk() : NULL;
	}
	if (held() && (c = rec_free_chunk(ring, n_ring)))
		return c;
	if ((c = rec_fold(ring, n_ring, rec_head->chunk_bytes, n_ring / RING_SPARE)))
		return c;
	return grow(1) ? fresh_chunk() : NULL; /* the bound gives way to what must be kept */
}

static struct rec_chunk *ring_entry(const struct spool_chunk *c)
{
	size_t i;

	for (i = 0; i < n_ring; i++)
		if (ring[i].chunk == c)
			return &ring[i];
	return NULL;
}

static void reserve_fill(void)
{
	size_t i;

	for (i = 0; ring && i < 2; i++)
		if (!reserve[i])
			reserve[i] = take_chunk();
}

struct spool_chunk *rec_live_chunk(void)
{
	struct spool_chunk *c = NULL;
	size_t i;

	for (i = 0; i < 2 && !c; i++) {
		c = reserve[i];
		reserve[i] = NULL;
	}
	if (!c && !(c = fresh_chunk()) && !(c = rec_free_chunk(ring, n_ring)))
		c = grow(1) ? fresh_chunk() : NULL;
	if (c)
		__atomic_store_n(&c->type, SPOOL_LIVE, __ATOMIC_RELEASE);
	return c;
}

/* --- chunks of threads ---------------------------------------------------------------------------------- */
static void close_chunk(struct rec_lane *lane, enum rec_chunk_use use)
{
	struct rec_chunk *r = ring && lane->chunk ? ring_entry(lane->chunk) : NULL;

	if (r) {
		r->use = use;
		r->last_ns = lane->last_ns;
	}
	lane->chunk = NULL;
	lane->at = lane->end = NULL;
}

static void open_chunk(struct rec_lane *lane, struct spool_chunk *c, uint8_t *at)
{
	struct rec_chunk *r = ring ? ring_entry(c) : NULL;

	lane->chunk = c;
	lane->at = at;
	lane->end = (uint8_t *)c + rec_head->chunk_bytes;
	if (r && r->use != REC_CHUNK_OPEN) {
		r->use = REC_CHUNK_OPEN;
		r->next_ns = 0;
	}
}

static void write_owner(struct rec_lane *lane)
{
	struct spool_owner *o = (struct spool_owner *)lane->at;

	o->thread = lane->thread->index;
	rec_commit(lane, o, (struct spool_word){.kind = SPOOL_OWNER, .words = sizeof *o / 8});
}

static bool take_partial(struct rec_lane *lane, size_t bytes)
{
	struct partial *p;

	if (!n_partials)
		return false;
	p = &partials[--n_partials];
	open_chunk(lane, p->chunk, p->at);
	if (p->last_ns > lane->last_ns)
		lane->last_ns = p->last_ns;
	if ((size_t)(lane->end - lane->at) < bytes + sizeof(struct spool_owner))
		return false;
	write_owner(lane);
	return true;
}

static bool next_chunk(struct rec_lane *lane, size_t bytes)
{
	struct spool_chunk *c;

	close_chunk(lane, REC_CHUNK_FULL);
	if (take_partial(lane, bytes))
		return true;
	close_chunk(lane, REC_CHUNK_FULL);
	c = take_chunk();
	if (!c)
		return false;
	c->thread = lane->thread->index;
	c->folded = 0;
	__atomic_store_n(&c->type, SPOOL_EVENTS, __ATOMIC_RELEASE);
	open_chunk(lane, c, (uint8_t *)(c + 1));
	reserve_fill();
	return true;
}

void *rec_room_slow(struct rec_lane *lane, size_t bytes)
{
	bool ok;

	if (__atomic_load_n(&rec_page->state, __ATOMIC_RELAXED) == REC_OUT || !rec_lock(&lock, lane))
		return NULL;
	ok = next_chunk(lane, bytes);
	rec_unlock(&lock);
	return ok && touch(lane->chunk, rec_head->chunk_bytes) ? lane->at : NULL;
}

void rec_release_chunk(struct rec_lane *lane)
{
	bool keep;

	if (!lane->chunk || !rec_lock(&lock, lane))
		return;
	keep = (size_t)(lane->end - lane->at) > rec_head->chunk_bytes / 8 && n_partials < PARTIALS;
	if (keep)
		partials[n_partials++] = (struct partial){lane->chunk, lane->at, lane->last_ns};
	close_chunk(lane, keep ? REC_CHUNK_OPEN : REC_CHUNK_FULL);
	rec_unlock(&lock);
}

void rec_abandon_chunk(struct rec_lane *lane)
{
	if (!lane->chunk || !rec_lock(&lock, lane))
		return;
	close_chunk(lane, REC_CHUNK_FULL);
	rec_unlock(&lock);
}

struct spool_chunk *rec_table_chunk(struct rec_lane *lane)
{
	struct spool_chunk *c;

	if (__atomic_load_n(&rec_page->state, __ATOMIC_RELAXED) == REC_OUT || !rec_lock(&lock, lane))
		return NULL;
	c = take_chunk();
	if (c)
		__atomic_store_n(&c->type, SPOOL_TABLES, __ATOMIC_RELEASE);
	rec_unlock(&lock);
	return c && touch(c, rec_head->chunk_bytes) ? c : NULL;
}
