/* stack_text.c: see stack_text.h. Which frames matter is decided in analyze/frames.c. */
#include "render/stack_text.h"
#include "analyze/frames.h"

#define SHOWN 4

void stack_line(struct text *t, const struct page *p, const struct model *m, uint32_t stack)
{
	size_t at[SHOWN], n, i, shown = frames_shown(m, stack, at, SHOWN);
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	if (!shown)
		text_puts(t, "(no stack recorded)");
	for (i = 0; i < shown; i++) {
		if (i)
			text_puts(t, page_arrow(p));
		frames_label(t, m, frame[at[i]]);
	}
}

static void one_frame(struct page *p, const struct model *m, uint32_t id, size_t indent)
{
	const struct frame *f = &m->frames.v[id];
	const char *function = model_text(m, f->function), *file = model_text(m, f->file);
	const char *module = model_text(m, f->module);
	struct text t = {0}, line = {0};

	text_puts(&t, *function ? function : "??");
	if (*file && f->line)
		text_printf(&t, "  %s:%u", file, f->line);
	else if (*file)
		text_printf(&t, "  %s", file);
	else if (*module)
		text_printf(&t, "  [%s]", module);
	page_elide(&line, p, t.s, p->width > indent + 20 ? p->width - indent : 20);
	page_line(p, "%*s%s", (int)indent, "", line.s);
	text_free(&t);
	text_free(&line);
}

static void skipped(struct page *p, size_t *n, size_t indent)
{
	if (*n)
		page_line(p, "%*s(%zu frame%s of runtime and interpreter)", (int)indent, "", *n,
		          *n == 1 ? "" : "s");
	*n = 0;
}

void stack_lines(struct page *p, const struct model *m, uint32_t stack, size_t indent)
{
	bool python = frames_has_python(m, stack);
	size_t n, i, hidden = 0;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	if (!n)
		page_line(p, "%*s(no stack recorded)", (int)indent, "");
	for (i = 0; i < n; i++) {
		if (frames_rank(m, frame[i], python) == FRAME_NOISE) {
			hidden++;
			continue;
		}
		skipped(p, &hidden, indent);
		one_frame(p, m, frame[i], indent);
	}
	skipped(p, &hidden, indent);
}
