/* model.h: a recording in memory, whatever file it came from.
 *
 * Readers (format/) fill a model through the functions below; analyses take it const.
 *
 *  - Events are columns in the order of the recording. The first n_initial rows are not
 *    events of the window: they are allocations (and segments) that were live when it began,
 *    so that an analysis starts from the right state by simply running over all rows. An initial
 *    row's time is when it was allocated, if that is known, else the window's start.
 *  - Every reader makes exactly one row per entry of its source (unknown entries become
 *    TRACE.other), so "event number n of device d" means the same here and there: it is the n-th
 *    row of that device at or after n_initial, counted from 0.
 *  - Text, frames, stacks, streams, threads and pools are interned; 0 is always "none/unknown"
 *    (for streams: the default stream).
 *  - Numbers that are not known are MODEL_UNKNOWN, never 0.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/hash.h"
#include "wire/events.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_UNKNOWN UINT64_MAX
#define MODEL_NO_PEER UINT32_MAX
#define MODEL_NO_DEVICE 255 /* host memory, or the device is not known */

/* One event, as readers hand it over and as analyses may look at it. */
struct event {
	int64_t t_ns;
	uint64_t addr;
	uint64_t size;  /* requested bytes */
	uint64_t block; /* bytes of the block handed out; MODEL_UNKNOWN if the source does not say */
	uint32_t stack;
	uint16_t stream, thread, pool;
	uint8_t op, device;
};

struct columns {
	int64_t *t_ns;
	uint64_t *addr, *size;
	uint32_t *slack; /* block - size; UINT32_MAX = not known; NULL: no row knows */
	uint32_t *stack;
	uint32_t *peer; /* after model_link: alloc → the row from which on it takes no memory: its free (a free_requested
			 * only if the recording has no completed frees at all), else the alloc that took its
			 * address; any free and free_requested → its alloc */
	uint16_t *stream, *thread, *pool;
	uint8_t *op, *device;
	size_t n, cap;
};

struct frame {
	uint32_t function, file, module; /* strings; 0 = not known */
	uint32_t line;
};

struct stream_info {
	uint64_t handle; /* row 0: the default stream, handle 0 */
	uint8_t device;  /* MODEL_NO_DEVICE if not known */
};
struct thread_info {
	uint64_t tid;
	uint32_t name;
};
struct pool_info {
	uint64_t handle;     /* driver memory pool, 0 if none */
	uint64_t id[2];      /* a framework's private pool id, (0,0) = default */
	uint8_t device;
	uint8_t small;       /* 0 unknown, 1 small, 2 large */
};
struct phase { /* NVTX range, mark (begin == end), training step, annotation */
	uint32_t name, domain;
	uint16_t thread;
	uint8_t device;
	int64_t begin_ns, end_ns; /* end INT64_MAX: still open at the end */
};
struct failure { /* one per FAIL row, same order */
	uint32_t event;  /* row */
	int32_t error;   /* CUresult; 2 = out of memory */
	uint64_t free, total; /* device memory then; MODEL_UNKNOWN if not known */
};
struct anomalies { /* counted by model_link */
	uint64_t free_unknown; /* free of an address that was not live, never seen before in the window */
	uint64_t double_free;  /* the address was seen, but is already freed */
	uint64_t alloc_live;   /* alloc over a live address: the old one is taken as gone */
	uint64_t free_null;
};

struct device_info {
	uint32_t name;      /* string; 0 if not known */
	uint64_t total;     /* bytes of device memory, MODEL_UNKNOWN */
	uint8_t uuid[16];   /* as CUDA and NVML have it; all 0 if not known */
	uint64_t slack_most; /* where a slack is not known, it is at most this; MODEL_UNKNOWN */
	bool present;       /* it occurs in this recording */
	bool blocks;        /* rows about a framework's blocks or segments do */
	struct anomalies anomalies; /* its share */
};

/* State of a framework allocator at the end of the recording (PyTorch's "segments"). */
struct final_segment {
	uint64_t addr, size;
	uint64_t requested; /* sum over active blocks as the source states it, MODEL_UNKNOWN */
	uint32_t stack, first_block, n_blocks;
	uint16_t stream, pool;
	uint8_t device, small /* as pool_info */, expandable;
};
enum block_state { BLOCK_INACTIVE, BLOCK_ACTIVE, BLOCK_PENDING /* freed, awaiting streams */ };
struct final_block {
	uint64_t addr, size, requested; /* requested is meaningless for inactive blocks */
	uint32_t stack;
	uint8_t state;
};

/* Things worth telling that are not numbers: unknown keys, inconsistencies, dropped data. */
enum note_kind { NOTE_INFO, NOTE_WARNING, NOTE_INCONSISTENT };
struct note {
	enum note_kind kind;
	char *text;
};

enum source { SOURCE_NATIVE, SOURCE_TORCH, SOURCE_RMM, SOURCE_JAX };
enum history { /* what the window can tell of the past */
	HISTORY_NONE,     /* no events: a state only */
	HISTORY_PARTIAL,  /* the window began late, or old events were dropped */
	HISTORY_COMPLETE, /* from the first allocation on */
};

struct setting { /* allocator settings of the source, by PyTorch's key names */
	uint32_t key, value;
};

struct model {
	/* where it comes from */
	enum source source;
	const char *file;   /* as given by the user */
	bool complete;      /* the recording ended in order */
	char *why_incomplete;
	enum history history;
	bool has_time;      /* false: t_ns is just the event number */
	bool frees_left_out; /* the source recorded allocs but, on purpose, no frees */
	int64_t start_wall_ns; /* wall clock at t = 0, 0 if not known */
	int64_t duration_ns;
	uint64_t dropped_events;
	char *command, *host, *driver, *version /* of the framework, "" */;
	uint32_t pid;
	int32_t rank; /* -1 */

	struct columns ev;
	size_t n_initial;
	uint64_t unknown_entries;

	/* interned; use the functions */
	struct strings {
		char *bytes;
		uint32_t *at; /* offset of each string */
		size_t n, cap, n_bytes, cap_bytes;
		uint32_t *slot;
		size_t mask;
	} strings;
	struct frames {
		struct frame *v;
		size_t n, cap;
		uint32_t *slot;
		size_t mask;
	} frames;
	struct stacks {
		uint32_t *flat; /* frames of all stacks, leaf first */
		uint32_t *at;   /* n + 1 offsets into flat */
		size_t n, cap, n_flat, cap_flat;
		uint32_t *slot;
		size_t mask;
	} stacks;

	struct stream_info *streams;
	size_t n_streams, cap_streams;
	struct thread_info *threads;
	size_t n_threads, cap_threads;
	struct pool_info *pools;
	size_t n_pools, cap_pools;
	struct phase *phases;
	size_t n_phases, cap_phases;
	struct failure *failures;
	size_t n_failures, cap_failures;
	struct final_segment *segments;
	size_t n_segments, cap_segments;
	struct final_block *blocks;
	size_t n_blocks, cap_blocks;
	struct setting *settings;
	size_t n_settings, cap_settings;
	struct note *notes;
	size_t n_notes, cap_notes;
	struct device_info device[256];

	struct anomalies anomalies;
	bool linked;
	bool narrowed; /* to what somebody asked for: what is not here may be in the file */
	char *why_nothing; /* if nothing is left of it then: why, in words for behind a colon */
};

void model_init(struct model *m, const char *file);
void model_free(struct model *m);

uint32_t model_string(struct model *m, const char *s, size_t n);
uint32_t model_cstring(struct model *m, const char *s);
static inline const char *model_text(const struct model *m, uint32_t id) { return m->strings.bytes + m->strings.at[id]; }
uint32_t model_frame(struct model *m, const struct frame *f);
uint32_t model_stack(struct model *m, const uint32_t *frames, size_t n); /* leaf first */
static inline const uint32_t *model_stack_frames(const struct model *m, uint32_t stack, size_t *n)
{
	*n = m->stacks.at[stack + 1] - m->stacks.at[stack];
	return m->stacks.flat + m->stacks.at[stack];
}
uint16_t model_stream(struct model *m, uint64_t handle, uint8_t device);
uint16_t model_thread(struct model *m, uint64_t tid, uint32_t name);
uint16_t model_pool(struct model *m, const struct pool_info *p);

size_t model_add(struct model *m, const struct event *ev); /* returns the row */
void model_reserve(struct model *m, size_t events);
/* Make room for n rows before the first and make them the initial rows (for readers that learn
 * the initial state last). Rows stored in failures are shifted too. Before model_link only. */
void model_prepend_initial(struct model *m, const struct event *ev, size_t n);
/* Row i becomes what row order[i] was; there are n rows afterwards. Rows stored elsewhere (failures) are the
 * caller's to adjust. Before model_link only. */
void model_reorder(struct model *m, const uint32_t *order, size_t n);
struct event model_event(const struct model *m, size_t row);
void model_fail(struct model *m, size_t row, int error, uint64_t free, uint64_t total);
void model_setting(struct model *m, const char *key, const char *value);
const char *model_setting_get(const struct model *m, const char *key); /* NULL if absent */
void model_note(struct model *m, enum note_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Tells recordings apart, whatever file they are in: a hash of the events and of what they refer to. Whoever
 * adds to the tables changes it. */
uint64_t model_digest(const struct model *m);

/* Match every free with its alloc, count anomalies, mark devices present. Call once after reading.
 * After it, a free's kind and device are its alloc's: use model_kind. */
void model_link(struct model *m);
static inline enum gms_kind model_kind(const struct model *m, size_t row)
{
	uint8_t op = m->ev.op[row], action = GMS_OP_ACTION(op);
	uint32_t peer = m->ev.peer[row];
	if ((action == GMS_A_FREE || action == GMS_A_FREE_REQUESTED) && peer != MODEL_NO_PEER)
		op = m->ev.op[peer];
	return GMS_OP_KIND(op);
}
static inline uint64_t model_block_size(const struct model *m, size_t row) /* MODEL_UNKNOWN if not known */
{
	if (!m->ev.slack || m->ev.slack[row] == UINT32_MAX)
		return MODEL_UNKNOWN;
	return m->ev.size[row] + m->ev.slack[row];
}

#endif
