/* event.c: one event into the thread's chunk. The hot end of the recorder. */
#include "record/rec.h"

static void lost(void)
{
	__atomic_fetch_add(&rec_head->dropped, 1, __ATOMIC_RELAXED);
}

/* Times of a chunk never run backwards, also where a chunk came from another thread. */
uint64_t rec_stamp(struct rec_lane *lane, uint64_t t_ns)
{
	if (t_ns < lane->last_ns)
		t_ns = lane->last_ns;
	lane->last_ns = t_ns;
	return t_ns;
}

static struct spool_word fill(struct rec_lane *lane, struct spool_event *e, const struct rec_event *ev,
			      uint64_t t_ns, uint32_t stack)
{
	e->t_ns = rec_stamp(lane, t_ns);
	e->addr = ev->addr;
	e->size = ev->size;
	e->stack = stack;
	e->pool = ev->pool;
	e->context = ev->context;
	return (struct spool_word){.kind = SPOOL_EVENT,
				   .op = ev->op,
				   .words = sizeof *e / 8,
				   .device = ev->device,
				   .stream = ev->stream};
}

void rec_put(struct rec_lane *lane, const struct rec_event *ev, uint64_t t_ns, uint32_t stack, bool off)
{
	struct spool_event *e = rec_room(lane, sizeof *e);
	struct spool_word w;

	if (!e) {
		lost();
		return;
	}
	w = fill(lane, e, ev, t_ns, stack);
	w.flags = off ? SPOOL_WHILE_OFF : 0;
	rec_commit(lane, e, w);
}

void rec_put_fail(struct rec_lane *lane, const struct rec_event *ev, uint64_t t_ns, uint32_t stack, int error,
		  uint64_t free, uint64_t total)
{
	struct spool_fail *f = rec_room(lane, sizeof *f);
	struct spool_word w;

	if (!f) {
		lost();
		return;
	}
	w = fill(lane, &f->ev, ev, t_ns, stack);
	f->error = error;
	f->free = free;
	f->total = total;
	w.kind = SPOOL_FAIL;
	w.words = sizeof *f / 8;
	rec_commit(lane, f, w);
}
