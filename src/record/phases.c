/* phases.c: what the program tells by itself: include/gpumemsnap.h and the trigger signal. */
#include "gpumemsnap.h"
#include "record/hook.h"
#include "record/phases.h"
#include <signal.h>

void rec_phase(struct rec_site site, enum spool_phase_what what, const char *name, const char *domain, uint64_t id)
{
	struct spool_phase *p;
	struct rec_lane *lane;
	uint64_t now = rec_now();
	uint32_t name_id, domain_id;
	uint16_t context;
	uint8_t device;
	int saved;

	if (rec_mode() != REC_ALL || !(lane = rec_begin(site, &saved)))
		return;
	name_id = rec_string(lane, name);
	domain_id = rec_string(lane, domain);
	device = rec_device(lane, &context);
	if (device < REC_DEVICES && what != SPOOL_POP && what != SPOOL_END &&
	    rec_due(now, rec_sampled_ns[device], rec_options.sample))
		rec_sample(lane, device, now);
	p = rec_room(lane, sizeof *p);
	if (p) {
		p->t_ns = rec_stamp(lane, now);
		p->id = id;
		p->name = name_id;
		p->domain = domain_id;
		rec_commit(lane, p,
			   (struct spool_word){.kind = SPOOL_PHASE, .op = (uint8_t)what, .words = sizeof *p / 8, .device = device});
	}
	rec_end(lane, saved);
}

static void snapshot(struct rec_site site, const char *name, uint32_t by)
{
	struct spool_snapshot *s;
	struct rec_lane *lane;
	uint32_t name_id;
	int saved;

	if (rec_mode() == REC_NOTHING || !(lane = rec_begin(site, &saved)))
		return;
	name_id = rec_string(lane, name);
	s = rec_room(lane, sizeof *s);
	if (s) {
		s->t_ns = rec_stamp(lane, rec_now());
		s->name = name_id;
		s->by = by;
		rec_commit(lane, s, (struct spool_word){.kind = SPOOL_SNAPSHOT, .words = sizeof *s / 8});
		__atomic_fetch_add(&rec_head->snapshots, 1, __ATOMIC_RELEASE);
	}
	rec_end(lane, saved);
}

int gms_request(enum gms_request what, const char *name);
REC_EXPORT int gms_request(enum gms_request what, const char *name)
{
	switch (what) {
	case GMS_REQUEST_MARK:
		rec_phase(REC_SITE, SPOOL_MARK, name, NULL, 0);
		break;
	case GMS_REQUEST_PHASE_BEGIN:
		rec_phase(REC_SITE, SPOOL_PUSH, name, NULL, 0);
		break;
	case GMS_REQUEST_PHASE_END:
		rec_phase(REC_SITE, SPOOL_POP, NULL, NULL, 0);
		break;
	case GMS_REQUEST_SNAPSHOT:
		snapshot(REC_SITE, name, 0);
		break;
	case GMS_REQUEST_RECORD_ON:
	case GMS_REQUEST_RECORD_OFF:
		rec_switch(what == GMS_REQUEST_RECORD_ON);
		break;
	case GMS_REQUEST_IS_RECORDING:
		return rec_mode() == REC_ALL;
	}
	return 0;
}

static void on_signal(int number)
{
	(void)number;
	snapshot(REC_SITE, NULL, 1);
}

void rec_trigger_init(void)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;

	if (rec_options.signal <= 0 || sigaction(rec_options.signal, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
		return;
	sigaction(rec_options.signal, &act, NULL);
}
