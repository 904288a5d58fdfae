/* allocator.h: how a caching allocator tells the recorder in its process what it does. Headers only.
 *
 * The recorder (libgpumemsnap.so) exports gms_allocator_event; an allocator looks it up by name
 * (dlsym, RTLD_DEFAULT) and calls it for every block and segment, in the order in which things happen
 * to the allocator (under its lock). The stack from where
 * the program called the allocator becomes the event's.
 */
#ifndef WIRE_ALLOCATOR_H
#define WIRE_ALLOCATOR_H

#include <stdint.h>

#define GMS_ALLOCATOR_EVENT "gms_allocator_event"

struct gms_allocator_event {
	uint32_t bytes; /* sizeof this struct: fields may be added at the end */
	uint8_t op;     /* GMS_OP(BLOCK or SEGMENT, action) */
	uint8_t device; /* ordinal */
	uint16_t spare;
	uint64_t addr, size;   /* blocks: requested bytes */
	uint64_t stream, pool; /* handles; 0: default */
	const void *pc, *frame; /* where the program called the allocator: return address, frame address there */
};
typedef void gms_allocator_event_fn(const struct gms_allocator_event *e);

/* An allocator that serves the program's own cuMemAlloc and cuMemFree (record --allocator) registers these
 * functions with the recorder, which has every way to the driver in hand: gms_serve, looked up likewise.
 * Each returns a CUresult, or GMS_NOT_SERVED: the call is then the driver's. What the functions ask of
 * the driver comes by them again; they must not serve that. */
#define GMS_SERVE      "gms_serve"
#define GMS_NOT_SERVED (-1)

struct gms_served {
	uint32_t bytes; /* sizeof this struct */
	int (*alloc)(uint64_t *addr, uint64_t size);
	int (*free)(uint64_t addr);
	int (*alloc_async)(uint64_t *addr, uint64_t size, uint64_t stream);
	int (*free_async)(uint64_t addr, uint64_t stream);
	void (*reset)(int device); /* the device's primary context and all its memory are gone */
};
typedef void gms_serve_fn(const struct gms_served *served);

/* An allocator's settings, as a mark (GMS_REQUEST_MARK) with this in front of "KEY=VALUE". */
#define GMS_SETTING_MARK "gpumemsnap.setting:"

#endif
