/* accounting_out.h: the account of a device's memory as JSON; as text it is a section of the report. */
#ifndef RENDER_ACCOUNTING_OUT_H
#define RENDER_ACCOUNTING_OUT_H

#include "analyze/accounting.h"
#include <cjson/cJSON.h>

void accounting_json(cJSON *o, const struct accounting *a, const struct model *m);

#endif
