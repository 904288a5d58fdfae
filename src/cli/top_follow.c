/* top_follow.c: see top_follow.h. */
#include "cli/top_follow.h"
#include "base/mem.h"
#include "model/fold.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLICE	   100000      /* records, between two foldings */
#define BASES	   24	       /* moments of the past minute that are remembered, */
#define BASE_NS	   3000000000  /* so far apart */
#define BUDGET_NS  300000000   /* of a look in a hurry */
#define SETTLED_NS 100000000u /* by then an event has been written: writing one takes microseconds */

struct follow {
	struct spool_finder finder;
	char *path;
	struct spool_follow *spool;
	struct pulse_past past;
	struct pulse_base base[BASES]; /* oldest first */
	size_t n;
	bool begun; /* the first base is there */
	struct pulse pulse;
};

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool begin(struct follow *f)
{
	struct err e = {0};

	f->spool = spool_follow_open(f->path, &(struct spool_options){.finder = &f->finder}, &e);
	return f->spool != NULL;
}

static void end(struct follow *f)
{
	pulse_free(&f->pulse);
	while (f->n)
		pulse_base_free(&f->base[--f->n]);
	if (f->spool)
		spool_follow_close(f->spool);
	f->spool = NULL;
	f->past = (struct pulse_past){0};
	f->begun = false;
}

struct follow *follow_open(struct recording_names *names, const char *spool)
{
	struct follow *f = mem_zalloc(1, sizeof *f);

	f->finder = recording_finder(names);
	f->path = mem_strdup(spool);
	if (begin(f))
		return f;
	follow_close(f);
	return NULL;
}

void follow_close(struct follow *f)
{
	end(f);
	free(f->path);
	free(f);
}

/* Fold what was read so far: what remains is the state now. */
static void fold(struct follow *f)
{
	struct model *m = spool_follow_model(f->spool);

	model_link(m);
	pulse_fold(&f->past, m);
	spool_follow_folded(f->spool);
	model_link(m);
}

/* Remember how it stands at t_ns; of the older ones only what the window still needs. */
static void add_base(struct follow *f, int64_t t_ns)
{
	struct pulse_base *b;

	if (f->n && t_ns - f->base[f->n - 1].t_ns < BASE_NS)
		return;
	while (f->n == BASES || (f->n > 1 && f->base[1].t_ns <= t_ns - FOLLOW_WINDOW_NS)) {
		pulse_base_free(&f->base[0]);
		memmove(&f->base[0], &f->base[1], --f->n * sizeof *f->base);
	}
	b = &f->base[f->n++];
	pulse_base_take(b, spool_follow_model(f->spool), spool_follow_model(f->spool)->ev.n - 1, t_ns);
	b->events += f->past.events;
}

/* Read up to a time; 1: all there is, 0: the time is up, -1: start anew, -2: give up. */
static int read_until(struct follow *f, uint64_t until_ns, int64_t deadline)
{
	long n;

	while ((n = spool_follow_read(f->spool, until_ns, SLICE)) > 0) {
		if (model_maps(spool_follow_model(f->spool)))
			return -2;
		if (n == SLICE)
			fold(f);
		if (n < SLICE)
			return 1;
		if (clock_ns() > deadline)
			return 0;
	}
	return n < 0 ? -1 : 1;
}

static int read_on(struct follow *f, int64_t now, int64_t until, int64_t deadline)
{
	int64_t start = (int64_t)spool_follow_start_ns(f->spool), age = now - start;
	int64_t first = now - (age / 2 < FOLLOW_WINDOW_NS ? age / 2 : FOLLOW_WINDOW_NS);
	int rc;

	if (!f->begun) { /* the window's beginning lies in the past already */
		rc = read_until(f, (uint64_t)first, deadline);
		if (rc != 1)
			return rc;
		fold(f);
		add_base(f, first - start);
		f->begun = true;
	}
	return read_until(f, (uint64_t)until, deadline);
}

/* The last moment that the window does not begin after. */
static const struct pulse_base *base_at(const struct follow *f, int64_t begin_ns)
{
	size_t i = 0;

	while (i + 1 < f->n && f->base[i + 1].t_ns <= begin_ns)
		i++;
	return &f->base[i];
}

bool follow_look(struct follow *f, bool hurry, const struct pulse **p, const struct model **m, bool *behind)
{
	int64_t now = clock_ns(), until = hurry ? now - SETTLED_NS : now, age;
	static const struct pulse_base nothing;
	int rc, tries = 0;

	while ((rc = read_on(f, now, until, hurry ? now + BUDGET_NS : INT64_MAX)) == -1 && tries++ < 3) {
		end(f);
		if (!begin(f))
			return false;
	}
	if (rc < 0)
		return false;
	fold(f);
	age = now - (int64_t)spool_follow_start_ns(f->spool);
	pulse_free(&f->pulse);
	pulse_since(&f->pulse, spool_follow_model(f->spool), &f->past,
		    f->n ? base_at(f, age - (age / 2 < FOLLOW_WINDOW_NS ? age / 2 : FOLLOW_WINDOW_NS)) : &nothing, age);
	if (f->begun && rc == 1)
		add_base(f, age);
	*p = &f->pulse;
	*m = spool_follow_model(f->spool);
	*behind = !rc;
	return true;
}
