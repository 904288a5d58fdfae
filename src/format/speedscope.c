/* speedscope.c: a flame graph of one instant for speedscope.app: two profiles, bytes and blocks. */
#include "base/mem.h"
#include "format/export.h"
#include <stdlib.h>
#include <string.h>

int export_speedscope(const struct export_view *v, struct output *o, struct err *e);

/* The frames that occur, in the order of their number in the file. */
struct used {
	uint32_t *number; /* by frame; UINT32_MAX: does not occur */
	uint32_t n;
};

static void put_frame(struct text *t, const struct model *m, uint32_t id)
{
	const struct frame *f = &m->frames.v[id];
	struct text scratch = {0};

	text_puts(t, "{\"name\":");
	text_json(t, export_function(m, id, &scratch));
	if (f->file) {
		text_puts(t, ",\"file\":");
		text_json(t, model_text(m, f->file));
	}
	if (f->line)
		text_printf(t, ",\"line\":%u", f->line);
	text_puts(t, "}");
	text_free(&scratch);
}

static void put_frames(struct export_text *x, const struct export_view *v, struct used *used)
{
	const struct export_moment *at = v->moments;
	size_t i, k, n;

	for (i = 0; i < at->n; i++) {
		const uint32_t *frame = model_stack_frames(v->m, at->rows[i].stack, &n);

		for (k = 0; k < n; k++) {
			if (used->number[frame[k]] != UINT32_MAX)
				continue;
			used->number[frame[k]] = used->n++;
			text_puts(&x->t, used->n > 1 ? ",\n" : "\n");
			put_frame(&x->t, v->m, frame[k]);
			export_flush(x);
		}
	}
	text_printf(&x->t, "%s{\"name\":\"%s\"}", used->n ? ",\n" : "\n", EXPORT_NO_STACK);
}

/* Root first, as speedscope wants it. */
static void put_sample(struct text *t, const struct model *m, uint32_t stack, const struct used *used)
{
	size_t n;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	text_puts(t, "[");
	if (!n)
		text_u64(t, used->n);
	while (n-- > 0) {
		text_u64(t, used->number[frame[n]]);
		text_puts(t, n ? "," : "");
	}
	text_puts(t, "]");
}

static void put_profile(struct export_text *x, const struct export_view *v, const struct used *used, bool count)
{
	const struct export_moment *at = v->moments;
	size_t i;

	text_printf(&x->t, "{\"type\":\"sampled\",\"name\":\"GPU %u: %s, %s\",\"unit\":\"%s\",\"startValue\":0,\"endValue\":",
		    v->device, count ? "blocks" : "bytes", v->when, count ? "none" : "bytes");
	text_u64(&x->t, count ? at->count : at->bytes);
	text_puts(&x->t, ",\n\"samples\":[");
	for (i = 0; i < at->n; i++) {
		text_puts(&x->t, i ? ",\n" : "\n");
		put_sample(&x->t, v->m, at->rows[i].stack, used);
		export_flush(x);
	}
	text_puts(&x->t, "],\n\"weights\":[");
	for (i = 0; i < at->n; i++) {
		text_puts(&x->t, i ? "," : "");
		text_u64(&x->t, count ? at->rows[i].count : at->rows[i].bytes);
		export_flush(x);
	}
	text_puts(&x->t, "]}");
}

int export_speedscope(const struct export_view *v, struct output *o, struct err *e)
{
	struct export_text x = {.o = o, .e = e};
	struct used used = {.number = mem_alloc(v->m->frames.n * sizeof *used.number)};

	memset(used.number, 0xff, v->m->frames.n * sizeof *used.number);
	text_puts(&x.t, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"gpumemsnap\",\"name\":");
	text_json(&x.t, v->m->command ? v->m->command : v->m->file);
	text_printf(&x.t, ",\"activeProfileIndex\":%d,\n\"shared\":{\"frames\":[", v->by_count);
	put_frames(&x, v, &used);
	text_puts(&x.t, "]},\n\"profiles\":[\n");
	put_profile(&x, v, &used, false);
	text_puts(&x.t, ",\n");
	put_profile(&x, v, &used, true);
	text_puts(&x.t, "]}\n");
	free(used.number);
	return export_done(&x);
}
