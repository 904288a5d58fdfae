/* rec.h: what the parts of the recorder (libgpumemsnap.so) share.
 *
 * The recorder is a guest in someone else's process. What always holds in every file here:
 *  - nothing fails upward: on trouble it is told once (rec_trouble) and all calls pass through;
 *  - no malloc, no stdio, no lock held across a call into the driver or the program;
 *  - errno is what the program left it;
 *  - a thread interrupted by a signal inside the recorder may enter it again (see struct rec_lane);
 *  - after fork, the child starts anew before it records anything.
 * Only src/record includes this.
 */
#ifndef RECORD_REC_H
#define RECORD_REC_H

#include "record/cfi.h"
#include "wire/events.h"
#include "wire/spool.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REC_EXPORT    __attribute__((visibility("default")))
#define REC_NO_DEVICE SPOOL_NO_DEVICE
#define REC_DEVICES   64  /* device ordinals that are told apart */
#define REC_PY_DEPTH  512 /* Python frames of a stack */

/* --- is anything recorded? (init.c) ------------------------------------------------------- */
enum rec_state {
	REC_ASLEEP = 0, /* a new process, or a fork's child: nothing is open yet */
	REC_ON,		/* everything is recorded */
	REC_WINDOW,	/* start-after, duration or gms_record(): ask rec_wake */
	REC_OUT,	/* nothing will be recorded any more */
};
enum rec_mode { REC_NOTHING = 0, REC_ALL = 1, REC_FREES = 2 /* off, but what was recorded may end */ };

/* One page that the kernel wipes in a child of fork: whatever way a process was duplicated,
 * the copy finds itself asleep. */
struct rec_page {
	uint32_t state;
};
extern struct rec_page *rec_page;

enum rec_mode rec_wake(void);
static inline enum rec_mode rec_mode(void)
{
	if (__builtin_expect(__atomic_load_n(&rec_page->state, __ATOMIC_RELAXED) == REC_ON, 1))
		return REC_ALL;
	return rec_wake();
}
/* Is the spool of this very process open? */
static inline bool rec_running(void)
{
	uint32_t state = __atomic_load_n(&rec_page->state, __ATOMIC_ACQUIRE);

	return state == REC_ON || state == REC_WINDOW;
}
void rec_trouble(int error, const char *what); /* told once, recorded, and the end of recording */
void rec_finish(enum spool_state how);	       /* the process is about to end */
void rec_resume(void);			       /* … but did not (exec failed) */
void rec_quick_exit(void);
void rec_switch(bool on);		       /* gms_record() */
bool rec_confined(void); /* has the program forbidden itself system calls since it started? */
void rec_term_due(void);		       /* term.c: a SIGTERM that was put off comes now */
uint64_t rec_now(void);
/* Is it time for another look, after one at `last`? (Now may be a little before that.) */
static inline bool rec_due(uint64_t now, uint64_t last, uint64_t every)
{
	return !last || (every && (int64_t)(now - last) >= (int64_t)every);
}

/* --- options (config.c) ------------------------------------------------------------------- */
struct rec_options {
	char dir[512]; /* "" = do not record */
	const char *text;
	uint32_t depth;
	bool stack_alloc, stack_free, python, off;
	int parent, signal, rank;
	uint64_t max_bytes, grow, filter_bytes, start_after, duration, sample;
};
extern struct rec_options rec_options;
void rec_options_read(void);

/* --- locks (thread.c) --------------------------------------------------------------------- */
struct rec_lane;
struct rec_lock {
	uint32_t owner; /* thread id, 0 = free */
};
/* False only for a nested lane (a signal handler) that finds it taken: it must not wait for
 * whom it interrupted. */
bool rec_lock(struct rec_lock *lock, const struct rec_lane *lane);
void rec_unlock(struct rec_lock *lock);

/* --- threads (thread.c) ------------------------------------------------------------------- */
/* Where one thread writes. A thread has two: the second serves a signal handler that interrupted
 * the recorder itself. */
#define REC_WALKS    8	 /* recent walks of the stack that a lane remembers */
#define REC_WALK_MAX 128 /* … if they are not longer than this */
struct rec_walk {
	struct rec_registers start;
	uint32_t epoch, n; /* steps; 0 = unused */
	uint32_t id;	   /* the stack's number if it has no Python frames, else 0 */
	bool ended;
	struct rec_step step[REC_WALK_MAX];
};
/* Where a stream-ordered call takes place, as it was last looked up. */
struct rec_place {
	uint32_t generation; /* holds while rec_generation is the same */
	uint16_t stream_number, pool_number, context;
	uint8_t device;
	uint64_t stream, pool; /* handles, as the call had them */
	uint64_t pool_taken;   /* … the pool's, or the device's */
	uint64_t samples_ns;   /* time of the last look whether samples are due */
};
enum rec_place_kind { REC_GIVING, REC_TAKING, REC_TAKING_FROM_POOL, REC_PLACES };
struct rec_lane {
	struct rec_thread *thread;
	uint8_t *at, *end;	   /* free room of the chunk */
	struct spool_chunk *chunk; /* NULL before the first event */
	uint64_t last_ns;	   /* of the last event there */
	const void *frame;	   /* stack address of the call being recorded */
	struct rec_place place[REC_PLACES];
	bool nested, unwinding;
	uint64_t word[SPOOL_DEPTH_MAX + 16 + 3 * REC_PY_DEPTH]; /* of the stack being taken */
	const struct rec_step *steps; /* of that stack, from `sp` on; NULL if libunwind took it */
	uint64_t sp;
	struct rec_step step[SPOOL_DEPTH_MAX];
	struct rec_walk walk[REC_WALKS];
};
struct rec_thread {
	uint32_t busy; /* how many lanes are in use now */
	uint32_t index;
	pid_t tid;
	int *error; /* where errno is */
	/* the current context as last seen: valid while generation is rec_generation */
	uint32_t ctx_generation;
	uint16_t context;
	uint8_t device;
	char name[16];
	struct rec_thread *next, *next_free;
	struct rec_lane lane[2];
};

/* A site is where the program called: its return address, the hook's frame, and the program's own frame
 * pointer, which that frame saved. */
struct rec_site {
	const void *pc, *frame, *bp;
};
#define REC_SITE                                                                                             \
	((struct rec_site){__builtin_return_address(0), __builtin_frame_address(0),                          \
			   *(const void **)__builtin_frame_address(0)})

/* Begin to record in this thread; NULL if it cannot be (counted as dropped). errno is kept between
 * begin and end. Never call the driver's hooked functions or return to the program in between. */
extern __thread struct rec_thread *rec_self;
struct rec_lane *rec_begin_slow(const void *frame, int *saved_errno);
static inline struct rec_lane *rec_begin(struct rec_site site, int *saved_errno)
{
	struct rec_thread *t = rec_self;
	struct rec_lane *lane;

	if (__builtin_expect(!t || t->busy, 0))
		return rec_begin_slow(site.frame, saved_errno);
	*saved_errno = *t->error;
	lane = &t->lane[0];
	lane->frame = site.frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return lane;
}
static inline void rec_end(struct rec_lane *lane, int saved_errno)
{
	struct rec_thread *t = lane->thread;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->busy = lane->nested;
	*t->error = saved_errno;
}
void rec_thread_context_stale(void); /* this thread's current context is to be looked up again */
void rec_threads_init(void);
void rec_threads_forked(void);
void rec_threads_rename(void); /* write down names that changed */

/* --- the spool (spool_out.c) -------------------------------------------------------------- */
extern struct spool_header *rec_head; /* never NULL: a dummy when there is no spool */
bool rec_spool_open(void);
void rec_spool_keep(void);   /* the program is about to lose the way to the file */
void rec_spool_forget(void); /* in a fork's child: the parent's file is not ours */
/* Room for an event of so many bytes in the lane's chunk, NULL if there is none. What is there is
 * zero; the event exists once its first word is stored: rec_commit. */
void *rec_room_slow(struct rec_lane *lane, size_t bytes);
static inline void *rec_room(struct rec_lane *lane, size_t bytes)
{
	if (__builtin_expect((size_t)(lane->end - lane->at) >= bytes, 1))
		return lane->at;
	return rec_room_slow(lane, bytes);
}
static inline void rec_commit(struct rec_lane *lane, void *record, struct spool_word w)
{
	union {
		struct spool_word w;
		uint64_t word;
	} u = {.w = w};

	__atomic_store_n((uint64_t *)record, u.word, __ATOMIC_RELEASE);
	lane->at = (uint8_t *)record + w.words * 8u;
}
struct spool_chunk *rec_table_chunk(struct rec_lane *lane); /* a new TABLES chunk; NULL if there is no room */
void rec_release_chunk(struct rec_lane *lane); /* the thread ends: another may go on writing there */
void rec_abandon_chunk(struct rec_lane *lane); /* nobody will write there any more */

/* --- contexts (hook_ctx.c) ------------------------------------------------------------------ */
extern uint32_t rec_generation; /* another one: what threads remember of contexts, streams and pools is not so any more */
static inline void rec_forget_places(void)
{
	__atomic_add_fetch(&rec_generation, 1, __ATOMIC_RELAXED);
}
void rec_contexts_forked(void);
void rec_vmm_forked(void);
void rec_share_forked(void);
void rec_graphs_forked(void);
uint8_t rec_device_of_stream(uint64_t stream, uint8_t current);
/* The current context's device and index, for an event of this thread. */
uint8_t rec_device(struct rec_lane *lane, uint16_t *context);

/* --- the flight recorder (fold.c); all under the spool's lock -------------------------------- */
/* What is known of a chunk besides its content. */
enum rec_chunk_use { REC_CHUNK_OPEN, REC_CHUNK_FULL, REC_CHUNK_FREE, REC_CHUNK_OTHER };
struct rec_chunk {
	struct spool_chunk *chunk;
	uint64_t next_ns; /* no event that is still there is older */
	uint64_t last_ns; /* of its last event, once it is full */
	enum rec_chunk_use use;
};
/* A free chunk, after folding the oldest events into live slots until `spare` more are free; NULL if none
 * can become free. */
struct spool_chunk *rec_fold(struct rec_chunk *v, size_t n, uint32_t chunk_bytes, size_t spare);
struct spool_chunk *rec_free_chunk(struct rec_chunk *v, size_t n); /* one that is free already, or NULL */
struct spool_chunk *rec_live_chunk(void); /* spool_out.c: for slots; NULL if there is no room */
void rec_fold_forked(void);

/* --- small things (init.c) ---------------------------------------------------------------- */
/* open(2) and friends past whoever interposes them; O_CLOEXEC is added. */
int rec_open(const char *path, int flags);
void rec_cat(char *to, size_t size, const char *s);
void rec_cat_number(char *to, size_t size, uint64_t n);
void *rec_memory(size_t bytes); /* zeroed, never freed; NULL if there is none */

/* --- tables (tables.c): what events refer to by number ------------------------------------- */
/* Append a record to the TABLES chunk: head is copied, then tail; w.words is set here. Under the
 * tables lock. Returns where it is, NULL if there is no room. */
const void *rec_table_put(struct rec_lane *lane, void *head, size_t head_bytes, const void *tail, size_t tail_bytes);
bool rec_tables_lock(const struct rec_lane *lane);
void rec_tables_unlock(void);
void rec_tables_forked(void);
uint32_t rec_string(struct rec_lane *lane, const char *text); /* 0 if NULL or no room */
uint16_t rec_stream(struct rec_lane *lane, uint64_t handle, uint8_t device);
uint16_t rec_pool(struct rec_lane *lane, uint64_t handle, uint8_t device);
uint16_t rec_context(struct rec_lane *lane, uint64_t handle, uint8_t device);
void rec_context_forget(uint64_t handle); /* a later context at this address is another one */
void rec_stream_forget(uint64_t handle);
void rec_pool_forget(uint64_t handle);
void rec_setting(struct rec_lane *lane, struct spool_setting *s);
uint8_t rec_pool_device(uint16_t pool);
uint8_t rec_device_of_pool(uint64_t handle);
uint8_t rec_stream_device(uint16_t stream);
uint8_t rec_context_device(uint64_t handle);

/* --- stacks (stack.c, modules.c) ----------------------------------------------------------- */
void rec_stacks_init(void);
void rec_stacks_forked(void);
uint32_t rec_stack(struct rec_lane *lane, struct rec_site site); /* id, 0 = none */
void rec_modules_stale(void); /* something was unloaded */
uint32_t rec_modules_epoch(struct rec_lane *lane, bool new_stack);
void rec_modules_forked(void);
void rec_unwinder_flush(void);
uint32_t rec_unwinder(void); /* as spool_header.unwinder says */

/* --- events (event.c) --------------------------------------------------------------------- */
struct rec_event {
	uint8_t op, device;
	uint16_t stream, pool, context;
	uint64_t addr, size;
};
void rec_dropped(void); /* one is not recorded */
/* Times of a chunk never run backwards, also where a chunk came from another thread. */
static inline uint64_t rec_stamp(struct rec_lane *lane, uint64_t t_ns)
{
	if (t_ns < lane->last_ns)
		t_ns = lane->last_ns;
	lane->last_ns = t_ns;
	return t_ns;
}
static inline void rec_fill(struct rec_lane *lane, struct spool_event *e, const struct rec_event *ev, uint64_t t_ns,
			    uint32_t stack)
{
	e->t_ns = rec_stamp(lane, t_ns);
	e->addr = ev->addr;
	e->size = ev->size;
	e->stack = stack;
	e->pool = ev->pool;
	e->context = ev->context;
}
static inline void rec_put(struct rec_lane *lane, const struct rec_event *ev, uint64_t t_ns, uint32_t stack, bool off)
{
	struct spool_event *e = rec_room(lane, sizeof *e);

	if (__builtin_expect(!e, 0)) {
		rec_dropped();
		return;
	}
	rec_fill(lane, e, ev, t_ns, stack);
	rec_commit(lane, e,
		   (struct spool_word){.kind = SPOOL_EVENT,
				       .op = ev->op,
				       .words = sizeof *e / 8,
				       .device = ev->device,
				       .flags = off ? SPOOL_WHILE_OFF : 0,
				       .stream = ev->stream});
}
void rec_put_fail(struct rec_lane *lane, const struct rec_event *ev, uint64_t t_ns, uint32_t stack, int error,
		  uint64_t free, uint64_t total);

#endif
