/* set.h: several snapshots in one file, as `gpumemsnap merge` packs them.
 *
 * The first line is {"format":"gpumemsnap-set","version":1,"names":[…]}; the snapshots, each a whole
 * JSON document, follow one after another in the order of the names.
 */
#ifndef FORMAT_SET_H
#define FORMAT_SET_H

#include "base/err.h"
#include "base/input.h"
#include "base/output.h"
#include <stdbool.h>

bool set_probe(const struct input *in);
/* The names; returns how many, -1 on error. Free each and the array. */
int set_names(const struct input *in, char ***names, struct err *e);
/* The k-th document as an input of its own, which lives as long as `in` does; `name` is what messages call it. */
int set_part(const struct input *in, size_t k, const char *name, struct input *part, struct err *e);
int set_write_header(struct output *o, char *const *names, size_t n, struct err *e);

#endif
