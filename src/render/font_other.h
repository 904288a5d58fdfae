/* font_other.h: what stands for a character that the built-in faces lack: the machine's own fonts, where
 * there are any, and else a box with the character's number in hexadecimal. Only font.c uses it.
 */
#ifndef RENDER_FONT_OTHER_H
#define RENDER_FONT_OTHER_H

#include "render/font.h"

/* Font files of the folders in GPUMEMSNAP_FONTS (separated by colons), else of the usual ones: plain faces
 * before bold and slanted ones, then by name. */
struct font_files {
	char **path;
	size_t n, cap;
};
void font_files_find(struct font_files *f);
void font_files_free(struct font_files *f);

/* The box: its advance in pixels, and its picture (zeroed before). */
int font_hex_advance(int size, uint32_t codepoint);
void font_hex_draw(struct font_glyph *g, int size, uint32_t codepoint);

#endif
