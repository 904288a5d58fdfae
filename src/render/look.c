/* look.c: sizes, styles, heading and colour chips, the same in every picture. */
#include "render/look.h"
#include <string.h>

#define DEFAULT_WIDTH 2400
#define UNITS_ACROSS  1200 /* that wide a picture is at scale 100 % */
#define MAX_PIXELS    (1ull << 28)

int look_width(const struct look_options *o)
{
	return o->width ? (int)o->width : DEFAULT_WIDTH;
}

static int auto_scale(int width)
{
	int s = width * 100 / UNITS_ACROSS / 25 * 25;

	return s < 100 ? 100 : s > 800 ? 800 : s;
}

void look_make(struct look *l, const struct look_options *o)
{
	palette_make(&l->pal, o->dark);
	l->scale = o->scale ? (int)o->scale : auto_scale(look_width(o));
	l->margin = look_px(l, 16);
	l->title = (struct pic_style){FONT_BOLD, look_px(l, 18), l->pal.ink, 100};
	l->text = (struct pic_style){FONT_REGULAR, look_px(l, 12), l->pal.ink, 100};
	l->bold = (struct pic_style){FONT_BOLD, look_px(l, 12), l->pal.ink, 100};
	l->soft = (struct pic_style){FONT_REGULAR, look_px(l, 12), l->pal.ink, 75};
	l->small = (struct pic_style){FONT_REGULAR, look_px(l, 11), l->pal.ink, 75};
}

bool look_narrow(const struct look_options *o, const struct look *l)
{
	return look_width(o) < look_px(l, 700);
}

bool look_check(const struct look_options *o, struct err *e)
{
	if (o->width && (o->width < 200 || o->width > PIC_MAX_SIDE))
		err_set(e, ERR_USAGE, NULL, -1, "--width must be 200 to %d pixels", PIC_MAX_SIDE);
	else if (o->height && (o->height < 100 || o->height > PIC_MAX_SIDE))
		err_set(e, ERR_USAGE, NULL, -1, "--height must be 100 to %d pixels", PIC_MAX_SIDE);
	else if (o->width && o->width * (o->height ? o->height : 1) > MAX_PIXELS)
		err_set(e, ERR_USAGE, NULL, -1, "--width times --height must be at most %llu pixels",
		        MAX_PIXELS);
	else if (o->scale && (o->scale < 50 || o->scale > 1000))
		err_set(e, ERR_USAGE, NULL, -1, "--scale must be 0.5 to 10");
	else
		return true;
	return false;
}

int look_heading(struct picture *p, const struct look *l, bool draw, const char *title, const char *subtitle)
{
	int room = p->w - 2 * l->margin, y = l->margin + look_px(l, 16), pitch = look_px(l, 17);

	y += (picture_wrap(p, "title", -1, l->margin, y, room, look_px(l, 22), 3, draw, &l->title, title,
	                   strlen(title)) -
	      1) *
	     look_px(l, 22);
	y += look_px(l, 20);
	y += picture_wrap(p, "subtitle", -1, l->margin, y, room, pitch, 4, draw, &l->soft, subtitle,
	                  strlen(subtitle)) *
	     pitch;
	return y;
}

int look_chips(struct picture *p, const struct look *l, bool draw, int y, const struct look_chip *chip,
               size_t n)
{
	int x = l->margin, side = look_px(l, 11), pitch = look_px(l, 18);

	for (size_t i = 0; i < n; i++) {
		int w = side + look_px(l, 6) +
		        font_width(p->font, l->text.face, l->text.size, chip[i].text, strlen(chip[i].text));
		if (x > l->margin && x + w > p->w - l->margin) {
			x = l->margin;
			y += pitch;
		}
		if (draw) {
			picture_rect(p, "chip", (int64_t)i, x, y, chip[i].edge ? look_px(l, 4) : side, side,
			             chip[i].rgb);
			picture_fit(p, "chip", (int64_t)i, x + side + look_px(l, 6), y + look_px(l, 10),
			            p->w - l->margin - x - side, &l->text, chip[i].text,
			            strlen(chip[i].text));
		}
		x += w + look_px(l, 20);
	}
	return n ? y + pitch : y;
}
