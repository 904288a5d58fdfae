/* spool_reader.h: the parts of the spool reader, which share one state. Only format/spool*.c.
 *
 * The file may be damaged, and it may belong to a running process and change under the reader: every
 * word is copied before it is checked, and nothing is believed twice.
 */
#ifndef FORMAT_SPOOL_READER_H
#define FORMAT_SPOOL_READER_H

#include "base/hash.h"
#include "format/spool.h"
#include "wire/spool.h"
#include <string.h>

/* One EVENTS chunk: records from `at` to `end` were there when the reading began. */
struct spool_run {
	size_t at, end, limit; /* limit: of the chunk */
	uint64_t next_ns;      /* of the record at `at` */
	uint32_t thread;  /* index of the process */
};

struct spool_module_row {
	uint64_t begin, end, bias;
	uint32_t id, epoch, gone; /* there in epochs [epoch, gone) */
	uint32_t name;		  /* string: the path */
	struct spool_file file;
};

struct spool_stack_row {
	size_t at;	/* of its words in the file, 0 = no such stack */
	uint32_t n;	/* words */
	uint32_t epoch;
	uint32_t model; /* the model's stack, once it was needed; UINT32_MAX before */
	bool cut;
};

/* What an address became: frames of the model, innermost first. */
struct spool_place_row {
	uint32_t first, n;
	bool python_loop; /* the interpreter's loop: Python frames go here */
};

struct spool_reader {
	const unsigned char *data;
	size_t n; /* bytes in use */
	const char *name;
	struct spool_header h;
	struct model *m;
	const struct spool_options *o;
	uint64_t until_ns; /* monotonic; UINT64_MAX = all */
	uint64_t events;

	struct spool_run *runs;
	size_t n_runs, cap_runs;
	size_t n_ready, n_joined;     /* runs with records; those of them that joined the heap */
	struct spool_run **heap;      /* by time of the next record */
	size_t n_heap;
	struct spool_table_run { /* of a TABLES chunk: what has not been read yet */
		size_t at, end;
	} * tables;
	size_t *lives; /* offsets of these chunks */
	size_t n_tables, cap_tables, n_lives, cap_lives;

	/* index or id → what it is in the model; entry 0 is "none" */
	uint32_t *string;
	size_t n_string;
	uint16_t *thread, *stream, *pool;
	size_t n_thread, n_stream, n_pool;
	uint64_t *context; /* handle of each context index */
	size_t n_context;
	struct spool_stack_row *stack;
	size_t n_stack;
	size_t *pycode; /* offset of each record */
	size_t n_pycode;
	struct spool_module_row *modules; /* sorted by begin */
	size_t n_modules, cap_modules;

	struct map64 places; /* (address, module) → row of place */
	struct spool_place_row *place;
	size_t n_place, cap_place;
	uint32_t *place_frames;
	size_t n_place_frames, cap_place_frames;
	struct map64 pylines; /* Python word without its entry bit → frame */

	struct map64 live; /* address in its space → row of live_row, if `tracks` */
	struct spool_live {
		uint64_t addr, t_ns;
		uint16_t context;
		uint8_t op, device;
		bool alive, just_ended; /* by the last free of its address */
	} * live_row;
	size_t n_live, cap_live;
	bool tracks; /* someone must know what is live: contexts that end, switched-off times, filters */
	bool no_phases;
	uint64_t last_ns; /* of the last record taken */

	struct open_phase {
		uint32_t phase, domain;
		uint64_t id;
		uint16_t thread;
		bool nests;
	} * open;
	size_t n_open, cap_open;
};

/* spool.c: check the header and find the chunks; r->m is the caller's */
int spool_open(struct spool_reader *r, const struct input *in, struct err *e);
int spool_check_header(struct spool_header *h, const char *name, struct err *e);
/* Tell the model what the header says of the recording. */
void spool_tell_header(struct spool_reader *r);
/* Add the chunk at `at` to the lists; false if it is not in use yet. */
bool spool_add_chunk(struct spool_reader *r, size_t at);
/* Where the records from `at` on end now. */
size_t spool_run_end(const struct spool_reader *r, size_t at, size_t end);
void spool_close(struct spool_reader *r);

/* spool_live.c: a spool, also one that its process is writing: then as of one moment. */
struct spool_moment {
	int64_t t_ns; /* since the recording began: nothing later counts; 0 = the process is gone, all counts */
	bool torn;    /* a flight recorder dropped events all the while */
};
int spool_live_open(struct input *in, const char *path, struct spool_moment *moment, struct err *e);

/* spool_tables.c: what was not read before */
void spool_tables_read(struct spool_reader *r);
/* The record at `at`, which ends before `end`: its length in bytes, 0 if there is none. */
size_t spool_record(const struct spool_reader *r, size_t at, size_t end, struct spool_word *w);
/* Copy a record's fixed part (what it lacks stays zero). */
void spool_copy(const struct spool_reader *r, size_t at, size_t bytes, void *to, size_t size);

/* spool_stacks.c */
uint32_t spool_stack_of(struct spool_reader *r, uint32_t id);

/* spool_python.c */
uint32_t spool_python_frame(struct spool_reader *r, uint64_t word);

/* spool_events.c */
void spool_events_read(struct spool_reader *r);
/* Put the runs in order, before records are taken: those with a record first. */
void spool_events_sort(struct spool_reader *r);
/* Take at most `most` records, up to r->until_ns; returns how many. */
size_t spool_events_take(struct spool_reader *r, size_t most);
/* Sizes of blocks follow from addresses, if a caching allocator's are recorded. */
void spool_events_blocks(struct spool_reader *r);
/* Forget addresses that are not live. */
void spool_events_prune(struct spool_reader *r);

#endif
