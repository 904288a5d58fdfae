/* face.h: what the files of the public face share: the lock, errors, the parts of a struct gma.
 *
 * Everything of a gma is guarded by its lock. Functions that take a locked gma say so.
 */
#ifndef ALLOC_FACE_H
#define ALLOC_FACE_H

#include "alloc/core.h"
#include "alloc/core_addr.h"
#include "alloc/core_region.h"
#include "alloc/lock.h"
#include <pthread.h>
#include <stdatomic.h>

#define GMA_EXPORT __attribute__((visibility("default")))

enum { GMA_ROUTES = 16 }; /* pools that requests are being sent to at one time */

struct gma {
	struct gma_lock lock;
	struct gma_core *core;
	struct gma_addr live;
	struct gma_backend be; /* as given; the core's calls go through face.c where the lock matters */
	struct gma_backend own;    /* opened by gma_create itself */
	struct gma_region *region; /* growth:False */
	char conf[256];		   /* as given, perhaps cut */
	int device;		   /* ordinal for recordings */
	const void *pc, *frame;	   /* where the program called the function that runs now */
	uint64_t pools_ever;
	struct gma_route {
		struct gma_pool *pool;
		pthread_t thread;
		bool capture;
	} routes[GMA_ROUTES];
	unsigned n_routes;
	bool (*capturing)(void *ctx, gma_stream stream); /* NULL: the backend knows no captures */
};

/* First thing in a function of the API, locked: whose stack events get. */
#define GMA_CALLED(g) ((g)->pc = __builtin_return_address(0), (g)->frame = __builtin_frame_address(0))

/* face_error.c */
int gma_fail(int error, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* returns error */

/* backend_cuda.c */
bool gma_cuda_capturing(void *ctx, gma_stream stream);
int gma_cuda_device(const struct gma_backend *b); /* -1: not a CUDA backend */
bool gma_cuda_in_context(const struct gma *g, const void *context); /* does it allocate in that one? */

/* instrument.c: events to the recorder, if there is one */
void gma_instrument(struct gma *g);

/* watch.c: GPUMEMSNAP_OUTPUT: record this process without `gpumemsnap record` */
void gma_watch_alone(void);

/* face_devices.c: the allocator of a device if there is one already */
enum { GMA_DEVICES = 64 };
struct gma *gma_existing(int device);
void gma_abandon(int device); /* its context is gone with all memory: start anew, give nothing back */

/* face_pools.c: the pool with this id, NULL if there is none. use: one more user, made if need be. */
struct gma_pool *gma_pool_of_id(struct gma *g, uint64_t id0, uint64_t id1, bool use);

#endif
