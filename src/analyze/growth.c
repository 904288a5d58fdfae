/* growth.c: one pass that samples what every stack holds, then a judgement per stack. */
#include "analyze/growth.h"
#include "analyze/live.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES 48
#define MIN_SAMPLES 6
#define MIN_RISES   4
#define MAX_TRACKS  20000 /* stacks, those that hold most at the end: what is smaller than that is no trouble */

_Static_assert(MAX_SAMPLES <= 64, "a bit per sample");

struct track { /* one stack, at every sample; first differences, then values */
	uint32_t stack;
	uint32_t first_row;
	int64_t kept; /* bytes still live when the recording ends */
	int64_t bytes[MAX_SAMPLES + 1], count[MAX_SAMPLES + 1];
};

struct sampling {
	const struct model *m;
	uint8_t device;
	bool framework;
	uint8_t role[256];
	size_t at[MAX_SAMPLES]; /* rows after which is sampled, ascending */
	double x[MAX_SAMPLES];
	size_t n;
	struct track *tracks;
	size_t n_tracks;
	uint32_t *place; /* of a stack in tracks, plus one */
	uint64_t last;   /* live at the last sample */
	uint64_t passing[3]; /* bytes taken and given back between two samples, by third */
};

static bool counts(const struct sampling *s, size_t row)
{
	return s->role[s->m->ev.op[row]] == LIVE_ALLOC && s->m->ev.device[row] == s->device;
}

static void sample_steps(struct sampling *s, const struct steps *steps, size_t end)
{
	size_t every = (steps->n + MAX_SAMPLES - 1) / MAX_SAMPLES, i;

	for (i = 0; i < steps->n && s->n < MAX_SAMPLES; i += every) {
		if (steps->row[i] == SIZE_MAX || steps->row[i] >= end ||
		    (s->n && s->at[s->n - 1] >= steps->row[i]))
			continue;
		s->at[s->n] = steps->row[i];
		s->x[s->n++] = (double)i;
	}
}

static void sample_evenly(struct sampling *s, size_t begin, size_t end)
{
	size_t n = (end - begin) / 4, i;

	s->n = n < MAX_SAMPLES ? n : MAX_SAMPLES;
	for (i = 0; i < s->n; i++) {
		s->at[i] = begin + (end - begin) * (i + 1) / s->n - 1;
		s->x[i] = s->m->has_time ? (double)s->m->ev.t_ns[s->at[i]] / 1e9 : (double)s->at[i];
	}
}

/* Where to sample. The end is the last allocation: what follows only tears down. */
static enum growth_unit choose_samples(struct sampling *s, uint32_t *step_name)
{
	size_t begin = s->m->n_initial, end = s->m->ev.n;
	struct steps steps;
	bool by_step;

	while (end > begin && !counts(s, end - 1))
		end--;
	steps_find(s->m, s->device, &steps);
	sample_steps(s, &steps, end);
	/* Steps that are over before the last third were something at the beginning. */
	by_step = s->n >= MIN_SAMPLES && s->at[s->n - 1] >= begin + (end - begin) / 3 * 2;
	if (!by_step)
		sample_evenly(s, begin, end);
	*step_name = by_step ? steps.name : 0;
	steps_free(&steps);
	return by_step ? GROWTH_PER_STEP : s->m->has_time ? GROWTH_PER_SECOND : GROWTH_PER_EVENT;
}

static size_t first_at_or_after(const struct sampling *s, size_t row)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->at[mid] < row)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void hold(struct sampling *s, size_t row, size_t from, size_t to)
{
	struct track *t = &s->tracks[s->place[s->m->ev.stack[row]] - 1];

	if (t->first_row > row)
		t->first_row = (uint32_t)row;
	t->bytes[from] += (int64_t)s->m->ev.size[row];
	t->bytes[to] -= (int64_t)s->m->ev.size[row];
	t->count[from]++;
	t->kept += s->m->ev.peer[row] == MODEL_NO_PEER ? (int64_t)s->m->ev.size[row] : 0;
	t->count[to]--;
}

struct candidate { /* a stack with blocks that outlive a sample */
	uint64_t samples; /* bit per sample before which such a block began */
	uint64_t bytes;   /* at the last sample */
	uint32_t stack;
};

static int most_at_the_end(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* The stacks to be tracked: their blocks began in enough places, and they hold something at the end. */
static void choose_tracks(struct sampling *s, struct candidate *of_stack)
{
	size_t n = 0, i;

	for (i = 0; i < s->m->stacks.n; i++)
		if (of_stack[i].bytes && __builtin_popcountll(of_stack[i].samples) >= MIN_RISES) {
			of_stack[n] = of_stack[i];
			of_stack[n++].stack = (uint32_t)i;
		}
	if (n > MAX_TRACKS)
		qsort(of_stack, n, sizeof *of_stack, most_at_the_end);
	s->n_tracks = n < MAX_TRACKS ? n : MAX_TRACKS;
	s->tracks = mem_zalloc(s->n_tracks, sizeof *s->tracks);
	for (i = 0; i < s->n_tracks; i++) {
		s->tracks[i].stack = of_stack[i].stack;
		s->tracks[i].first_row = UINT32_MAX;
		s->place[of_stack[i].stack] = (uint32_t)i + 1;
	}
}

/* Most blocks live between two samples and are passed over after one comparison. The others are
 * listed first, so that only stacks with enough of them are tracked. */
static void sample(struct sampling *s)
{
	const struct columns *c = &s->m->ev;
	struct kept {
		uint32_t row, from;
	} *kept = NULL;
	size_t row, next = 0, n = 0, cap = 0, i;
	struct candidate *of_stack = mem_zalloc(s->m->stacks.n, sizeof *of_stack);

	for (row = 0; row < c->n; row++) {
		while (next < s->n && s->at[next] < row)
			next++;
		if (next == s->n)
			break;
		if (!counts(s, row))
			continue;
		if (c->peer[row] <= s->at[next]) {
			s->passing[next * 3 / s->n] += c->size[row];
			continue;
		}
		*VEC_PUSH(kept, n, cap) = (struct kept){(uint32_t)row, (uint32_t)next};
		of_stack[c->stack[row]].samples |= 1ull << next;
		of_stack[c->stack[row]].bytes += c->peer[row] > s->at[s->n - 1] ? c->size[row] : 0;
	}
	choose_tracks(s, of_stack);
	for (i = 0; i < n; i++)
		if (s->place[c->stack[kept[i].row]])
			hold(s, kept[i].row, kept[i].from, first_at_or_after(s, c->peer[kept[i].row]));
	free(of_stack);
	free(kept);
}

static void fit(const double *x, const int64_t *y, size_t n, double *slope, double *r2)
{
	double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		mx += x[i] / (double)n;
		my += (double)y[i] / (double)n;
	}
	for (i = 0; i < n; i++) {
		double dx = x[i] - mx, dy = (double)y[i] - my;

		xx += dx * dx;
		xy += dx * dy;
		yy += dy * dy;
	}
	*slope = xx > 0 ? xy / xx : 0;
	*r2 = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

static void extremes(const int64_t *v, size_t from, size_t to, int64_t *min, int64_t *max)
{
	size_t i;

	*min = *max = v[from];
	for (i = from + 1; i < to; i++) {
		*min = v[i] < *min ? v[i] : *min;
		*max = v[i] > *max ? v[i] : *max;
	}
}

/* Has it reached no new height at the end for longer than twice the longest time before? */
static bool is_still(const int64_t *v, size_t n)
{
	size_t longest = 0, since = 0, i;
	int64_t highest = v[0];

	for (i = 1; i < n; i++) {
		since++;
		if (v[i] <= highest)
			continue;
		highest = v[i];
		longest = since > longest && i > n / 3 ? since : longest; /* before that it may not have begun */
		since = 0;
	}
	return since > 2 * longest + 1;
}

/* The rule at the top of growth.h. */
static bool grows(const int64_t *v, size_t n, int64_t *rise)
{
	int64_t min_a, max_a, min_b, max_b, min_c, max_c, jump = 0;
	size_t third = n / 3, i, rises = 0;

	extremes(v, 0, third, &min_a, &max_a);
	extremes(v, third, n - third, &min_b, &max_b);
	extremes(v, n - third, n, &min_c, &max_c);
	*rise = v[n - 1] - max_a;
	if (min_c <= max_a || *rise <= 0 || max_b < max_a || min_c < min_b)
		return false;
	for (i = 1; i < n; i++) {
		jump = v[i] - v[i - 1] > jump ? v[i] - v[i - 1] : jump;
		rises += v[i] > v[i - 1];
	}
	return rises >= MIN_RISES && jump * 2 <= v[n - 1] - min_a && !is_still(v, n);
}

/* From differences to values. */
static void integrate(struct sampling *s)
{
	size_t k, i;

	for (k = 0; k < s->n_tracks; k++) {
		struct track *t = &s->tracks[k];

		for (i = 1; i < s->n; i++) {
			t->bytes[i] += t->bytes[i - 1];
			t->count[i] += t->count[i - 1];
		}
		s->last += (uint64_t)t->bytes[s->n - 1];
	}
}

/* Does it climb evenly along x, and still does in the last third? */
static bool climbs(const double *x, const int64_t *y, size_t n, double *slope, double *r2)
{
	size_t from = n - n / 3 - 1; /* the last third, and where it comes from */
	double late, late_r2;

	fit(x, y, n, slope, r2);
	fit(x + from, y + from, n - from, &late, &late_r2);
	return *r2 >= 0.6 && *slope > 0 && late * 2 >= *slope;
}

static void judge(const struct sampling *s, const struct track *t, struct growth *out, size_t *cap)
{
	struct growth_row row = {.stack = t->stack};
	double order[MAX_SAMPLES], per_sample;
	int64_t rise;
	size_t i;

	if (!grows(t->bytes, s->n, &rise))
		return;
	for (i = 0; i < s->n; i++)
		order[i] = (double)i;
	if (!climbs(s->x, t->bytes, s->n, &row.slope, &row.r2) &&
	    !climbs(order, t->bytes, s->n, &per_sample, &row.r2)) /* time may have stood still, on a busy machine */
		return;
	/* A framework's recording ends while the program runs: what is gone by then was not kept. */
	if (s->framework && t->kept * 2 < rise)
		return;
	row.bytes = (uint64_t)(t->bytes[s->n - 1] - t->bytes[0]);
	row.count = t->count[s->n - 1] > t->count[0] ? (uint64_t)(t->count[s->n - 1] - t->count[0]) : 0;
	row.first_row = t->first_row;
	row.first_t_ns = s->m->ev.t_ns[t->first_row];
	/* The same number of blocks, only larger ones, is worth telling where it is much. */
	if (!row.count && row.bytes * 10 < s->last)
		return;
	out->bytes += row.bytes;
	*VEC_PUSH(out->rows, out->n, *cap) = row;
}

static int largest_first(const void *a, const void *b)
{
	const struct growth_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* How often total memory turns from falling to rising, leaving out ripples below `least`. */
static unsigned cycles(const struct model *m, uint8_t device, uint64_t least)
{
	struct live_walk w;
	uint64_t now = 0, extreme = 0;
	unsigned turns = 0;
	bool rising = true;

	for (live_begin(&w, m, device); live_next(&w);) {
		if (w.ends != MODEL_NO_PEER)
			now -= m->ev.size[w.ends];
		if (w.begins != MODEL_NO_PEER)
			now += m->ev.size[w.begins];
		if (rising ? now > extreme : now < extreme) {
			extreme = now;
		} else if (rising ? extreme - now > least : now - extreme > least) {
			rising = !rising;
			turns += rising;
			extreme = now;
		}
	}
	live_end(&w);
	return turns;
}

static uint64_t highest(const struct model *m, uint8_t device)
{
	struct live l;
	uint64_t bytes;

	live_at(m, device, live_peak_row(m, device), &l);
	bytes = l.bytes;
	live_free(&l);
	return bytes;
}

/* Is what grew kept by something that happens again and again, not by setting up? */
static bool repeats(const struct sampling *s, const struct growth *g, uint64_t peak)
{
	uint64_t third = g->bytes / 3 * GROWTH_CHURN;

	if (g->unit == GROWTH_PER_STEP ||
	    (s->passing[0] >= third && s->passing[1] >= third && s->passing[2] >= third))
		return true;
	return cycles(s->m, s->device, (peak == MODEL_UNKNOWN ? highest(s->m, s->device) : peak) / 20 + 1) >=
	       GROWTH_CYCLES;
}

void growth_find(const struct model *m, uint8_t device, uint64_t peak, struct growth *out)
{
	struct sampling s = {.m = m, .device = device};
	size_t i, cap = 0;

	*out = (struct growth){0};
	if (m->history == HISTORY_NONE || m->frees_left_out)
		return;
	s.framework = live_level(m, device) == GMS_FRAMEWORK;
	live_roles(s.framework ? GMS_FRAMEWORK : GMS_DRIVER, s.role);
	out->unit = choose_samples(&s, &out->step_name);
	if (s.n < MIN_SAMPLES)
		return;
	out->samples = s.n;
	s.place = mem_zalloc(m->stacks.n, sizeof *s.place);
	sample(&s);
	integrate(&s);
	for (i = 0; i < s.n_tracks; i++)
		judge(&s, &s.tracks[i], out, &cap);
	if (out->n && !repeats(&s, out, peak))
		out->n = out->bytes = 0;
	if (out->n)
		qsort(out->rows, out->n, sizeof *out->rows, largest_first);
	free(s.tracks);
	free(s.place);
}

void growth_free(struct growth *g)
{
	free(g->rows);
	*g = (struct growth){0};
}
