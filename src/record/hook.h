/* hook.h: what the hooks (hook_*.c) say about the calls they see. Only hooks include this.
 *
 * A hook calls the driver exactly once, with the program's arguments, and returns what it returned.
 * Out-parameters are read only after success. A hook tells of what was obtained after the call, of
 * what is given back before it, and then whether the driver refused.
 */
#ifndef RECORD_HOOK_H
#define RECORD_HOOK_H

#include "record/rec.h"
#include "record/resolve.h"
#include "wire/allocator.h"

#define HOOK REC_EXPORT CUresult CUDAAPI

/* What a call was about; fields that do not matter stay 0. */
struct rec_about {
	enum gms_kind kind;
	uint64_t addr, size;
	uint64_t stream;  /* handle */
	uint64_t pool;	  /* handle */
	bool stream_ordered; /* the device is the stream's, the pool its current one unless given */
	bool on_host;	  /* no device */
	bool known_device;
	uint8_t device;	  /* if known_device */
};

void rec_put_got(const struct rec_site *site, CUresult r, const struct rec_about *a);
void rec_put_giving(const struct rec_site *site, const struct rec_about *a);
void rec_put_refused(const struct rec_site *site, const struct rec_about *a);
void rec_put_note(const struct rec_site *site, enum gms_action action, const struct rec_about *a);

/* alloc, or fail if r says so */
static inline void rec_got(struct rec_site site, CUresult r, struct rec_about a)
{
	if (rec_mode() == REC_ALL)
		rec_put_got(&site, r, &a);
}
/* free: about to be called */
static inline void rec_giving(struct rec_site site, struct rec_about a)
{
	rec_put_giving(&site, &a);
}
/* … and what came of it. A driver that is shutting down refuses every free, but the memory is gone all the same. */
static inline void rec_gave(struct rec_site site, CUresult r, struct rec_about a)
{
	if (__builtin_expect(r != CUDA_SUCCESS, 0) && r != CUDA_ERROR_DEINITIALIZED)
		rec_put_refused(&site, &a);
}
/* Any other action: map, unmap, info. */
static inline void rec_note(struct rec_site site, enum gms_action action, struct rec_about a)
{
	if (rec_mode() == REC_ALL)
		rec_put_note(&site, action, &a);
}

#define STREAM(s)	     ((uint64_t)(uintptr_t)(s))
#define PER_THREAD_STREAM(s) ((s) ? (uint64_t)(uintptr_t)(s) : 2) /* what 0 means to the _ptsz functions */

/* hook_ctx.c */
void rec_sample(struct rec_lane *lane, uint8_t device, uint64_t now);
void rec_memory_info(uint64_t *free, uint64_t *total); /* of the current device; UINT64_MAX if not known */
extern uint64_t rec_sampled_ns[REC_DEVICES];

/* hook_share.c: addresses that the program gives back by the ordinary functions but never got by them */
enum rec_loan {
	REC_OWN,	/* none: the program's own */
	REC_IMPORTED,	/* another process's memory */
	REC_VIEW,	/* a view of external memory */
	REC_GRAPH,	/* an allocation node of a graph */
	REC_STILL_OPEN, /* opened more often than given back */
};
extern uint32_t rec_borrowed; /* how many there are: nearly always 0 */
void rec_borrow(uint64_t addr, enum rec_loan loan, bool *first);
enum rec_loan rec_give_back(uint64_t addr); /* what it was; forgotten with the last */

/* hook_graph.c: a stream that is being captured gets nodes, not memory */
extern bool rec_any_capture; /* some stream was ever captured */
bool rec_captured_alloc(uint64_t stream, uint64_t addr);
bool rec_capturing(uint64_t stream);

/* The free of a function that also takes borrowed addresses: false if there is nothing to tell. */
bool rec_returning_borrowed(const struct rec_site *site, struct rec_about *a);
static inline bool rec_returning(struct rec_site site, struct rec_about *a)
{
	if (__builtin_expect(__atomic_load_n(&rec_any_capture, __ATOMIC_RELAXED) ||
				     __atomic_load_n(&rec_borrowed, __ATOMIC_RELAXED),
			     0) &&
	    !rec_returning_borrowed(&site, a))
		return false;
	rec_put_giving(&site, a);
	return true;
}

/* serve.c: an allocator in this process may answer instead of the driver */
extern const struct gms_served *rec_served;
#define REC_SERVE(function, ...)                                                                             \
	do {                                                                                                 \
		const struct gms_served *s_ = __atomic_load_n(&rec_served, __ATOMIC_ACQUIRE);                \
		int r_ = s_ ? s_->function(__VA_ARGS__) : GMS_NOT_SERVED;                                    \
                                                                                                             \
		if (__builtin_expect(r_ != GMS_NOT_SERVED, 0))                                               \
			return (CUresult)r_;                                                                 \
	} while (0)

/* hook_pool.c */
uint64_t rec_current_pool(uint8_t device); /* handle, 0 if not known */
void rec_pool_sample(struct rec_lane *lane, uint64_t handle, uint16_t pool, uint8_t device, uint64_t now);

#endif
