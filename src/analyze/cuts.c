/* cuts.c: the first and last event of each small part of the window show where nothing happens for long. */
#include "analyze/cuts.h"
#include "analyze/bands.h"

#define PARTS  1000            /* of the window */
#define FEW    200             /* events, that can be seen as they are */
#define SHORT  (CUTS_MAX)      /* idle for less than one in so many of the window stays */
#define AS_CUT 40              /* a cut is as wide as one in so many of what is not cut */

struct part {
	int64_t first, last;
};

static size_t find_parts(struct part *part, const struct bands_axis *x, const struct model *m, int64_t shift)
{
	struct bands_cursor k = {.axis = x};
	size_t n = 0;

	for (size_t row = m->n_initial; row < m->ev.n; row++) {
		int64_t t = m->ev.t_ns[row] + shift;
		if (GMS_OP_ACTION(m->ev.op[row]) == GMS_A_INFO)
			continue; /* samples are taken in idle times, too */
		struct part *p = &part[bands_next(&k, t)];
		p->first = t < p->first ? t : p->first;
		p->last = t > p->last ? t : p->last;
		n++;
	}
	return n;
}

static int64_t cut(struct cuts *c, int64_t from, int64_t to, int64_t least)
{
	if (to - from <= least || c->n == CUTS_MAX)
		return 0;
	c->v[c->n++] = (struct cut){.from = from, .to = to};
	return to - from;
}

void cuts_find(struct cuts *c, const struct model *m, const int64_t *shift, size_t n, int64_t from,
               int64_t to)
{
	struct bands_axis x = {from, to, PARTS};
	struct part part[PARTS];
	int64_t since = from, idle = 0, removed = 0;
	size_t events = 0;

	*c = (struct cuts){0};
	if (from < -CUTS_FAR || to > CUTS_FAR || from >= to)
		return;
	int64_t least = (to - from) / SHORT;
	for (int i = 0; i < PARTS; i++)
		part[i] = (struct part){INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < n; i++)
		events += find_parts(part, &x, &m[i], shift[i]);
	for (int i = 0; i < PARTS; i++)
		if (part[i].first <= part[i].last) {
			idle += cut(c, since, part[i].first, least);
			since = part[i].last;
		}
	idle += cut(c, since, to, least);
	if (events < FEW || idle < (to - from) / 2 || idle >= to - from)
		c->n = 0;
	c->width = (to - from - idle) / AS_CUT + 1;
	for (size_t i = 0; i < c->n; i++) {
		c->v[i].at = c->v[i].from - removed;
		removed += c->v[i].to - c->v[i].from - c->width;
	}
}

/* v of `whole` is so much of `of`. */
static int64_t part_of(int64_t v, int64_t whole, int64_t of)
{
	return (int64_t)((__int128)v * of / whole);
}

int64_t cuts_shown(const struct cuts *c, int64_t real)
{
	int64_t removed = 0;

	for (size_t i = 0; i < c->n && real > c->v[i].from; i++) {
		const struct cut *k = &c->v[i];
		if (real < k->to)
			return k->at + part_of(real - k->from, k->to - k->from, c->width);
		removed += k->to - k->from - c->width;
	}
	return real - removed;
}

int64_t cuts_real(const struct cuts *c, int64_t shown)
{
	int64_t removed = 0;

	for (size_t i = 0; i < c->n && shown > c->v[i].at; i++) {
		const struct cut *k = &c->v[i];
		if (shown < k->at + c->width)
			return k->from + part_of(shown - k->at, c->width, k->to - k->from);
		removed += k->to - k->from - c->width;
	}
	return shown + removed;
}
