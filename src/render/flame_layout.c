/* flame_layout.c: what the boxes of a flame say and how the picture around them is made.
 *
 * flame_place.c puts the boxes on rows; the number of rows gives the picture's height, and everything
 * is written to the display list.
 */
#include "analyze/code.h"
#include "base/mem.h"
#include "render/flame_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_LINES 3

/* --- names --------------------------------------------------------------------------------- */

/* The name of a box and what follows it in soft text: where, how much. */
struct label {
	const char *name;
	size_t n;
	char where[300];
	char stats[64];
};

static void value_text(const struct flame_plan *g, char *buf, size_t size, uint64_t v)
{
	char amount[TEXT_SIZE_MAX];
	double share = 100.0 * (double)v / (double)g->tree->node[0].total;

	if (g->f->count) {
		text_count(amount, v);
		snprintf(buf, size, "%s block%s \xc2\xb7 %.*f %%", amount, v == 1 ? "" : "s", share < 99.95,
		         share);
	} else {
		snprintf(buf, size, "%s \xc2\xb7 %.*f %%", text_bytes(amount, v), share < 99.95, share);
	}
}

static void write_where(const struct flame_plan *g, uint32_t frame, char *buf, size_t size)
{
	struct text where = {0};

	code_where(g->f->m, frame, !g->tree->opt.merge_lines, &where);
	snprintf(buf, size, "%s", where.s ? where.s : "");
	text_free(&where);
}

static bool is_phase(const struct flame_plan *g, uint32_t node)
{
	uint32_t frame = g->tree->node[node].frame;

	return node && frame != FLAME_NO_STACK && levels_original(g->f->levels, frame) == LEVELS_PHASE;
}

static struct label label_of(const struct flame_plan *g, uint32_t node)
{
	const struct flame_node *v = &g->tree->node[node];
	struct label l = {.name = "all"};

	if (!node) {
		l.name = g->f->count ? "all blocks" : "all memory";
	} else if (v->frame == FLAME_NO_STACK) {
		l.name = "[no stack recorded]";
	} else {
		l.name = model_text(g->f->m, g->f->m->frames.v[v->frame].function);
		if (!*l.name)
			l.name = "??";
		if (levels_original(g->f->levels, v->frame) == v->frame)
			write_where(g, v->frame, l.where, sizeof l.where);
	}
	l.n = strlen(l.name);
	if (g->f->change)
		flame_change_words(g, l.stats, sizeof l.stats, node);
	else
		value_text(g, l.stats, sizeof l.stats, v->total);
	return l;
}

static int text_width(const struct flame_plan *g, const struct pic_style *s, const char *t, size_t n)
{
	return font_width(g->p->font, s->face, s->size, t, n);
}

static bool same_name(const struct flame_plan *g, uint32_t a, uint32_t b)
{
	const struct frame *f = &g->f->m->frames.v[g->tree->node[a].frame],
	                   *h = &g->f->m->frames.v[g->tree->node[b].frame];

	return f->function == h->function && f->file == h->file &&
	       (f->line == h->line || g->tree->opt.merge_lines);
}

/* Names that do not fit in their boxes get a number, the widest boxes first. */
static void note_entry(struct flame_plan *g, struct flame_box *b)
{
	int i;

	for (i = 0; i < g->n_entries; i++)
		if (same_name(g, g->entry[i], b->name))
			break;
	if (i == MAX_ENTRIES) {
		g->names_left++;
		return;
	}
	if (i == g->n_entries)
		g->entry[g->n_entries++] = b->name;
	b->entry = i + 1;
}

static int wider_first(const void *a, const void *b)
{
	const struct flame_box *x = *(struct flame_box *const *)a, *y = *(struct flame_box *const *)b;

	if (x->w != y->w)
		return x->w < y->w ? 1 : -1;
	return x->row != y->row ? (x->row < y->row ? -1 : 1) : (x->x > y->x) - (x->x < y->x);
}

static void number_names(struct flame_plan *g)
{
	struct flame_box **list = mem_alloc((g->n + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		struct flame_box *b = &g->box[i];
		if (b->kind != BOX_FRAME || !b->node || g->tree->node[b->name].frame == FLAME_NO_STACK ||
		    b->w < look_px(&g->l, 28) || b->row >= g->rows)
			continue;
		struct label l = label_of(g, b->name);
		if (text_width(g, &g->l.text, l.name, l.n) > b->w - 2 * g->pad)
			list[n++] = b;
	}
	qsort(list, n, sizeof *list, wider_first);
	for (size_t i = 0; i < n; i++)
		note_entry(g, list[i]);
	free(list);
}

/* --- drawing ------------------------------------------------------------------------------- */

static int box_y(const struct flame_plan *g, const struct flame_box *b)
{
	return g->top + (g->f->invert ? b->row : g->rows - 1 - b->row) * g->pitch;
}

static uint32_t fill_of(struct flame_plan *g, const struct flame_box *b)
{
	const struct palette *pal = &g->l.pal;
	const struct flame_node *v = &g->tree->node[b->name];

	if (b->kind == BOX_SMALLER)
		return pal->merged;
	if (g->f->change)
		return flame_change_fill(g, b->node);
	if (!b->node)
		return palette_mix(pal->page, pal->merged, 70);
	if (v->frame == FLAME_NO_STACK)
		return pal->unknown;
	if (is_phase(g, b->name))
		return palette_phase(pal, model_text(g->f->m, g->f->m->frames.v[v->frame].function));
	return palette_code(pal, flame_code(g, b->name, NULL),
	                    model_text(g->f->m, g->f->m->frames.v[v->frame].function));
}

/* Stacks that the timeline gives a colour of their own show it as a stripe where they end. */
static bool stripe_of(const struct flame_plan *g, const struct flame_box *b, uint32_t *rgb)
{
	const struct flame_node *v =
	    &g->tree->node[b->kind == BOX_FRAME ? flame_skip(g, b->node, b->count) : b->node];
	uint32_t place = RANK_NONE;

	if (g->f->rank && b->kind == BOX_FRAME && v->stack && !v->child)
		place = rank_of(g->f->rank, v->stack);
	if (place >= PALETTE_CATEGORIES || b->w < look_px(&g->l, 8))
		return false;
	*rgb = palette_category(place);
	return true;
}

/* Behind a name: its place, its amount, how many frames are folded in. Which of them depends on the room. */
static void write_rest(struct flame_plan *g, const struct flame_box *b, const struct label *l, int x, int y,
                       int room, const struct pic_style *soft)
{
	const char *share = strrchr(l->stats, '\xb7') + 2, *amount = "";
	int gap = look_px(&g->l, 6),
	    where = *l->where ? text_width(g, soft, l->where, strlen(l->where)) + gap : 0;
	int full = text_width(g, soft, l->stats, strlen(l->stats)),
	    part = text_width(g, soft, share, strlen(share));
	char folded[32];

	if (where + full <= room || (full <= room && (!where || where + part > room)))
		amount = l->stats;
	else if (where + part <= room || (part <= room && where - gap > room))
		amount = share;
	int used = amount == share ? part : *amount ? full : -gap;
	if (where && where + used <= room) {
		picture_puts(g->p, "box.where", b->node, x, y, PIC_LEFT, soft, l->where);
		x += where;
		room -= where;
	}
	x += picture_puts(g->p, "box.amount", b->node, x, y, PIC_LEFT, soft, amount) + gap;
	snprintf(folded, sizeof folded, "+%u", b->count);
	if (b->count && used + gap + text_width(g, soft, folded, strlen(folded)) <= room)
		picture_puts(g->p, "box.folded", b->node, x, y, PIC_LEFT, soft, folded);
}

/* Number, name, place, amounts: as much of it as there is room for. */
static void write_label(struct flame_plan *g, const struct flame_box *b, int x, int y, int room, uint32_t ink)
{
	struct label l = label_of(g, b->name);
	struct pic_style name = g->l.text, soft = g->l.soft, number = g->l.bold;
	char no[16];
	int gap = look_px(&g->l, 6), w;

	name.rgb = soft.rgb = number.rgb = ink;
	if (b->entry) {
		snprintf(no, sizeof no, "%d", b->entry);
		w = picture_fit(g->p, "box.number", b->node, x, y, room, &number, no, strlen(no));
		x += w + gap / 2;
		room -= w + gap / 2;
	}
	/* A few letters of a name tell nothing. */
	if (room < look_px(&g->l, 56) && text_width(g, &name, l.name, l.n) > room)
		return;
	w = picture_fit(g->p, "box.name", b->node, x, y, room, &name, l.name, l.n) + gap;
	write_rest(g, b, &l, x + w, y, room - w, &soft);
}

static void write_smaller(struct flame_plan *g, const struct flame_box *b, int x, int y, int room,
                          uint32_t ink)
{
	struct pic_style soft = g->l.soft;
	char count[TEXT_SIZE_MAX], s[64];

	soft.rgb = ink;
	snprintf(s, sizeof s, "%s smaller", text_count(count, b->count));
	if (text_width(g, &soft, s, strlen(s)) <= room)
		picture_puts(g->p, "smaller.name", b->node, x, y, PIC_LEFT, &soft, s);
}

static void draw_box(struct flame_plan *g, const struct flame_box *b)
{
	static const char *const role[] = {"box", "smaller"};
	int y = box_y(g, b), h = g->pitch - look_px(&g->l, 1), pad = g->pad,
	    base = y + (h + look_px(&g->l, 9)) / 2;
	int gap = b->w > 3 ? 1 : 0;
	uint32_t fill = fill_of(g, b), ink = palette_ink_on(fill), stripe;

	picture_rect(g->p, role[b->kind], b->node, b->x, y, b->w - gap, h, fill);
	if (stripe_of(g, b, &stripe)) {
		picture_rect(g->p, "box.stripe", b->node, b->x, y, look_px(&g->l, 4), h, stripe);
		pad += look_px(&g->l, 4);
	}
	int room = b->w - gap - pad - g->pad;
	if (room < look_px(&g->l, 6))
		return;
	if (b->kind == BOX_FRAME)
		write_label(g, b, b->x + pad, base, room, ink);
	else
		write_smaller(g, b, b->x + pad, base, room, ink);
}

/* --- below the boxes ----------------------------------------------------------------------- */

static int colour_legend(struct flame_plan *g, bool draw, int y)
{
	static const char *const what[CODES] = {
	    [CODE_YOURS] = "your code",         [CODE_PYTHON] = "Python libraries",
	    [CODE_NATIVE] = "native libraries", [CODE_CUDA] = "CUDA libraries",
	    [CODE_UNKNOWN] = "no symbol",
	};
	struct look_chip chip[CODES + 4];
	bool used[CODES] = {0}, none = false, smaller = false, stripes = false;
	uint32_t rgb;
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct flame_box *b = &g->box[i];
		uint32_t frame = g->tree->node[b->name].frame;
		smaller |= b->kind == BOX_SMALLER;
		stripes |= stripe_of(g, b, &rgb);
		if (b->kind != BOX_FRAME || !b->node)
			continue;
		if (frame == FLAME_NO_STACK)
			none = true;
		else if (!is_phase(g, b->name))
			used[flame_code(g, b->name, NULL)] = true;
	}
	for (int c = 0; c < CODES; c++)
		if (used[c])
			chip[n++] = (struct look_chip){g->l.pal.code[c][1], false, what[c]};
	if (none)
		chip[n++] = (struct look_chip){g->l.pal.unknown, false, "no stack recorded"};
	if (smaller)
		chip[n++] = (struct look_chip){g->l.pal.merged, false, "too small to draw, together"};
	if (stripes)
		chip[n++] = (struct look_chip){palette_category(0), true,
		                               "stripe: the stack's colour in the timeline"};
	return look_chips(g->p, &g->l, draw, y, chip, n);
}

static void entry_text(const struct flame_plan *g, int i, struct text *t)
{
	struct label l = label_of(g, g->entry[i]);

	text_add(t, l.name, l.n);
	if (*l.where)
		text_printf(t, "  %s", l.where);
}

/* In as many columns as the longest entry allows. */
static int name_legend(struct flame_plan *g, bool draw, int y)
{
	int pitch = look_px(&g->l, 16), indent = look_px(&g->l, 26), columns = 3, widest = 0, lines = 0,
	    tallest = 0;
	char no[16];

	for (int i = 0; i < g->n_entries; i++) {
		struct text t = {0};
		entry_text(g, i, &t);
		int w = indent + text_width(g, &g->l.text, t.s, t.n);
		widest = w > widest ? w : widest;
		text_free(&t);
	}
	while (columns > (g->n_entries > 8 ? 2 : 1) && widest + look_px(&g->l, 8) > g->width / columns)
		columns--;
	int per_column = (g->n_entries + columns - 1) / columns,
	    room = g->width / columns - indent - look_px(&g->l, 12);
	for (int i = 0; i < g->n_entries; i++) {
		struct text t = {0};
		lines = i % per_column ? lines : 0;
		int x = g->l.margin + i / per_column * (g->width / columns) + indent;
		int base = y + lines * pitch + look_px(&g->l, 11);
		entry_text(g, i, &t);
		snprintf(no, sizeof no, "%d", i + 1);
		if (draw)
			picture_puts(g->p, "legend.number", i + 1, x - look_px(&g->l, 8), base, PIC_RIGHT,
			             &g->l.bold, no);
		lines += picture_wrap(g->p, "legend.name", i + 1, x, base, room, pitch, ENTRY_LINES, draw,
		                      &g->l.text, t.s, t.n);
		tallest = lines > tallest ? lines : tallest;
		text_free(&t);
	}
	return g->n_entries ? y + tallest * pitch + look_px(&g->l, 8) : y;
}

static const char *unit_of(const struct flame_plan *g)
{
	static const char *const unit[] = {"function", "file", "module"};

	return unit[g->f->levels ? g->f->levels->level : LEVEL_FUNCTION];
}

static void notes(const struct flame_plan *g, struct text *t)
{
	char size[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	uint64_t total = g->tree->node[0].total, least = total / (unsigned)g->width * (unsigned)g->least;
	bool folded = false, smaller = false;

	for (size_t i = 0; i < g->n; i++) {
		folded |= g->box[i].kind == BOX_FRAME && g->box[i].count;
		smaller |= g->box[i].kind == BOX_SMALLER;
	}
	if (g->f->change)
		text_puts(t, "Red grew and blue shrank from A to B, by as much as the scale says; widths are B's, "
		             "and the amounts are B's and the change. ");
	text_printf(t, "A box is a %s, as wide as the %s allocated by it and by what it called; ",
	            unit_of(g), g->f->count ? "number of blocks" : "bytes");
	text_puts(t, g->tree->opt.reverse
	                 ? "the function that allocated is at the root, its callers follow outward. "
	             : g->f->invert ? "callers are above what they called. "
	                            : "callers are below what they called. ");
	if (g->f->levels && g->f->levels->phases)
		text_puts(t, "The boxes at the root are the phases in which memory was allocated. ");
	if (smaller)
		text_printf(t, "Boxes narrower than %d px (%s) are merged into a grey one. ", g->least,
		            g->f->count ? text_count(count, least) : text_bytes(size, least));
	if (g->tree->opt.fold)
		text_puts(t, "Recursion is folded: a turn that repeats is drawn once. ");
	if (folded)
		text_printf(t, "\"+9\" stands for nine frames in a row that are folded into the box%s. ",
		            g->f->change ? "" : " (--full draws them)");
	if (g->rows_wanted > g->rows)
		text_printf(t, "%s more levels do not fit in the picture's height. ",
		            text_count(count, (uint64_t)(g->rows_wanted - g->rows)));
	if (g->tree->cut)
		text_printf(
		    t, "%s stack%s deeper than %d frames: the innermost ones beyond that are left out. ",
		    text_count(count, g->tree->cut), g->tree->cut == 1 ? " is" : "s are", FLAME_MAX_DEPTH);
	if (g->names_left)
		text_printf(t, "%s more shortened names are not listed. ", text_count(count, g->names_left));
}

static int footer(struct flame_plan *g, bool draw, int y)
{
	struct text t = {0};
	int pitch = look_px(&g->l, 16);

	y += look_px(&g->l, 12);
	y = (g->f->change ? flame_change_legend(g, draw, y) : colour_legend(g, draw, y)) + look_px(&g->l, 6);
	y = name_legend(g, draw, y);
	notes(g, &t);
	y += pitch * picture_wrap(g->p, "note", -1, g->l.margin, y + look_px(&g->l, 11), g->width, pitch, 6,
	                          draw, &g->l.small, t.s, t.n);
	text_free(&t);
	return y;
}

/* --- the whole ----------------------------------------------------------------------------- */

static int room_for_rows(struct flame_plan *g, const struct look_options *o)
{
	int height = o->height ? (int)o->height : PIC_MAX_SIDE - look_px(&g->l, 100); /* notes may grow */

	number_names(g);
	int used = g->top + footer(g, false, 0) + g->l.margin;
	return height > used + g->pitch ? (height - used) / g->pitch : 1;
}

static void fit_rows(struct flame_plan *g, const struct look_options *o)
{
	/* Without a wish for the height, boxes higher than half the width are worth folding, up to a limit:
	 * own code is folded only where a picture could not hold it. */
	int wish = o->height ? (int)o->height - g->top - look_px(&g->l, 200) : g->p->w / 2;

	for (int squeeze = 0; squeeze <= (g->f->full ? 0 : 3); squeeze++) {
		if (squeeze == 3 && !o->height && g->rows * g->pitch < PIC_MAX_SIDE / 2)
			break;
		flame_place(g, squeeze);
		if (g->rows * g->pitch <= wish)
			break;
	}
	g->rows_wanted = g->rows;
	int rows = room_for_rows(g, o);
	if (g->rows > rows)
		g->rows = rows;
}

static void say_nothing_is_live(struct flame_plan *g, int y)
{
	y += look_px(&g->l, 40);
	picture_puts(g->p, "empty", -1, g->p->w / 2, y, PIC_CENTRE, &g->l.text,
	             g->f->count ? "no block is live here: nothing to draw"
	                         : "no memory is live here: nothing to draw");
	y += look_px(&g->l, 40);
	g->p->h = g->f->change ? flame_change_legend(g, true, y) + g->l.margin : y;
}

void flame_layout(struct picture *p, const struct flame_picture *f, const struct look_options *o,
                  struct font *font)
{
	struct flame_plan g = {.f = f, .tree = f->tree, .p = p};
	const char *title = o->title ? o->title : f->title;

	look_make(&g.l, o);
	picture_init(p, font, look_width(o), 0, g.l.pal.page);
	g.width = p->w - 2 * g.l.margin;
	g.least = look_px(&g.l, 1);
	g.pitch = look_px(&g.l, 18);
	g.pad = look_px(&g.l, 4);
	g.top = look_heading(p, &g.l, true, title, f->subtitle);
	if (!f->tree->total) {
		say_nothing_is_live(&g, g.top);
		return;
	}
	/* The least value that is as wide as the least box. */
	unsigned __int128 least = (unsigned __int128)f->tree->total * (unsigned)g.least;
	flame_build(f->tree, (uint64_t)((least + (unsigned)g.width - 1) / (unsigned)g.width));
	fit_rows(&g, o);
	flame_change_scale(&g);
	int bottom = g.top + g.rows * g.pitch;
	p->h = footer(&g, false, bottom) + g.l.margin;
	if (o->height && p->h < (int)o->height) {
		bottom += (int)o->height - p->h;
		g.top += f->invert ? 0 : (int)o->height - p->h;
		p->h = (int)o->height;
	}
	for (size_t i = 0; i < g.n; i++)
		if (g.box[i].row < g.rows)
			draw_box(&g, &g.box[i]);
	footer(&g, true, bottom);
	free(g.box);
	code_memo_free(&g.codes);
}
