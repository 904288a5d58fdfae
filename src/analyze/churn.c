/* churn.c: temporaries, rates, cache flushes and stack coverage; one pass each. */
#include "analyze/churn.h"
#include "analyze/frames.h"
#include "analyze/live.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_short(const struct model *m, size_t row)
{
	uint32_t end = m->ev.peer[row];

	if (end == MODEL_NO_PEER)
		return false;
	return m->has_time ? m->ev.t_ns[end] - m->ev.t_ns[row] <= CHURN_SHORT_NS
	                   : end - row <= CHURN_SHORT_ROWS;
}

void churn_blocks(const struct model *m, uint8_t device, struct churn *out)
{
	const struct columns *c = &m->ev;
	uint8_t role[256];
	double seconds = NAN;
	size_t row;

	if (m->has_time && c->n > m->n_initial)
		seconds = (double)(c->t_ns[c->n - 1] - c->t_ns[m->n_initial]) / 1e9;
	live_roles(live_level(m, device), role);
	for (row = m->n_initial; row < c->n; row++) {
		if (role[c->op[row]] != LIVE_ALLOC || c->device[row] != device)
			continue;
		out->allocs++;
		out->alloc_bytes += c->size[row];
		if (is_short(m, row)) {
			out->temporaries++;
			out->temporary_bytes += c->size[row];
		}
	}
	out->allocs_per_s = seconds > 0 ? (double)out->allocs / seconds : NAN;
	out->bytes_per_s = seconds > 0 ? (double)out->alloc_bytes / seconds : NAN;
}

void churn_segments(const struct model *m, uint8_t device, struct churn *out)
{
	const struct columns *c = &m->ev;
	size_t row, half = m->n_initial + (c->n - m->n_initial) / 2, run = 0;
	uint64_t run_bytes = 0;

	for (row = m->n_initial; row <= c->n; row++) {
		bool ours = row < c->n && c->device[row] == device;
		enum gms_action action = ours ? GMS_OP_ACTION(c->op[row]) : GMS_A_OTHER;
		bool segment = ours && GMS_OP_KIND(c->op[row]) == GMS_K_SEGMENT;

		if (row < c->n && !ours)
			continue;
		if (segment && (action == GMS_A_FREE || action == GMS_A_UNMAP)) {
			out->device_frees++;
			run_bytes += c->size[row];
			run++;
			continue;
		}
		if (run >= CHURN_FLUSH) {
			out->flushes++;
			out->flushed_segments += run;
			out->flushed_bytes += run_bytes;
		}
		run = 0;
		run_bytes = 0;
		if (segment && (action == GMS_A_ALLOC || action == GMS_A_MAP)) {
			out->device_allocs++;
			out->late_device_allocs += row >= half;
		}
	}
}

/* Nobody asked for memory where the recorder took a sample, and segments are the allocator's own affair. */
static bool is_of_the_program(uint8_t op)
{
	return GMS_OP_ACTION(op) != GMS_A_INFO && GMS_OP_KIND(op) != GMS_K_SEGMENT &&
	       GMS_OP_KIND(op) != GMS_K_TRACE;
}

void coverage_find(const struct model *m, uint8_t device, struct coverage *out)
{
	const struct columns *c = &m->ev;
	size_t row;

	*out = (struct coverage){0};
	for (row = m->n_initial; row < c->n; row++) {
		if (c->device[row] != device || !is_of_the_program(c->op[row]))
			continue;
		out->events++;
		if (m->stacks.at[c->stack[row] + 1] == m->stacks.at[c->stack[row]])
			out->without[c->op[row]]++;
		else
			out->with_stack++;
	}
}
