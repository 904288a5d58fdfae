/* events.c: the tables of events.def. */
#include "wire/events.h"

const struct gms_kind_info gms_kind_info[32] = {
#define GMS_KIND(id, n, name, level, space, flags, what) [n] = {name, GMS_##level, GMS_##space, flags},
#define GMS_ACTION(id, n, name, what)
#include "wire/events.def"
#undef GMS_KIND
#undef GMS_ACTION
};

const char *const gms_action_name[GMS_ACTIONS] = {
#define GMS_KIND(id, n, name, level, space, flags, what)
#define GMS_ACTION(id, n, name, what) [n] = name,
#include "wire/events.def"
#undef GMS_KIND
#undef GMS_ACTION
};
