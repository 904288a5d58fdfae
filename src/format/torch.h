/* torch.h: what the files of the PyTorch snapshot reader share. Nobody else includes this.
 *
 *   torch_read.c     the pickle machine's client: tells dicts and lists apart, and snapshots in one pickle
 *   torch_entries.c  trace entries → rows; frames, stacks
 *   torch_final.c    segments, blocks, annotations, settings
 *   torch.c          puts it all in order: devices, times, phases, pools
 *   torch_state.c    what was there before the first event, undone from the final state
 */
#ifndef FORMAT_TORCH_H
#define FORMAT_TORCH_H

#include "format/pickle.h"
#include "model/model.h"

/* Strings that mean something. The pickle machine knows them by these numbers. */
/* clang-format off */
#define TORCH_KEYS(X)                                                                                        \
	X(action) X(addr) X(size) X(stream) X(time_us) X(frames) X(device_free) X(device) X(pool_id)         \
	X(name) X(filename) X(line)                                                                          \
	X(address) X(total_size) X(requested_size) X(segment_type) X(segment_pool_id) X(is_expandable)       \
	X(blocks) X(state) X(history) X(real_size)                                                           \
	X(stage)                                                                                             \
	X(segments) X(device_traces) X(allocator_settings) X(external_annotations)                           \
	X(host_segments) X(host_traces)                                                                      \
	X(PYTORCH_CUDA_ALLOC_CONF) X(max_split_size) X(expandable_segments) X(garbage_collection_threshold)     \
	X(roundup_power2_divisions)                                                                          \
	X(user_metadata) X(compile_context) X(internal_metadata) X(forward_frames)
#define TORCH_VALUES(X)                                                                                      \
	X(alloc) X(free_requested) X(free_completed) X(segment_alloc) X(segment_free) X(segment_map)         \
	X(segment_unmap) X(oom) X(snapshot) X(user_defined) X(annotate)                                      \
	X(active_allocated) X(active_pending_free) X(active_awaiting_free) X(inactive)                       \
	X(small) X(large) X(START) X(END)
enum torch_word {
#define X(name) TORCH_##name,
	TORCH_KEYS(X) TORCH_N_KEYS,
	TORCH_BEFORE_VALUES = TORCH_N_KEYS - 1,
	TORCH_VALUES(X) TORCH_N_WORDS
#undef X
};
/* clang-format on */

/* What the objects of the pickle become. */
enum torch_kind {
	TORCH_IS_FRAME = PICKLE_CLIENT, /* at: frame of the model */
	TORCH_IS_STACK,                 /* at: sites.v */
	TORCH_IS_ENTRY,                 /* at: row */
	TORCH_IS_ROWS,                  /* at: a range of rows in ranges.v */
	TORCH_IS_BLOCK,                 /* at: m->blocks */
	TORCH_IS_BLOCKS,                /* at: a range of them */
	TORCH_IS_SEGMENT,               /* at: m->segments */
	TORCH_IS_SEGMENTS,              /* at: a range of them */
	TORCH_IS_TRACES,                /* at: a range of traces.v */
	TORCH_IS_PAIR,                  /* at: pairs.v */
	TORCH_IS_PAST,                  /* at: past.v */
	TORCH_IS_TEXT,                  /* at: texts.v */
	TORCH_IS_TOP,
};

struct torch_range {
	uint32_t first, n;
};

struct torch {
	struct model *m;
	struct pickle p;

	/* Stacks by the words of their frames: equal lists are found without looking at the frames. */
	struct torch_sites {
		struct torch_site {
			uint32_t first, n, stack;
		} * v;
		pickle_word *words;
		uint32_t *slot, *frames;
		uint32_t last; /* asked for */
		size_t n, cap, n_words, cap_words, mask, cap_frames;
	} sites;
	struct torch_ranges {
		struct torch_range *v;
		size_t n, cap;
	} ranges, traces;    /* traces: the rows of each */
	struct torch_pairs { /* pool ids; the first is (0, 0) */
		struct torch_pair {
			uint64_t id[2];
		} * v;
		size_t n, cap;
		struct map64 at;
	} pairs;
	struct torch_pasts { /* torch 2.0: the history of a block */
		struct torch_past {
			uint64_t size;
			uint32_t stack;
		} * v;
		size_t n, cap;
	} past;
	struct torch_texts {
		char **v;
		size_t n, cap;
	} texts;
	struct torch_ooms { /* device_free of the oom rows */
		uint64_t *v;
		size_t n, cap;
		struct map64 at; /* by row */
	} ooms;
	struct torch_marks { /* external_annotations and user_defined entries */
		struct torch_mark {
			int64_t time_us;
			uint32_t name; /* of the model */
			uint32_t
			    row; /* a user_defined entry: its device is not known yet; UINT32_MAX if none */
			uint8_t device;
			uint8_t stage; /* TORCH_START, TORCH_END, or other: an instant */
		} * v;
		size_t n, cap;
	} marks;
	struct torch_streams { /* as numbered in the stream column while reading */
		uint64_t *v;
		size_t n, cap;
		struct map64 at;
		uint64_t last;
		uint16_t last_at;
	} streams;

	int64_t last_us; /* of the entry before */
	size_t n_timed;
	size_t n_copied; /* items copied because lists share them: at most one per byte */
	bool pools_told; /* entries have a pool_id */
	bool overflowed;
	uint32_t odd_actions[8]; /* unknown actions already noted */
	size_t n_odd, n_odd_keys;
	bool blocks_noted;
	size_t n_unused[4]; /* entries with something under the keys from user_metadata on */

	/* the top level */
	unsigned n_tops; /* snapshots in this pickle so far: mostly one, though it may stand inside another object */
	unsigned wanted; /* which of them is read, counted from 1; 0: the last */
	bool has_segments, has_host_segments;
	struct pickle_object segments, device_traces, host_segments, host_traces;
};

/* A dict by known key. */
struct torch_dict {
	uint64_t has; /* bit per key */
	pickle_word v[TORCH_N_KEYS];
	const pickle_word *pairs;
	size_t n;
};
_Static_assert(TORCH_N_KEYS <= 64, "a bit per key");
#define BIT(key)     (1ull << TORCH_##key)
#define HAS(d, key)  ((d)->has & BIT(key))
#define WORD(d, key) ((d)->v[TORCH_##key])

static inline bool torch_u64(const struct torch *t, const struct torch_dict *d, enum torch_word key,
                             uint64_t *out)
{
	return d->has >> key & 1 && pickle_u64(&t->p, d->v[key], out);
}

/* Streams and addresses may come as negative numbers: the same 64 bits. */
static inline bool torch_bits(const struct torch *t, const struct torch_dict *d, enum torch_word key,
                              uint64_t *out)
{
	int64_t i;

	if (torch_u64(t, d, key, out))
		return true;
	if (!(d->has >> key & 1) || !pickle_i64(&t->p, d->v[key], &i))
		return false;
	*out = (uint64_t)i;
	return true;
}

/* The value's number among the known words, TORCH_N_WORDS if it is none. */
static inline enum torch_word torch_word(const struct torch_dict *d, enum torch_word key)
{
	if (!(d->has >> key & 1) || pickle_tag(d->v[key]) != PICKLE_STRING ||
	    pickle_index(d->v[key]) >= TORCH_N_WORDS)
		return TORCH_N_WORDS;
	return (enum torch_word)pickle_index(d->v[key]);
}

static inline uint32_t torch_stack_of(const struct torch *t, const struct torch_dict *d)
{
	if (HAS(d, frames) && pickle_is(&t->p, WORD(d, frames), TORCH_IS_STACK))
		return t->sites.v[pickle_object(&t->p, WORD(d, frames))->at].stack;
	return 0;
}

/* Several snapshots in one pickle (a job's ranks): has all of the wanted one been seen? What comes then is another's. */
static inline bool torch_is_done(const struct torch *t)
{
	return t->wanted && t->n_tops >= t->wanted;
}

/* torch_read.c: the pickle machine's client */
void torch_client(struct torch *t, struct pickle_client *client);
void torch_intern_words(struct torch *t);
uint32_t torch_text_of(struct torch *t, pickle_word w);

/* torch_entries.c */
int torch_read_entry(struct torch *t, const struct torch_dict *d, struct pickle_object *as);
int torch_read_frame(struct torch *t, const struct torch_dict *d, struct pickle_object *as);
bool torch_find_site(struct torch *t, const pickle_word *item, size_t n, uint32_t *at);
size_t torch_unfold_stack(void *arg, const struct pickle_object *list, pickle_word *out);
void torch_note_unused(struct torch *t);
uint32_t torch_copy_row(struct torch *t, uint32_t row);

/* torch_final.c */
int torch_read_block(struct torch *t, const struct torch_dict *d, struct pickle_object *as);
int torch_read_segment(struct torch *t, const struct torch_dict *d, struct pickle_object *as);
int torch_read_past(struct torch *t, const struct torch_dict *d, struct pickle_object *as);
int torch_read_annotation(struct torch *t, const struct torch_dict *d);
int torch_read_settings(struct torch *t, const struct torch_dict *d);
int torch_read_roundup(struct torch *t, const struct torch_dict *d, struct pickle_object *as);

/* torch_state.c: the state before the first event, as initial rows; then the sizes of blocks. */
void torch_undo(struct torch *t);

#endif
