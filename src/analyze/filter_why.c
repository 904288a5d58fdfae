/* filter_why.c: nothing meets the conditions; says which of them, and what there is instead. */
#include "analyze/filter_sieve.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 8 /* told of each column; the others are counted */

static bool met_by_some(struct sieve *s, size_t i)
{
	size_t row;

	for (row = 0; row < s->m->ev.n; row++)
		if (filter_is_block(s->m, row) && filter_meets(s, i, row))
			return true;
	return false;
}

/* What the row has there, as a condition would name it. */
static void name(struct text *t, const struct model *m, enum key key, size_t row)
{
	const struct columns *c = &m->ev;
	const struct thread_info *thread = &m->threads[c->thread[row]];
	const struct pool_info *pool = &m->pools[c->pool[row]];

	if (key == KEY_DEVICE && c->device[row] == MODEL_NO_DEVICE)
		text_puts(t, "none (host memory)");
	else if (key == KEY_DEVICE)
		text_u64(t, c->device[row]);
	else if (key == KEY_STREAM)
		text_printf(t, m->streams[c->stream[row]].handle ? "0x%llx" : "%llu",
		            (unsigned long long)m->streams[c->stream[row]].handle);
	else if (key == KEY_KIND)
		text_puts(t, gms_kind_info[model_kind(m, row)].name);
	else if (key == KEY_THREAD && *model_text(m, thread->name))
		text_puts(t, model_text(m, thread->name));
	else if (key == KEY_THREAD)
		text_u64(t, thread->tid);
	else if (pool->handle)
		text_printf(t, "0x%llx", (unsigned long long)pool->handle);
	else if (!pool->id[0] && !pool->id[1] && pool->small)
		text_puts(t, pool->small == 1 ? "small" : "large");
	else
		text_u64(t, pool->id[1]);
}

static uint16_t value_of(const struct model *m, enum key key, size_t row)
{
	const struct columns *c = &m->ev;

	switch (key) {
	case KEY_DEVICE:
		return c->device[row];
	case KEY_STREAM:
		return c->stream[row];
	case KEY_THREAD:
		return c->thread[row];
	case KEY_POOL:
		return c->pool[row];
	default:
		return (uint16_t)model_kind(m, row);
	}
}

/* "; its streams: 0, 0x7f10 and 3 more". The two pools of a private id have one name. */
static void tell_values(struct text *t, const struct model *m, enum key key)
{
	uint8_t *seen = mem_zalloc(1 << 16, 1); /* by value */
	char *names[NAMES_MOST];
	size_t row, n = 0, more = 0, i;

	for (row = 0; row < m->ev.n; row++) {
		struct text one = {0};

		if (!filter_is_block(m, row) || seen[value_of(m, key, row)])
			continue;
		seen[value_of(m, key, row)] = 1;
		name(&one, m, key, row);
		for (i = 0; i < n && strcmp(names[i], one.s); i++)
			;
		if (i == n && n < NAMES_MOST) {
			names[n++] = one.s;
			continue;
		}
		more += i == n;
		text_free(&one);
	}
	for (i = 0; i < n; i++) {
		if (i)
			text_puts(t, ", ");
		else
			text_printf(t, "; its %ss: ", filter_key_name[key]);
		text_puts(t, names[i]);
		free(names[i]);
	}
	if (more)
		text_printf(t, " and %zu more", more);
	free(seen);
}

static void tell_sizes(struct text *t, const struct model *m)
{
	uint64_t least = UINT64_MAX, most = 0;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];
	size_t row;

	for (row = 0; row < m->ev.n; row++)
		if (filter_is_block(m, row)) {
			least = m->ev.size[row] < least ? m->ev.size[row] : least;
			most = m->ev.size[row] > most ? m->ev.size[row] : most;
		}
	if (least <= most)
		text_printf(t, "; sizes go from %s to %s", text_bytes(a, least), text_bytes(b, most));
}

static void tell_phases(struct text *t, const struct model *m)
{
	uint32_t told[NAMES_MOST];
	size_t i, k, n = 0;

	for (i = 0; i < m->n_phases && n < NAMES_MOST; i++) {
		for (k = 0; k < n && told[k] != m->phases[i].name; k++)
			;
		if (k < n)
			continue;
		told[n] = m->phases[i].name;
		text_puts(t, n++ ? ", " : "; its phases: ");
		text_puts(t, model_text(m, m->phases[i].name));
	}
	if (!n)
		text_puts(t, "; the recording has no phases");
}

static void tell_end(struct text *t, const struct sieve *s)
{
	char end[TEXT_SIZE_MAX];

	if (s->m->history == HISTORY_NONE)
		text_puts(t, "no history was recorded, so there is no time to look at");
	else if (s->m->has_time)
		text_printf(t, "it ends %s after its beginning", text_ns(end, s->last));
	else
		text_printf(t, "it has no times, and its last event is number %lld", (long long)s->last);
}

char *filter_why(struct sieve *s)
{
	struct text t = {0};
	size_t i;

	if (s->beyond) {
		tell_end(&t, s);
		return t.s;
	}
	for (i = 0; i < s->f->n && met_by_some(s, i); i++)
		;
	if (i == s->f->n) {
		text_puts(&t, s->f->n > 1 ? "no allocation meets all the conditions at once" : "no allocation is in that part");
		return t.s;
	}
	text_printf(&t, "no allocation has %s", s->f->conditions[i].text);
	switch (s->f->conditions[i].key) {
	case KEY_SIZE:
		tell_sizes(&t, s->m);
		break;
	case KEY_PHASE:
		tell_phases(&t, s->m);
		break;
	case KEY_FUNCTION:
	case KEY_FILE:
	case KEY_MODULE:
		break;
	default:
		tell_values(&t, s->m, s->f->conditions[i].key);
	}
	return t.s;
}
