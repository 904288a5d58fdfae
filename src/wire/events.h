/* events.h: events.def as C. Headers only; used in every process. */
#ifndef WIRE_EVENTS_H
#define WIRE_EVENTS_H

#include <stdint.h>

enum gms_level { GMS_DRIVER = 0, GMS_FRAMEWORK = 1 };
enum gms_space { GMS_VA = 0, GMS_HANDLE = 1 };
enum { GMS_ON_DEVICE = 1, GMS_HOST = 2 };

enum gms_kind {
#define GMS_KIND(id, n, name, level, space, flags, what) GMS_K_##id = n,
#define GMS_ACTION(id, n, name, what)
#include "wire/events.def"
#undef GMS_KIND
#undef GMS_ACTION
	GMS_KINDS = 18 /* one more than the last row */
};

enum gms_action {
#define GMS_KIND(id, n, name, level, space, flags, what)
#define GMS_ACTION(id, n, name, what) GMS_A_##id = n,
#include "wire/events.def"
#undef GMS_KIND
#undef GMS_ACTION
	GMS_ACTIONS = 8
};

#define GMS_OP(kind, action) ((uint8_t)(((kind) << 3) | (action)))
#define GMS_OP_KIND(op) ((enum gms_kind)((op) >> 3))
#define GMS_OP_ACTION(op) ((enum gms_action)((op)&7))

/* The driver takes these back when their context goes. */
static inline _Bool gms_dies_with_context(uint8_t op)
{
	switch (GMS_OP_KIND(op)) {
	case GMS_K_DEVICE:
	case GMS_K_MANAGED:
	case GMS_K_PINNED:
	case GMS_K_REGISTERED:
	case GMS_K_ARRAY:
		return 1;
	default:
		return 0;
	}
}

struct gms_kind_info {
	const char *name;
	uint8_t level, space, flags;
};
extern const struct gms_kind_info gms_kind_info[32]; /* rows without a kind have a NULL name */
extern const char *const gms_action_name[GMS_ACTIONS];

#endif
