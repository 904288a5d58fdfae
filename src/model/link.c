/* link.c: which free ends which allocation. One pass; afterwards no analysis needs a hash table.
 *
 * Addresses are looked up per level (driver, framework) and, for kinds whose addresses are
 * handles, per kind: a cudaFree may end any driver allocation, but a segment and the first block
 * in it share an address without meeting. Framework addresses are told apart by device too.
 * Mappings (map/unmap) are not linked: they are ranges, not objects.
 *
 * One map holds the last row that said something about an address: an allocation (it is live;
 * awaiting its streams if it has a peer already) or the free that ended it.
 */
#include "base/mem.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

#define THREADS 65536u /* as many as a column can tell apart */

static uint64_t key_of(const struct columns *c, size_t row)
{
	enum gms_kind kind = GMS_OP_KIND(c->op[row]);
	const struct gms_kind_info *info = &gms_kind_info[kind];
	uint64_t space = info->space == GMS_HANDLE ? 2u + kind : info->level;

	if (info->level == GMS_FRAMEWORK)
		space |= (uint64_t)c->device[row] << 6;
	return c->addr[row] ^ hash_u64(space);
}

static bool is_alloc(const struct columns *c, size_t row)
{
	return GMS_OP_ACTION(c->op[row]) == GMS_A_ALLOC;
}

#define COUNT(m, row, what) ((m)->anomalies.what++, (m)->device[(m)->ev.device[row]].anomalies.what++)

static void link_alloc(struct model *m, struct map64 *last, size_t row)
{
	bool fresh;
	uint32_t *at = map64_put(last, key_of(&m->ev, row), &fresh);

	if (!fresh && is_alloc(&m->ev, *at) && m->ev.peer[*at] == MODEL_NO_PEER) {
		COUNT(m, row, alloc_live);
		m->ev.peer[*at] = (uint32_t)row;
	}
	*at = (uint32_t)row;
}

/* A free_requested leaves the block live for its streams; the free that completes it comes later
 * and takes its place as the end of the allocation. */
static void link_free(struct model *m, struct map64 *last, size_t row, bool completes)
{
	struct columns *c = &m->ev;
	uint32_t *at = map64_find(last, key_of(c, row));

	if (!c->addr[row]) {
		COUNT(m, row, free_null);
	} else if (!at) {
		COUNT(m, row, free_unknown);
	} else if (!is_alloc(c, *at) || (!completes && c->peer[*at] != MODEL_NO_PEER)) {
		COUNT(m, row, double_free);
	} else {
		c->peer[row] = *at;
		c->peer[*at] = (uint32_t)row;
		if (completes)
			*at = (uint32_t)row;
	}
}

/* Blocks still awaiting their streams at the end are live. (Where no free is ever completed, that
 * class of events was left out: then the request is the best end there is.) */
static void revive_pending(struct columns *c, const struct map64 *last)
{
	size_t i;

	for (i = 0; last->slot && i <= last->mask; i++) {
		uint32_t row = last->slot[i].value;

		if (last->slot[i].used && is_alloc(c, row) && c->peer[row] != MODEL_NO_PEER)
			c->peer[row] = MODEL_NO_PEER;
	}
}

/* The driver refused the free that the thread reported just before: if that ended an allocation, it lives on. */
static void link_refused(struct model *m, struct map64 *last, const uint32_t *last_free, size_t row)
{
	struct columns *c = &m->ev;
	uint32_t freed = last_free[c->thread[row]], *at;

	if (freed == MODEL_NO_PEER || c->addr[freed] != c->addr[row] || c->peer[freed] == MODEL_NO_PEER)
		return;
	at = map64_find(last, key_of(c, row));
	if (!at || *at != freed)
		return;
	*at = c->peer[freed];
	c->peer[*at] = MODEL_NO_PEER;
	c->peer[freed] = MODEL_NO_PEER;
}

static void mark_devices(struct model *m)
{
	size_t i;

	for (i = 0; i < 256; i++)
		m->device[i].blocks = false;
	for (i = 0; i < m->ev.n; i++) {
		struct device_info *d = &m->device[m->ev.device[i]];
		enum gms_kind kind = GMS_OP_KIND(m->ev.op[i]);

		d->present = true;
		d->blocks |= kind == GMS_K_BLOCK || kind == GMS_K_SEGMENT;
	}
	for (i = 0; i < m->n_segments; i++)
		m->device[m->segments[i].device].present = true;
	m->device[MODEL_NO_DEVICE].present = false;
}

static void link_rows(struct model *m)
{
	struct columns *c = &m->ev;
	uint32_t *last_free = mem_alloc(THREADS * sizeof *last_free); /* row, of each thread */
	struct map64 last = {0};
	bool completes = false;
	size_t row;

	memset(last_free, 0xff, THREADS * sizeof *last_free);
	c->peer = mem_resize(c->peer, c->n, sizeof *c->peer);
	m->anomalies = (struct anomalies){0};
	for (row = 0; row < 256; row++)
		m->device[row].anomalies = (struct anomalies){0};
	for (row = 0; row < c->n; row++) {
		enum gms_action action = GMS_OP_ACTION(c->op[row]);

		c->peer[row] = MODEL_NO_PEER;
		if (action == GMS_A_ALLOC)
			link_alloc(m, &last, row);
		else if (action == GMS_A_FREE || action == GMS_A_FREE_REQUESTED)
			link_free(m, &last, row, action == GMS_A_FREE);
		else if (action == GMS_A_OTHER)
			link_refused(m, &last, last_free, row);
		if (action == GMS_A_FREE)
			last_free[c->thread[row]] = (uint32_t)row;
		if (c->peer[row] != MODEL_NO_PEER &&
		    gms_kind_info[GMS_OP_KIND(c->op[row])].level == GMS_DRIVER)
			c->device[row] = c->device[c->peer[row]];
		completes |= c->op[row] == GMS_OP(GMS_K_BLOCK, GMS_A_FREE);
	}
	if (completes)
		revive_pending(c, &last);
	map64_free(&last);
	free(last_free);
}

void model_link(struct model *m)
{
	if (!m->linked) /* else the reader found the peers by itself, and no anomaly */
		link_rows(m);
	mark_devices(m);
	m->linked = true;
}
