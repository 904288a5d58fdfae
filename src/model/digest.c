/* digest.c: one number for what a recording says. */
#include "model/model.h"
#include <string.h>

#define MIX 0x9fb21c651e98df25ull

static uint64_t step(uint64_t h, uint64_t v)
{
	h = (h ^ v) * MIX;
	return h ^ h >> 29;
}

/* The products of a row do not wait for each other, only their sum goes into the chain. */
static uint64_t of_events(const struct columns *c)
{
	uint64_t h = c->n;

	for (size_t i = 0; i < c->n; i++) {
		uint64_t who = (uint64_t)c->stack[i] << 32 | (uint64_t)c->stream[i] << 16 | c->thread[i],
		         what = (uint64_t)c->pool[i] << 16 | (uint64_t)c->op[i] << 8 | c->device[i];
		h = step(h, (uint64_t)c->t_ns[i] * 0x9e3779b97f4a7c15ull +
		                c->addr[i] * 0xc2b2ae3d27d4eb4full + c->size[i] * 0x165667b19e3779f9ull +
		                who * 0xd6e8feb86659fd93ull + what * 0xa0761d6478bd642full +
		                (c->slack ? c->slack[i] : 0));
	}
	return h;
}

uint64_t model_digest(const struct model *m)
{
	uint64_t h = step(of_events(&m->ev), m->n_initial);

	h = step(h, hash_bytes(m->strings.bytes, m->strings.n_bytes));
	for (size_t i = 0; i < m->frames.n; i++) {
		const struct frame *f = &m->frames.v[i];
		h = step(step(h, (uint64_t)f->function << 32 | f->file), (uint64_t)f->module << 32 | f->line);
	}
	h = step(h, hash_words(m->stacks.flat, m->stacks.n_flat));
	h = step(h, hash_words(m->stacks.at, m->stacks.n + 1));
	for (size_t i = 0; i < m->n_phases; i++)
		h = step(step(step(h, m->phases[i].name), (uint64_t)m->phases[i].begin_ns),
		         (uint64_t)m->phases[i].end_ns);
	for (size_t i = 0; i < m->n_blocks; i++)
		h = step(step(h, m->blocks[i].addr), m->blocks[i].size << 8 | m->blocks[i].state);
	return hash_u64(h);
}
