/* config.c: the options a recorded process is given in its environment (wire/spool.h says which).
 *
 * Read once, when the library is loaded, and copied: the program may change its environment later.
 */
#include "record/rec.h"
#include <stdlib.h>
#include <string.h>

struct rec_options rec_options = {.depth = SPOOL_DEPTH,
				  .stack_alloc = true,
				  .stack_free = true,
				  .python = true,
				  .sample = 100000000};

static uint64_t number(const char *s)
{
	uint64_t n = 0;

	while (*s >= '0' && *s <= '9')
		n = n * 10 + (uint64_t)(*s++ - '0');
	return n;
}

/* The value if the option at s is called `key`, else NULL. */
static const char *value_of(const char *s, const char *key)
{
	size_t n = strlen(key);

	return !strncmp(s, key, n) && s[n] == '=' ? s + n + 1 : NULL;
}

static bool is(const char *v, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(v, word, n) && (v[n] == ',' || !v[n]);
}

static void take(const char *s)
{
	struct rec_options *o = &rec_options;
	const char *v;

	if ((v = value_of(s, "parent")))
		o->parent = (int)number(v);
	else if ((v = value_of(s, "stacks")))
		o->stack_alloc = !is(v, "none"), o->stack_free = !is(v, "none") && !is(v, "alloc");
	else if ((v = value_of(s, "depth")))
		o->depth = (uint32_t)number(v);
	else if ((v = value_of(s, "python")))
		o->python = number(v) != 0;
	else if ((v = value_of(s, "max-size")))
		o->max_bytes = number(v);
	else if ((v = value_of(s, "grow")))
		o->grow = number(v);
	else if ((v = value_of(s, "filter-size")))
		o->filter_bytes = number(v);
	else if ((v = value_of(s, "start-after")))
		o->start_after = number(v);
	else if ((v = value_of(s, "duration")))
		o->duration = number(v);
	else if ((v = value_of(s, "off")))
		o->off = number(v) != 0;
	else if ((v = value_of(s, "signal")))
		o->signal = (int)number(v);
	else if ((v = value_of(s, "sample")))
		o->sample = number(v);
}

/* The process's number in an MPI or torchrun job, by whoever started it; -1 if there is none. */
static int rank_of(void)
{
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		const char *v = getenv(names[i]);

		if (v && *v >= '0' && *v <= '9')
			return (int)number(v);
	}
	return -1;
}

void rec_options_read(void)
{
	static char kept[512];
	struct rec_options *o = &rec_options;
	const char *dir = getenv("GPUMEMSNAP_SPOOL"), *text = getenv("GPUMEMSNAP_OPTIONS"), *s;

	if (dir && dir[0] == '/' && strlen(dir) < sizeof o->dir)
		memcpy(o->dir, dir, strlen(dir) + 1);
	if (text)
		memcpy(kept, text, strnlen(text, sizeof kept - 1));
	o->text = kept;
	o->rank = rank_of();
	for (s = kept; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
		take(s);
	if (o->depth < 1)
		o->depth = 1;
	if (o->depth > SPOOL_DEPTH_MAX)
		o->depth = SPOOL_DEPTH_MAX;
}
