/* json_out.h: cJSON with exact numbers: what a double cannot hold, and what is not known.
 *
 * Every JSON the tool prints (reports; not snapshots) is built with these.
 */
#ifndef RENDER_JSON_OUT_H
#define RENDER_JSON_OUT_H

#include "model/model.h"
#include <cjson/cJSON.h>
#include <stdio.h>

void json_u64(cJSON *object, const char *key, uint64_t v); /* MODEL_UNKNOWN: null */
void json_i64(cJSON *object, const char *key, int64_t v);
void json_real(cJSON *object, const char *key, double v); /* NAN: null; whole numbers exactly, others to six digits */
void json_text(cJSON *object, const char *key,
               const char *s); /* NULL or "": null; invalid UTF-8 is replaced */
cJSON *json_object(cJSON *object, const char *key);
cJSON *json_array(cJSON *object, const char *key);
cJSON *json_item(cJSON *array); /* a new object at its end */
void json_stack(cJSON *object, const char *key, const struct model *m, uint32_t stack);
void json_print(FILE *f, cJSON *root); /* and delete it */

#endif
