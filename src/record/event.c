/* event.c: the rare ends of writing an event; rec_put, the hot one, is in rec.h. */
#include "record/rec.h"

void rec_dropped(void)
{
	__atomic_fetch_add(&rec_head->dropped, 1, __ATOMIC_RELAXED);
}

void rec_put_fail(struct rec_lane *lane, const struct rec_event *ev, uint64_t t_ns, uint32_t stack, int error,
		  uint64_t free, uint64_t total)
{
	struct spool_fail *f = rec_room(lane, sizeof *f);

	if (!f) {
		rec_dropped();
		return;
	}
	rec_fill(lane, &f->ev, ev, t_ns, stack);
	f->error = error;
	f->free = free;
	f->total = total;
	rec_commit(lane, f,
		   (struct spool_word){.kind = SPOOL_FAIL,
				       .op = ev->op,
				       .words = sizeof *f / 8,
				       .device = ev->device,
				       .stream = ev->stream});
}
