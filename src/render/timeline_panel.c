/* timeline_panel.c: what one panel of a timeline shows, gathered from the analyses. */
#include "analyze/code.h"
#include "analyze/series.h"
#include "base/hash.h"
#include "base/mem.h"
#include "render/timeline.h"
#include <stdlib.h>
#include <string.h>

/* --- bands by origin ------------------------------------------------------------------------ */

/* Names get numbers in the order in which panels show them. */
static uint32_t number_of(const struct timeline_picture *t, const struct band *b, size_t place)
{
	struct text name = {0};
	bool fresh;

	if (!t->names)
		return (uint32_t)place;
	group_label(&name, t->m, t->by, b->key);
	uint32_t *at = map64_put(t->names, hash_bytes(name.s, name.n), &fresh);
	if (fresh)
		*at = (uint32_t)t->names->n - 1;
	text_free(&name);
	return *at;
}

static uint32_t colour_of(const struct timeline_picture *t, const struct palette *pal, const struct band *b,
                          size_t place)
{
	if (b->key == BANDS_REST)
		return pal->rest;
	switch (t->by) {
	case BY_STACK:
		return palette_stack(pal, t->rank, b->key);
	case BY_STREAM:
	case BY_THREAD:
	case BY_POOL:
	case BY_KIND:
	case BY_SIZE:
		return palette_category(b->key); /* numbers of the recording: the same in every picture */
	default:
		return palette_category(number_of(t, b, place));
	}
}

static char *take(struct text *t)
{
	return t->s ? t->s : mem_strdup("");
}

static void name_band(struct timeline_panel *p, struct timeline_band *out, const struct timeline_picture *t,
                      const struct band *b)
{
	struct text name = {0}, brief = {0};
	char count[TEXT_SIZE_MAX];

	if (b->key == BANDS_REST) {
		text_printf(&name, "everything else (%s)", text_count(count, b->members));
		text_puts(&brief, "everything else");
	} else if (t->by == BY_STACK) {
		code_stack_name(&p->codes, t->m, b->key, &name);
		text_add(&brief, name.s, code_name_inner(name.s));
	} else {
		group_label(&name, t->m, t->by, b->key);
		group_label(&brief, t->m, t->by, b->key);
	}
	out->name = take(&name);
	out->brief = take(&brief);
}

/* Bands whose stacks have one name get behind it where they part. */
static void tell_apart(struct timeline_panel *p, const struct model *m, const struct bands *b)
{
	uint32_t twin[BANDS_MAX + 1] = {0};

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(p->band[i].name, p->band[k].name)) {
				twin[i] = b->band[k].key;
				twin[k] = twin[k] ? twin[k] : b->band[i].key;
			}
	for (size_t i = 0; i < p->n; i++) {
		struct text t = {0};
		if (!twin[i])
			continue;
		text_printf(&t, "%s \xc2\xb7 ", p->band[i].name);
		size_t before = t.n;
		code_stack_difference(&p->codes, m, b->band[i].key, twin[i], &t);
		if (t.n > before) {
			free(p->band[i].name);
			p->band[i].name = t.s;
		} else {
			text_free(&t);
		}
	}
}

static void active_bands(struct timeline_panel *p, const struct timeline_picture *t,
                         const struct palette *pal, size_t max)
{
	struct bands *b = &p->bands;

	if (t->view == TIMELINE_SEGMENTS)
		bands_choose(b, t->m, p->device, t->by, &t->axis, max);
	else
		bands_make(b, t->m, p->device, t->by, &t->axis, max);
	p->n = b->n;
	for (size_t i = 0; i < b->n; i++) {
		p->band[i].rgb = colour_of(t, pal, &b->band[i], i);
		p->band[i].at_peak = b->band[i].at_peak;
		p->band[i].value = b->band[i].value;
		name_band(p, &p->band[i], t, &b->band[i]);
	}
	if (t->by == BY_STACK)
		tell_apart(p, t->m, b);
	p->high = b->high;
	p->low = b->low;
	p->peak = b->peak;
	p->peak_column = b->peak_column;
	p->peak_t = b->peak_row == SIZE_MAX ? INT64_MIN : t->m->ev.t_ns[b->peak_row];
	p->peak_event = b->peak_row == SIZE_MAX ? -1 : totals_event(t->m, p->device, b->peak_row);
}

/* --- bands by use: what is held from the device --------------------------------------------- */

static uint64_t at_row(const uint64_t *v, size_t row)
{
	return row == SIZE_MAX || v[row] == MODEL_UNKNOWN ? 0 : v[row];
}

static void use_band(struct timeline_panel *p, const char *name, uint32_t rgb)
{
	struct timeline_band *b = &p->band[p->n];

	b->name = mem_strdup(name);
	b->brief = mem_strdup(name);
	b->rgb = rgb;
	b->value = p->own[p->n];
	b->at_peak = b->value[p->peak_column];
	p->n++;
}

/* Requested ≤ active ≤ reserved; a sum that is not known adds nothing to the one below it. */
static void split_column(struct timeline_panel *p, const struct series *s, int i, size_t row)
{
	uint64_t requested = at_row(s->value[TOTAL_REQUESTED], row),
	         active = at_row(s->value[TOTAL_ACTIVE], row),
	         reserved = at_row(s->value[TOTAL_RESERVED], row);

	active = active < requested ? requested : active;
	reserved = reserved < active ? active : reserved;
	p->own[0][i] = requested;
	p->own[1][i] = active - requested;
	p->own[2][i] = reserved - active;
}

static void reserved_bands(struct timeline_panel *p, const struct timeline_picture *t,
                           const struct palette *pal)
{
	size_t columns = (size_t)t->axis.columns, *row = mem_alloc(columns * sizeof *row);
	struct series s;

	series_make(&s, t->m, p->device, 1u << TOTAL_REQUESTED | 1u << TOTAL_ACTIVE | 1u << TOTAL_RESERVED);
	for (int k = 0; k < 3; k++)
		p->own[k] = mem_zalloc(columns, sizeof(uint64_t));
	p->high = p->own_high = mem_zalloc(columns, sizeof(uint64_t));
	p->low = p->own_low = mem_zalloc(columns, sizeof(uint64_t));
	bands_of_series(t->m, p->device, &t->axis, s.value[TOTAL_RESERVED], p->high, p->low, row);
	for (size_t i = 0; i < columns; i++) {
		p->high[i] = p->high[i] == MODEL_UNKNOWN ? 0 : p->high[i];
		p->low[i] = p->low[i] == MODEL_UNKNOWN ? 0 : p->low[i];
		split_column(p, &s, (int)i, row[i]);
		if (p->high[i] > p->peak) {
			p->peak = p->high[i];
			p->peak_column = (int)i;
			bool inside = row[i] != SIZE_MAX && row[i] >= t->m->n_initial;
			p->peak_t = inside ? t->m->ev.t_ns[row[i]] : INT64_MIN;
			p->peak_event = inside ? totals_event(t->m, p->device, row[i]) : -1;
		}
	}
	use_band(p, "in use: bytes requested", palette_category(5));
	use_band(p, "rounding and unsplit remainders", palette_category(4));
	use_band(p, "cached: free inside what is held", pal->rest);
	series_free(&s);
	free(row);
}

/* --- lines and marks ------------------------------------------------------------------------ */

static uint64_t highest(const uint64_t *v, int n)
{
	uint64_t best = MODEL_UNKNOWN;

	for (int i = 0; v && i < n; i++)
		if (v[i] != MODEL_UNKNOWN && (best == MODEL_UNKNOWN || v[i] > best))
			best = v[i];
	return best;
}

static uint64_t *columns_of(const struct timeline_panel *p, const struct timeline_picture *t,
                            const uint64_t *value)
{
	uint64_t *high = mem_alloc((size_t)t->axis.columns * sizeof *high);

	bands_of_series(t->m, p->device, &t->axis, value, high, NULL, NULL);
	if (highest(high, t->axis.columns) != MODEL_UNKNOWN)
		return high;
	free(high);
	return NULL;
}

static void reserved_line(struct timeline_panel *p, const struct timeline_picture *t)
{
	struct series s;

	if (series_all_same(t->m, p->device))
		return; /* the line would only retrace the bands */
	series_make(&s, t->m, p->device, 1u << TOTAL_RESERVED);
	p->reserved = columns_of(p, t, s.value[TOTAL_RESERVED]);
	p->reserved_peak = highest(p->reserved, t->axis.columns);
	series_free(&s);
	/* Without a cache the line would only retrace the bands. */
	bool same = p->reserved != NULL;
	for (int i = 0; same && i < t->axis.columns; i++)
		same = p->reserved[i] == p->high[i] || (p->reserved[i] == MODEL_UNKNOWN && !p->high[i]);
	if (same) {
		free(p->reserved);
		p->reserved = NULL;
	}
}

/* Samples of the whole device's memory, where the recording has them. */
static void used_line(struct timeline_panel *p, const struct timeline_picture *t)
{
	const struct columns *c = &t->m->ev;
	uint64_t *value = NULL, last = MODEL_UNKNOWN;

	for (size_t row = 0; row < c->n; row++) {
		bool sample = c->op[row] == GMS_OP(GMS_K_MEMORY, GMS_A_INFO) && c->device[row] == p->device &&
		              c->size[row] >= c->addr[row];
		if (sample && !value) {
			value = mem_alloc(c->n * sizeof *value);
			memset(value, 0xff, row * sizeof *value);
		}
		if (sample)
			last = c->size[row] - c->addr[row];
		if (value)
			value[row] = last;
	}
	p->used = value ? columns_of(p, t, value) : NULL;
	p->used_peak = highest(p->used, t->axis.columns);
	free(value);
}

static void count_events(struct timeline_panel *p, const struct timeline_picture *t)
{
	const struct columns *c = &t->m->ev;

	for (size_t row = t->m->n_initial; row < c->n; row++)
		p->events +=
		    c->device[row] == p->device && c->t_ns[row] >= t->axis.from && c->t_ns[row] <= t->axis.to;
}

void timeline_panel(struct timeline_panel *p, const struct timeline_picture *t, uint8_t device,
                    size_t max_bands)
{
	struct palette pal;

	palette_make(&pal, t->dark);
	*p = (struct timeline_panel){.m = t->m,
	                             .axis = t->axis,
	                             .device = device,
	                             .peak_t = INT64_MIN,
	                             .peak_event = -1,
	                             .reserved_peak = MODEL_UNKNOWN,
	                             .limit = t->m->device[device].total};
	if (t->view == TIMELINE_RESERVED) {
		reserved_bands(p, t, &pal);
	} else {
		active_bands(p, t, &pal, max_bands);
	}
	if (t->view == TIMELINE_ACTIVE)
		reserved_line(p, t);
	if (t->view != TIMELINE_SEGMENTS)
		used_line(p, t);
	oom_find(t->m, device, &p->ooms);
	count_events(p, t);
}

void timeline_panel_free(struct timeline_panel *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->band[i].name);
		free(p->band[i].brief);
	}
	for (int k = 0; k < 3; k++)
		free(p->own[k]);
	free(p->own_high);
	free(p->own_low);
	free(p->reserved);
	free(p->used);
	bands_free(&p->bands);
	code_memo_free(&p->codes);
	oom_free(&p->ooms);
	*p = (struct timeline_panel){0};
}
