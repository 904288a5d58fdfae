/* picture.c: building the list of things to draw, and writing it as text. */
#include "render/picture.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void picture_init(struct picture *p, struct font *font, int w, int h, uint32_t background)
{
	*p = (struct picture){.w = w, .h = h, .background = background, .font = font};
}

void picture_free(struct picture *p)
{
	for (size_t i = 0; i < p->n_meta; i++)
		free(p->meta[i].value);
	free(p->meta);
	free(p->item);
	free(p->run);
	free(p->box);
	text_free(&p->text);
	*p = (struct picture){0};
}

void picture_meta(struct picture *p, const char *key, const char *fmt, ...)
{
	char small[512];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	char *value = mem_alloc((size_t)(n < 0 ? 0 : n) + 1);
	va_start(ap, fmt);
	vsnprintf(value, (size_t)(n < 0 ? 0 : n) + 1, fmt, ap);
	va_end(ap);
	*VEC_PUSH(p->meta, p->n_meta, p->cap_meta) = (struct pic_meta){key, value};
}

static struct pic_item *add(struct picture *p, enum pic_kind kind, const char *role, int64_t ref, int x,
                            int y, int w, int h, uint32_t rgb)
{
	struct pic_item *it = VEC_PUSH(p->item, p->n, p->cap);

	*it = (struct pic_item){
	    .role = role, .ref = ref, .x = x, .y = y, .w = w, .h = h, .rgb = rgb, .kind = (uint8_t)kind};
	return it;
}

struct pic_item *picture_rect(struct picture *p, const char *role, int64_t ref, int x, int y, int w, int h,
                              uint32_t rgb)
{
	return add(p, PIC_RECT, role, ref, x, y, w, h, rgb);
}

struct pic_item *picture_edge(struct picture *p, const char *role, int64_t ref, int x, int y, int w, int h,
                              uint32_t rgb)
{
	return add(p, PIC_EDGE, role, ref, x, y, w, h, rgb);
}

struct pic_run *picture_area(struct picture *p, const char *role, int64_t ref, int x, int w, uint32_t rgb)
{
	struct pic_item *it = add(p, PIC_AREA, role, ref, x, 0, w, 0, rgb);
	size_t need = p->n_runs + (size_t)w;

	if (need > p->cap_runs) {
		p->cap_runs = need * 2;
		p->run = mem_resize(p->run, p->cap_runs, sizeof *p->run);
	}
	it->at = (uint32_t)p->n_runs;
	it->n = (uint32_t)w;
	p->n_runs = need;
	memset(p->run + it->at, 0, (size_t)w * sizeof *p->run);
	return p->run + it->at;
}

void picture_box_room(struct picture *p, size_t n)
{
	if (n <= p->cap_boxes - p->n_boxes)
		return;
	p->cap_boxes = p->n_boxes + n;
	p->box = mem_resize(p->box, p->cap_boxes, sizeof *p->box);
}

void picture_boxes(struct picture *p, const char *role, size_t first, size_t end)
{
	struct pic_item *it = add(p, PIC_BOXES, role, -1, 0, 0, 0, 0, 0);

	it->at = (uint32_t)first;
	it->n = (uint32_t)(end - first);
}

/* A text item of known width for head + "…" + tail (or head alone). */
static void add_text(struct picture *p, const char *role, int64_t ref, int x, int y, int w,
                     const struct pic_style *style, const char *s, size_t n, size_t head, size_t tail)
{
	struct pic_item *it = add(p, PIC_TEXT, role, ref, x, y, w, style->size, style->rgb);

	it->face = (uint8_t)style->face;
	it->size = (uint8_t)style->size;
	it->strength = (uint8_t)style->strength;
	it->at = (uint32_t)p->text.n;
	text_add(&p->text, s, head);
	if (head < n) {
		text_puts(&p->text, FONT_ELLIPSIS);
		text_add(&p->text, s + n - tail, tail);
	}
	it->n = (uint32_t)(p->text.n - it->at);
}

int picture_text(struct picture *p, const char *role, int64_t ref, int x, int y, enum pic_align align,
                 const struct pic_style *style, const char *s, size_t n)
{
	int w = font_width(p->font, style->face, style->size, s, n);

	if (!n)
		return 0;
	if (align == PIC_CENTRE)
		x -= w / 2;
	else if (align == PIC_RIGHT)
		x -= w;
	add_text(p, role, ref, x, y, w, style, s, n, n, 0);
	return w;
}

int picture_puts(struct picture *p, const char *role, int64_t ref, int x, int y, enum pic_align align,
                 const struct pic_style *style, const char *s)
{
	return picture_text(p, role, ref, x, y, align, style, s, strlen(s));
}

int picture_fit(struct picture *p, const char *role, int64_t ref, int x, int y, int room,
                const struct pic_style *style, const char *s, size_t n)
{
	size_t head, tail;
	int w = n ? font_elide(p->font, style->face, style->size, s, n, room, &head, &tail) : 0;

	if (w)
		add_text(p, role, ref, x, y, w, style, s, n, head, tail);
	return w;
}

int picture_wrap(struct picture *p, const char *role, int64_t ref, int x, int y, int room, int pitch,
                 int max_lines, bool draw, const struct pic_style *style, const char *s, size_t n)
{
	int line = 0;

	for (size_t i = 0, len; i < n && line < max_lines; i += len, line++) {
		len = line == max_lines - 1
		          ? n - i
		          : font_break(p->font, style->face, style->size, s + i, n - i, room);
		size_t n_seen = len; /* a space at the end needs no room */
		while (n_seen > 1 && s[i + n_seen - 1] == ' ')
			n_seen--;
		if (draw)
			picture_fit(p, role, ref, x, y + line * pitch, room, style, s + i, n_seen);
	}
	return line;
}

/* Runs of an area, equal neighbours folded: "3*10-20 1*12-20 …" */
static void print_runs(const struct pic_run *run, uint32_t n, struct text *out)
{
	for (uint32_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && run[j].y0 == run[i].y0 && run[j].y1 == run[i].y1;)
			j++;
		text_printf(out, " %u*%d-%d", j - i, run[i].y0, run[i].y1);
	}
}

static void print_item(const struct picture *p, const struct pic_item *it, struct text *out)
{
	static const char *const name[] = {"rect", "edge", "text", "area"};

	for (uint32_t i = it->n; it->kind == PIC_BOXES && i-- > 0;) {
		const struct pic_box *b = &p->box[it->at + i];
		text_printf(out, "rect %s#%u %u %u %u %u #%06x\n", it->role, b->ref, b->x, b->y, b->w, b->h,
		            b->rgb);
	}
	if (it->kind == PIC_BOXES)
		return;
	text_printf(out, "%s %s", name[it->kind], it->role);
	if (it->ref >= 0)
		text_printf(out, "#%lld", (long long)it->ref);
	text_printf(out, " %d %d %d", it->x, it->y, it->w);
	if (it->kind == PIC_RECT || it->kind == PIC_EDGE)
		text_printf(out, " %d", it->h);
	text_printf(out, " #%06x", it->rgb);
	if (it->dash)
		text_printf(out, " dash %d", it->dash);
	if (it->kind == PIC_TEXT) {
		char *s = mem_strndup(p->text.s + it->at, it->n);
		text_printf(out, " %s%d ", it->face == FONT_BOLD ? "bold" : "", it->size);
		text_json(out, s);
		free(s);
	} else if (it->kind == PIC_AREA) {
		print_runs(p->run + it->at, it->n, out);
	}
	text_puts(out, "\n");
}

void picture_print(const struct picture *p, struct text *out)
{
	text_printf(out, "picture %d %d #%06x\n", p->w, p->h, p->background);
	for (size_t i = 0; i < p->n_meta; i++) {
		text_printf(out, "meta %s ", p->meta[i].key);
		text_json(out, p->meta[i].value);
		text_puts(out, "\n");
	}
	for (size_t i = 0; i < p->n; i++)
		print_item(p, &p->item[i], out);
}
