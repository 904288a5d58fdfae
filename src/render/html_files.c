/* html_files.c: the files of src/render/html as bytes of the program; the scripts follow each other. */
#include "render/html_files.h"

#define BEGIN(name) ".pushsection .rodata\n.global " name ", " name "_end\n" name ":\n"
#define FILE(file)  ".incbin \"src/render/html/" file "\"\n"
#define END(name)   name "_end:\n.popsection\n"

__asm__(BEGIN("html_page") FILE("page.html") END("html_page"));
__asm__(BEGIN("html_style") FILE("page.css") END("html_style"));
__asm__(BEGIN("html_script") FILE("data.js") FILE("names.js") FILE("bands.js") FILE("sketch.js") FILE("timeline.js")
            FILE("flame.js") FILE("segments.js") FILE("tables.js") FILE("main.js") END("html_script"));
