/* space.c: the address space of the devices, and the host memory behind it.
 *
 * One range of addresses is reserved at start, always at the same place, without access. It is handed
 * out in pages of 2 MiB; a table with one entry per page finds the range that an address lies in, and
 * inside ranges that are cut into pieces the piece, both in constant time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simcuda/sim.h"

/* Pieces that start inside a page, by their unit. */
struct starts {
	uint64_t used[SIM_PAGE_UNITS / 64];
	struct block *at[SIM_PAGE_UNITS];
};

struct page {
	struct range *range;
	struct block *cover; /* the piece that holds the page's first byte */
	struct starts *starts;
};

static struct {
	uint64_t base, pages;
	struct page *page;
	struct bins free; /* in pages */
} space;

/* Past the C library: ThreadSanitizer's mmap ends the process for addresses that it has no shadow of,
 * which these, being without access, do not need. */
static void *map_nothing(void *want, uint64_t size, int flags)
{
	flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	return (void *)syscall(SYS_mmap, want, size, PROT_NONE, flags, -1, 0);
}

static bool space_reserve(uint64_t size)
{
	/* Far from where Linux puts programs, heaps, libraries and stacks. */
	char *at = map_nothing((void *)0x300000000000, size, MAP_FIXED_NOREPLACE);

	if (at == MAP_FAILED)
		at = map_nothing(NULL, size, 0);
	if (at == MAP_FAILED)
		return false;
	space.base = sim_round((uint64_t)at, SIM_PAGE);
	space.pages = (size - (space.base - (uint64_t)at)) / SIM_PAGE;
	return true;
}

bool sim_space_open(void)
{
	struct block *all;

	if (space.page)
		return true;
	/* Less where the process may not have so many addresses (RLIMIT_AS). */
	if (!space_reserve(16 * 1024 * GIB) && !space_reserve(1024 * GIB) && !space_reserve(128 * GIB))
		return false;
	space.page = mmap(NULL, space.pages * sizeof(struct page), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space.page == MAP_FAILED) {
		space.page = NULL;
		return false;
	}
	all = sim_heap_region(NULL, 0, space.pages);
	if (all)
		sim_block_free(all, &space.free);
	return all != NULL;
}

uint64_t sim_space_addr(const struct block *va)
{
	return space.base + va->at * SIM_PAGE;
}

/* The free part of a block from page `at` on, of len pages: what lies before stays free. */
static struct block *take_at(struct block *block, uint64_t at, uint64_t len)
{
	struct block *front, *rest;

	if (at == block->at)
		return sim_block_take(block, len);
	front = sim_block_take(block, at - block->at);
	if (!front)
		return NULL;
	rest = sim_block_take(front->right, len);
	sim_block_free(front, &space.free);
	return rest;
}

struct block *sim_space_take(uint64_t bytes, uint64_t align, uint64_t wanted)
{
	uint64_t len = sim_round(bytes, SIM_PAGE) / SIM_PAGE;
	struct block *b;
	uint64_t addr;

	if (wanted % SIM_PAGE == 0 && wanted >= space.base) {
		uint64_t at = (wanted - space.base) / SIM_PAGE;

		/* Asked-for addresses are rare: look through the free blocks for the one around it. */
		for (unsigned c = 0; c < BIN_CLASSES; c++)
			for (b = space.free.list[c]; b; b = b->next)
				if (b->at <= at && b->at + b->len >= at + len)
					return take_at(b, at, len);
	}
	b = sim_bins_find(&space.free, align > SIM_PAGE ? len + align / SIM_PAGE : len);
	if (!b)
		return NULL;
	addr = align > SIM_PAGE ? sim_round(sim_space_addr(b), align) : sim_space_addr(b);
	return take_at(b, (addr - space.base) / SIM_PAGE, len);
}

void sim_space_drop(struct block *va)
{
	sim_block_free(va, &space.free);
}

/* --- ranges --------------------------------------------------------------------------------- */

struct range *sim_range_new(enum range_kind kind, uint64_t size)
{
	struct range *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->va = sim_space_take(size, SIM_PAGE, 0);
	if (!r->va) {
		free(r);
		return NULL;
	}
	r->kind = kind;
	r->base = sim_space_addr(r->va);
	r->size = sim_round(size, SIM_PAGE);
	r->id = ++sim.next_id;
	sim_range_index(r);
	return r;
}

void sim_range_index(struct range *r)
{
	struct page *page = &space.page[(r->base - space.base) / SIM_PAGE];

	for (uint64_t i = 0; i < r->size / SIM_PAGE; i++)
		page[i].range = r;
}

static void range_unindex(struct range *r)
{
	struct page *page = &space.page[(r->base - space.base) / SIM_PAGE];

	for (uint64_t i = 0; i < r->size / SIM_PAGE; i++) {
		free(page[i].starts);
		page[i] = (struct page){NULL, NULL, NULL};
	}
}

static void range_disown(struct range *r)
{
	if (!r->link)
		return;
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	r->link = NULL;
}

void sim_range_free(struct range *r)
{
	range_disown(r);
	range_unindex(r);
	if (r->first)
		sim_heap_end(r->first);
	if (r->kind == RANGE_MANAGED || r->kind == RANGE_PINNED)
		mmap((void *)r->base, r->size, PROT_NONE,
		     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->backing)
		sim_backing_drop(r->backing);
	free(r->imported);
	if (r->va)
		sim_space_drop(r->va);
	free(r);
}

struct range *sim_range_at(uint64_t addr)
{
	uint64_t page = (addr - space.base) / SIM_PAGE;

	return addr >= space.base && page < space.pages ? space.page[page].range : NULL;
}

void sim_range_own(struct range *r, struct range **list)
{
	r->link = list;
	r->next = *list;
	if (r->next)
		r->next->link = &r->next;
	*list = r;
}

bool sim_space_host(struct range *r, uint64_t bytes)
{
	void *at = mmap((void *)r->base, bytes, PROT_READ | PROT_WRITE,
	                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at != MAP_FAILED;
}

/* --- pieces --------------------------------------------------------------------------------- */

uint64_t sim_piece_addr(const struct block *b)
{
	const struct range *r = b->range;

	return r->base + b->at * SIM_UNIT;
}

/* Write who covers the pages whose first byte lies in the piece. */
static void piece_cover(const struct block *b, uint64_t first, struct block *who)
{
	uint64_t end = sim_piece_addr(b) + b->len * SIM_UNIT - space.base;

	for (uint64_t page = sim_round(first, SIM_PAGE) / SIM_PAGE; page * SIM_PAGE < end; page++)
		space.page[page].cover = who;
}

bool sim_piece_index(struct block *b)
{
	uint64_t first = sim_piece_addr(b) - space.base;
	unsigned unit = first % SIM_PAGE / SIM_UNIT;
	struct page *page = &space.page[first / SIM_PAGE];

	if (unit) {
		if (!page->starts)
			page->starts = calloc(1, sizeof(*page->starts));
		if (!page->starts)
			return false;
		page->starts->used[unit / 64] |= (uint64_t)1 << unit % 64;
		page->starts->at[unit] = b;
	}
	piece_cover(b, first, b);
	return true;
}

void sim_piece_unindex(struct block *b)
{
	uint64_t first = sim_piece_addr(b) - space.base;
	unsigned unit = first % SIM_PAGE / SIM_UNIT;

	if (unit) {
		struct starts *s = space.page[first / SIM_PAGE].starts;

		s->used[unit / 64] &= ~((uint64_t)1 << unit % 64);
	}
	piece_cover(b, first, NULL);
}

struct block *sim_piece_at(uint64_t addr)
{
	const struct page *page = &space.page[(addr - space.base) / SIM_PAGE];
	unsigned unit = (addr - space.base) % SIM_PAGE / SIM_UNIT;
	struct block *b = page->cover;

	if (page->starts) {
		uint64_t mask = ~(uint64_t)0 >> (63 - unit % 64);

		for (int word = (int)unit / 64; word >= 0; word--, mask = ~(uint64_t)0) {
			uint64_t used = page->starts->used[word] & mask;

			if (used) {
				b = page->starts->at[word * 64 + 63 - __builtin_clzll(used)];
				break;
			}
		}
	}
	return b && addr < sim_piece_addr(b) + b->len * SIM_UNIT ? b : NULL;
}

/* --- bytes ---------------------------------------------------------------------------------- */

struct backing *sim_backing_new(int device, uint64_t size)
{
	struct backing *k = calloc(1, sizeof(*k));

	if (k)
		*k = (struct backing){.size = size, .fd = -1, .device = device, .refs = 1};
	return k;
}

/* Pages whose memory has just gone, kept for who touches one next: faulting 2 MiB in costs more than
 * all else that the driver does. What was in them shows, as on a device. */
static struct {
	char *page[16];
	unsigned count;
} warm;

static void bytes_drop(struct backing *k)
{
	if (k->size == SIM_PAGE && k->fd < 0 && warm.count < sizeof(warm.page) / sizeof(warm.page[0]))
		warm.page[warm.count++] = k->bytes;
	else
		munmap(k->bytes, k->size);
}

void sim_backing_drop(struct backing *k)
{
	if (--k->refs)
		return;
	if (k->bytes)
		bytes_drop(k);
	if (k->fd >= 0)
		close(k->fd);
	if (k->device >= 0)
		sim_refund(k->device, k->size);
	free(k);
}

char *sim_backing_bytes(struct backing *k)
{
	if (!k->bytes && k->size == SIM_PAGE && k->fd < 0 && warm.count)
		k->bytes = warm.page[--warm.count];
	if (!k->bytes) {
		char *at =
		    mmap(NULL, k->size, PROT_READ | PROT_WRITE,
		         MAP_NORESERVE | (k->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), k->fd, 0);

		k->bytes = at == MAP_FAILED ? NULL : at;
	}
	return k->bytes;
}

/* Copy what was written so far into the file; pages of zeros stay holes. */
static bool backing_spill(const struct backing *k, int fd)
{
	static const char zero[4096];

	for (uint64_t at = 0; k->bytes && at < k->size; at += sizeof(zero))
		if (memcmp(k->bytes + at, zero, sizeof(zero)) != 0 &&
		    pwrite(fd, k->bytes + at, sizeof(zero), (off_t)at) != (ssize_t)sizeof(zero))
			return false;
	return true;
}

int sim_backing_share(struct backing *k)
{
	int fd;

	if (k->fd >= 0)
		return k->fd;
	fd = memfd_create("gpumemsnap-sim", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)k->size) < 0 || !backing_spill(k, fd)) {
		close(fd);
		return -1;
	}
	if (k->bytes &&
	    mmap(k->bytes, k->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		close(fd);
		return -1;
	}
	k->fd = fd;
	return fd;
}

struct backing *sim_backing_import(int fd, uint64_t size)
{
	struct backing *k = sim_backing_new(-1, size);

	if (k)
		k->fd = fd;
	return k;
}

/* --- places --------------------------------------------------------------------------------- */

bool sim_place(uint64_t addr, struct place *place)
{
	struct range *r = sim_range_at(addr);
	struct block *b = NULL;

	if (!r)
		return false;
	if (r->kind == RANGE_SMALL || r->kind == RANGE_POOL) {
		b = sim_piece_at(addr);
		if (!b)
			return false;
		*place = (struct place){r, b, sim_piece_addr(b), b->bytes};
	} else {
		*place = (struct place){r, NULL, r->base, r->bytes};
	}
	return addr - place->base < place->bytes;
}

char *sim_bytes(uint64_t addr, uint64_t *n)
{
	struct place p;
	char *bytes;

	if (!sim_place(addr, &p)) {
		if (addr - space.base < space.pages * SIM_PAGE)
			*n = 0;
		return NULL;
	}
	if (*n > p.base + p.bytes - addr)
		*n = p.base + p.bytes - addr;
	if (p.range->kind == RANGE_MANAGED || p.range->kind == RANGE_PINNED)
		return (char *)addr;
	bytes = p.range->backing && (p.range->kind != RANGE_MAPPED || p.range->access)
	            ? sim_backing_bytes(p.range->backing)
	            : NULL;
	if (!bytes) {
		*n = 0;
		return NULL;
	}
	return bytes + p.range->offset + (addr - p.range->base);
}
