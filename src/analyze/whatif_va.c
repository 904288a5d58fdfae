/* whatif_va.c: see whatif_va.h. */
#include "analyze/whatif_va.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

#define MIB   (1ull << 20)
#define CHUNK (32 * MIB)
#define TOP   0x7f0000000000ull
enum { ENOUGH = 4096 }; /* chunks looked at, zones learned: more only in recordings made to be slow */

struct hole {
	uint64_t addr, size;
};
struct chunk {
	uint64_t base, size;
	struct hole *holes; /* by address, never touching */
	size_t n, cap;
	struct chunk *older, *newer;
	bool learned; /* not given up when empty */
};
struct va {
	const struct va_lesson *lesson;
	size_t next_zone;      /* of the lesson: not yet seen */
	struct chunk *newest;
	struct chunk **ours;   /* chunks reserved here, by descending address */
	size_t n_ours, cap_ours;
	bool gaps; /* between them there may be some */
};

static uint64_t whole_chunks(uint64_t size)
{
	return (size + CHUNK - 1) & ~(CHUNK - 1);
}

static struct chunk *add_chunk(struct va *v, uint64_t base, uint64_t size, bool learned)
{
	struct chunk *c = mem_zalloc(1, sizeof *c);

	c->base = base;
	c->size = size;
	c->learned = learned;
	*VEC_PUSH(c->holes, c->n, c->cap) = (struct hole){base, size};
	c->older = v->newest;
	if (c->older)
		c->older->newer = c;
	return v->newest = c;
}

static void drop_chunk(struct va *v, struct chunk *c)
{
	if (c->newer)
		c->newer->older = c->older;
	else
		v->newest = c->older;
	if (c->older)
		c->older->newer = c->newer;
	free(c->holes);
	free(c);
}

struct va *va_new(const struct va_lesson *l, uint32_t from)
{
	struct va *v = mem_zalloc(1, sizeof *v);

	v->lesson = l;
	while (v->next_zone < l->n && l->zones[v->next_zone].since < from)
		v->next_zone++;
	return v;
}

void va_delete(struct va *v)
{
	while (v->newest)
		drop_chunk(v, v->newest);
	free(v->ours);
	free(v);
}

/* Reserve a chunk in the highest gap with room. */
static struct chunk *reserve(struct va *v, uint64_t size)
{
	uint64_t top = v->lesson->top, bytes = whole_chunks(size);
	struct chunk *c;
	size_t i;

	for (i = v->gaps ? 0 : v->n_ours; i < v->n_ours; i++) {
		if (top - (v->ours[i]->base + v->ours[i]->size) >= bytes)
			break;
		top = v->ours[i]->base;
	}
	if (!v->gaps && v->n_ours)
		top = v->ours[v->n_ours - 1]->base;
	v->gaps = v->gaps && i < v->n_ours;
	c = add_chunk(v, top - bytes, bytes, false);
	VEC_PUSH(v->ours, v->n_ours, v->cap_ours);
	memmove(v->ours + i + 1, v->ours + i, (v->n_ours - 1 - i) * sizeof *v->ours);
	v->ours[i] = c;
	return c;
}

static uint64_t take_hole(struct chunk *c, size_t i, uint64_t size)
{
	struct hole *h = &c->holes[i];
	uint64_t addr = h->addr;

	h->addr += size;
	h->size -= size;
	if (!h->size)
		memmove(h, h + 1, (--c->n - i) * sizeof *h);
	return addr;
}

uint64_t va_alloc(struct va *v, uint32_t row, uint64_t size)
{
	const struct va_lesson *l = v->lesson;
	struct chunk *c;
	size_t i, looked = 0;

	for (; v->next_zone < l->n && l->zones[v->next_zone].since <= row; v->next_zone++)
		add_chunk(v, l->zones[v->next_zone].base, l->zones[v->next_zone].size, true);
	for (c = v->newest; c && looked < ENOUGH; c = c->older, looked++)
		for (i = 0; i < c->n; i++)
			if (c->holes[i].size >= size)
				return take_hole(c, i, size);
	return take_hole(reserve(v, size), 0, size);
}

static void give_up(struct va *v, struct chunk *c)
{
	size_t i;

	for (i = 0; v->ours[i] != c; i++)
		;
	memmove(v->ours + i, v->ours + i + 1, (--v->n_ours - i) * sizeof *v->ours);
	v->gaps = true;
	drop_chunk(v, c);
}

void va_free(struct va *v, uint64_t addr, uint64_t size)
{
	struct chunk *c = v->newest;
	struct hole *h;
	size_t i;

	while (c && !(addr >= c->base && addr - c->base < c->size))
		c = c->older;
	if (!c)
		return;
	for (i = 0; i < c->n && c->holes[i].addr < addr; i++)
		;
	VEC_PUSH(c->holes, c->n, c->cap);
	h = c->holes + i;
	memmove(h + 1, h, (c->n - 1 - i) * sizeof *h);
	*h = (struct hole){addr, size};
	if (i + 1 < c->n && h->addr + h->size == h[1].addr) {
		h->size += h[1].size;
		memmove(h + 1, h + 2, (--c->n - i - 1) * sizeof *h);
	}
	if (i && h[-1].addr + h[-1].size == h->addr) {
		h[-1].size += h->size;
		memmove(h, h + 1, (--c->n - i) * sizeof *h);
	}
	if (!c->learned && c->holes[0].size == c->size)
		give_up(v, c);
}

/* --- learning -------------------------------------------------------------------------------- */

static bool inside(const struct va_zone *z, uint64_t addr)
{
	return addr >= z->base && addr - z->base < z->size;
}

/* A segment appears at addr: space known already, a chunk just reserved for it, or space that was there. */
static void learn_one(struct va_lesson *l, struct va_lesson *own, uint64_t addr, uint64_t size, uint32_t row)
{
	size_t i;

	for (i = 0; i < own->n; i++)
		if (inside(&own->zones[i], addr))
			return;
	for (i = 0; i < l->n; i++) {
		struct va_zone *z = &l->zones[i];

		if (inside(z, addr))
			return;
		if (addr == z->base + z->size && addr % CHUNK) {
			z->size += size;
			return;
		}
	}
	if (addr % CHUNK == 0 && addr < l->top) {
		*VEC_PUSH(own->zones, own->n, own->cap) = (struct va_zone){addr, whole_chunks(size), row};
		if (!own->top || addr + whole_chunks(size) > own->top)
			own->top = addr + whole_chunks(size);
		return;
	}
	*VEC_PUSH(l->zones, l->n, l->cap) = (struct va_zone){addr, size, row};
	if (addr < l->top)
		l->top = addr;
}

/* A recording of PyTorch without one cudaMalloc (expandable segments, a ring that begins late) shows
 * nothing of this. What its processes were seen to have instead: two leftovers of the context, and, from
 * the first matrix product on, what loading cuBLAS leaves behind. */
static const struct usual {
	int from_top, size; /* MiB */
	bool cublas;
} usual[] = {{488, 24, false}, {414, 2, false}, {64, 350, true}, {-198, 2, true}};

/* The first matrix product: cuBLAS gets its workspace, of one of two sizes. UINT32_MAX: there is none. */
static uint32_t first_product(const struct model *m, uint8_t device)
{
	uint32_t row;

	for (row = 0; row < m->ev.n; row++)
		if (m->ev.device[row] == device && m->ev.op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_ALLOC) &&
		    (m->ev.size[row] == 32 * MIB || m->ev.size[row] == 8320 * 1024))
			return row;
	return UINT32_MAX;
}

static void learn_usual(struct va_lesson *l, const struct model *m, uint8_t device)
{
	uint32_t product = first_product(m, device);
	size_t i;

	l->top = TOP;
	for (i = 0; i < sizeof usual / sizeof *usual; i++)
		*VEC_PUSH(l->zones, l->n, l->cap) = (struct va_zone){
			TOP + (uint64_t)(int64_t)usual[i].from_top * MIB, (uint64_t)usual[i].size * MIB, usual[i].cublas ? product : 0};
}

void va_learn(struct va_lesson *l, const struct model *m, uint8_t device)
{
	struct va_lesson own = {0};
	size_t row;

	*l = (struct va_lesson){.top = UINT64_MAX};
	for (row = 0; row < m->ev.n && l->n + own.n < ENOUGH; row++)
		if (m->ev.device[row] == device && m->ev.op[row] == GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC))
			learn_one(l, &own, m->ev.addr[row], m->ev.size[row], (uint32_t)row);
	if (own.top)
		l->top = own.top;
	else if (l->top == UINT64_MAX && m->source == SOURCE_TORCH)
		learn_usual(l, m, device);
	else if (l->top == UINT64_MAX)
		l->top = TOP;
	else
		l->top &= ~(CHUNK - 1);
	free(own.zones);
}

void va_forget(struct va_lesson *l)
{
	free(l->zones);
	*l = (struct va_lesson){0};
}
