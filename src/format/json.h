/* json.h: our own snapshot, gpumemsnap-snapshot(5), as a model and back.
 *
 * What is written and read again gives the same bytes. Readers and writers share the names in
 * json_tables.h, so the two cannot drift apart.
 */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/err.h"
#include "base/input.h"
#include "base/output.h"
#include "model/model.h"

bool json_probe(const struct input *in);
/* A file that is cut is read up to the cut and m->complete becomes false; a damaged one is an
 * error that names the byte. */
int json_read(const struct input *in, struct model *m, struct err *e);
int json_write(const struct model *m, struct output *o, struct err *e);

#endif
