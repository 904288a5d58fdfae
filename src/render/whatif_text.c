/* whatif_text.c: struct whatif → a table of configurations and one line of advice. */
#include "render/table.h"
#include "render/whatif_out.h"
#include <math.h>

#define REASONS 4 /* told in full */

static void fidelity(struct page *p, const struct whatif_fidelity *f)
{
	struct text t = {0};
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	if (!f->known) {
		page_paragraph(p, INK_PLAIN, "  ", "The recording shows plain driver calls, no caching allocator to compare the replay with.");
		return;
	}
	text_printf(&t, "replay matches recording: %s/%s events", text_count(a, f->matched), text_count(b, f->events));
	if (f->matched < f->events)
		text_printf(&t, "; the first that differs is event %s of device %u: recorded %s, predicted %s",
			    text_count(a, f->first.event), f->first.device, f->first.recorded, f->first.predicted);
	page_paragraph(p, f->matched == f->events ? INK_GREEN : INK_YELLOW, "  ", t.s);
	text_free(&t);
}

static void runs(struct page *p, const struct whatif *w, size_t from, size_t to)
{
	struct table t;
	size_t i;

	table_begin(&t, "rrrrrll", "RESERVED", "IN USE", "FRAG", "CALLS", "RETRIES", "SETTING", "");
	for (i = from; i < to; i++) {
		const struct whatif_run *r = &w->runs[i];

		table_bytes(&t, r->reserved_peak);
		table_bytes(&t, r->allocated_peak);
		if (isnan(r->fragmentation_at_peak))
			table_cell(&t, "-");
		else
			table_cell(&t, "%.0f %%", 100 * r->fragmentation_at_peak);
		table_count(&t, r->device_allocs + r->device_frees);
		table_count(&t, r->retries);
		table_cell(&t, "%s%s", *r->conf ? r->conf : "(default)", whatif_as_recorded(w, r) ? " *" : "");
		table_cell(&t, "%s", r->ooms ? "out of memory" : r->device_mem == MODEL_UNKNOWN ? "" : "fits");
	}
	table_end(&t, p);
}

static void advice(struct page *p, const struct whatif *w)
{
	struct text t = {0};
	char saves[TEXT_SIZE_MAX];

	if (!w->recommended) {
		page_paragraph(p, INK_PLAIN, "  ", w->no_history
			? "No history recorded: only what is live now was laid out anew, which recommends no setting."
			: "No setting tried is worth changing for.");
		return;
	}
	text_puts(&t, *w->recommended ? "set " : "unset ");
	text_printf(&t, "PYTORCH_CUDA_ALLOC_CONF%s%s: ", *w->recommended ? "=" : "", w->recommended);
	if (w->avoids_oom)
		text_puts(&t, "it avoids the out of memory");
	if (w->avoids_oom && w->saves_bytes)
		text_puts(&t, " and ");
	if (w->saves_bytes)
		text_printf(&t, "saves %s of reserved memory", text_bytes(saves, w->saves_bytes));
	page_paragraph(p, INK_BOLD, "> ", t.s);
	text_free(&t);
}

/* Where and why each configuration that fails does. */
static void reasons(struct page *p, const struct whatif *w, const struct model *m)
{
	struct text t = {0};
	char event[TEXT_SIZE_MAX];
	size_t i, n, told = 0;

	for (i = 0; i < w->n_runs; i++) {
		const struct whatif_run *r = &w->runs[i];
		const uint32_t *frames;

		if (!r->oom_text[0] || told++ >= REASONS)
			continue;
		t.n = 0;
		text_printf(&t, "%s", *r->conf ? r->conf : "(default)");
		if (r->first_oom_event >= 0)
			text_printf(&t, ", event %s", text_count(event, (uint64_t)r->first_oom_event));
		frames = model_stack_frames(m, r->first_oom_stack, &n);
		if (n && m->frames.v[frames[0]].function)
			text_printf(&t, " in %s", model_text(m, m->frames.v[frames[0]].function));
		text_printf(&t, ": %s", r->oom_text);
		page_paragraph(p, INK_PLAIN, "! ", t.s);
	}
	if (told > REASONS) {
		t.n = 0;
		text_printf(&t, "%zu more run out of memory; --format json says where and why.", told - REASONS);
		page_paragraph(p, INK_PLAIN, "! ", t.s);
	}
	text_free(&t);
}

/* What the recording cannot know. */
static void caveats(struct page *p, const struct whatif *w)
{
	struct text t = {0};
	char event[TEXT_SIZE_MAX], bytes[TEXT_SIZE_MAX];
	size_t per_trace = w->n_runs / w->n_traces, i;

	for (i = 0; i < per_trace; i++) {
		if (!w->runs[i].idle || w->runs[i].kind != WHATIF_CACHING)
			continue;
		t.n = 0;
		text_printf(&t, "%s has no effect on what is predicted here.", w->runs[i].idle);
		page_paragraph(p, INK_DIM, "  ", t.s);
		break;
	}
	if (w->traces[0].n_initial)
		page_paragraph(p, INK_DIM, "  ", "The recording began late: what was allocated before is taken as requested at its start.");
	for (i = 0; i < w->n_traces; i++) {
		if (w->traces[i].recorded_oom < 0)
			continue;
		t.n = 0;
		text_printf(&t, "GPU %u ran out of memory in the recording, at event %s", w->traces[i].device,
			    text_count(event, (uint64_t)w->traces[i].recorded_oom));
		if (w->traces[i].available != MODEL_UNKNOWN && w->runs[i * per_trace].device_mem == w->traces[i].available)
			text_printf(&t, ", so it is taken to have no more than %s", text_bytes(bytes, w->traces[i].available));
		text_puts(&t, ". What the program would have asked for instead of what it did from there on is not known: settings "
			      "that avoid the failure may need more than is predicted.");
		page_paragraph(p, INK_DIM, "  ", t.s);
	}
	text_free(&t);
}

void whatif_text(struct page *p, const struct whatif *w, const struct model *m)
{
	size_t per_trace = w->n_traces ? w->n_runs / w->n_traces : 0, i;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX];

	if (!w->n_traces) {
		page_paragraph(p, INK_PLAIN, "  ", "The recording has no allocations to replay.");
		return;
	}
	fidelity(p, &w->fidelity);
	for (i = 0; i < w->n_traces; i++) {
		const struct whatif_trace *t = &w->traces[i];

		page_heading(p, "GPU %u: %s request%s, at most %s in use at once%s%s", t->device, text_count(a, t->n_slots - t->n_initial),
			     t->n_slots - t->n_initial == 1 ? "" : "s",
			     text_bytes(b, t->lower_bound), t->recorded_peak == MODEL_UNKNOWN ? "" : ", recorded with at most ",
			     t->recorded_peak == MODEL_UNKNOWN ? "" : text_bytes(c, t->recorded_peak));
		runs(p, w, i * per_trace, (i + 1) * per_trace);
	}
	page_line(p, "%s", "");
	caveats(p, w);
	reasons(p, w, m);
	advice(p, w);
}
