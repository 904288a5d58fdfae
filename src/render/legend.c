/* legend.c: entries of a legend. */
#include "render/legend.h"
#include "analyze/code.h"
#include <string.h>

/* Returns the number of its lines. */
static int put_name(const struct legend *at, const char *role, int64_t ref, int x, int y, int room,
                    const char *name)
{
	struct pic_style s = at->l->text;
	size_t n = code_name_inner(name);
	const char *arrow = name + n;

	s.size = look_px(at->l, 11);
	int w = picture_fit(at->p, role, ref, x, y, room, &s, name, n), line = look_px(at->l, LEGEND_LINE);
	if (!*arrow)
		return 1;
	int rest = font_width(at->p->font, s.face, s.size, arrow, strlen(arrow));
	if (rest > room - w && at->y + at->left * look_px(at->l, LEGEND_ENTRY) + line <= at->bottom) {
		picture_fit(at->p, role, ref, x, y + line, room, &s, arrow + 1, strlen(arrow + 1));
		return 2;
	}
	if (room - w > look_px(at->l, 50))
		picture_fit(at->p, role, ref, x + w, y, room - w, &s, arrow, strlen(arrow));
	return 1;
}

void legend_entry(struct legend *at, const char *role, int64_t ref, uint32_t rgb, bool line, const char *name,
                  const char *amount)
{
	const struct look *l = at->l;
	int chip = look_px(l, 11), x = at->x + chip + look_px(l, 7), room = at->room - (x - at->x);
	struct pic_style small = l->small;

	small.size = look_px(l, 10);
	picture_rect(at->p, role, ref, at->x, at->y + look_px(l, line ? 5 : 1), chip,
	             line ? look_px(l, 2) : chip, rgb);
	int more = put_name(at, role, ref, x, at->y + look_px(l, 10), room, name) - 1;
	picture_fit(at->p, role, ref, x, at->y + look_px(l, 22 + more * LEGEND_LINE), room, &small, amount,
	            strlen(amount));
	at->y += look_px(l, LEGEND_ENTRY + more * LEGEND_LINE);
	at->left--;
}
