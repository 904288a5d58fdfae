/* font_data.h: where the embedded font files begin and end (font_data.c). For font.c only. */
#ifndef RENDER_FONT_DATA_H
#define RENDER_FONT_DATA_H

extern const unsigned char font_regular[], font_regular_end[];
extern const unsigned char font_bold[], font_bold_end[];

#endif
