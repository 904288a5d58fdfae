/* html_sketch.h: the first picture of a long recording, for the page to show while it unpacks the events. */
#ifndef RENDER_HTML_SKETCH_H
#define RENDER_HTML_SKETCH_H

#include "analyze/bands.h"
#include "analyze/code.h"
#include "render/html_blob.h"

#define SKETCH_LEAST 20000 /* events; fewer are unpacked before one notices */

/* The bands of a device from `from` to `to` by stack: their names go to json as an object's member "sketch",
 * their columns into b. */
void html_sketch(struct text *json, struct blob *b, const struct model *m, uint8_t device, int64_t from,
                 int64_t to, struct code_memo *codes);

#endif
