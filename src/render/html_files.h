/* html_files.h: the page's own files, put into the program when it is built (html_files.c). For html.c only.
 */
#ifndef RENDER_HTML_FILES_H
#define RENDER_HTML_FILES_H

extern const char html_page[], html_page_end[];
extern const char html_style[], html_style_end[];
extern const char html_script[], html_script_end[];

#endif
