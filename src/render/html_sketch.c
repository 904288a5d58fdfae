/* html_sketch.c: bands in as many columns as a screen is wide, as JSON and columns of differences. */
#include "render/html_sketch.h"
#include <inttypes.h>
#include <stdio.h>

#define COLUMNS 1200

static void put_column(struct blob *b, uint8_t device, const char *name, int number, const uint64_t *v)
{
	struct blob_column c = {0};
	char full[64];
	uint64_t last = 0;

	for (int i = 0; i < COLUMNS; i++) {
		blob_put_signed(&c, (int64_t)(v[i] - last));
		last = v[i];
	}
	if (number < 0)
		snprintf(full, sizeof full, "d%u_%s", device, name);
	else
		snprintf(full, sizeof full, "d%u_%s%d", device, name, number);
	blob_add(b, full, &c);
}

static void put_band(struct text *json, const struct model *m, const struct band *band,
                     struct code_memo *codes)
{
	char count[TEXT_SIZE_MAX];
	struct text name = {0};

	if (band->key == BANDS_REST)
		text_printf(&name, "everything else (%s)", text_count(count, band->members));
	else
		code_stack_name(codes, m, band->key, &name);
	text_printf(json, "{\"key\":%" PRId64 ",\"atPeak\":%" PRIu64 ",\"rest\":%s,\"name\":",
	            band->key == BANDS_REST ? -1 : (int64_t)band->key, band->at_peak,
	            band->key == BANDS_REST ? "true" : "false");
	text_json(json, name.s ? name.s : "");
	text_puts(json, "}");
	text_free(&name);
}

void html_sketch(struct text *json, struct blob *b, const struct model *m, uint8_t device, int64_t from,
                 int64_t to, struct code_memo *codes)
{
	struct bands_axis axis = {from, to, COLUMNS};
	struct bands bands;

	bands_make(&bands, m, device, BY_STACK, &axis, BANDS_MAX);
	text_printf(json,
	            ",\"sketch\":{\"columns\":%d,\"peak\":%" PRIu64 ",\"peak_t\":%" PRId64 ",\"bands\":[",
	            COLUMNS, bands.peak, bands.peak_row < m->ev.n ? m->ev.t_ns[bands.peak_row] : from);
	put_column(b, device, "high", -1, bands.high);
	put_column(b, device, "low", -1, bands.low);
	for (size_t i = 0; i < bands.n; i++) {
		text_puts(json, i ? "," : "");
		put_band(json, m, &bands.band[i], codes);
		put_column(b, device, "band", (int)i, bands.band[i].value);
	}
	text_puts(json, "]}");
	bands_free(&bands);
}
