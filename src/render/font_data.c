/* font_data.c: the bytes of the two font files, put into the program when it is built.
 *
 * FONT_DIR is the folder of DejaVuSans.ttf and DejaVuSans-Bold.ttf (vendor/vendor.mk). Only font.c
 * looks at them.
 */
#include "render/font_data.h"

#define EMBED(name, file)                                                                                    \
	__asm__(".pushsection .rodata\n"                                                                     \
	        ".global " name ", " name "_end\n"                                                           \
	        ".balign 16\n" name ":\n"                                                                    \
	        ".incbin \"" FONT_DIR "/" file "\"\n" name "_end:\n"                                         \
	        ".popsection\n")

EMBED("font_regular", "DejaVuSans.ttf");
EMBED("font_bold", "DejaVuSans-Bold.ttf");
