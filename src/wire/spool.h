/* spool.h: the file a recorded process writes and the analyser reads. Headers only.
 *
 * THE ENVIRONMENT CONTRACT (who starts a recorded process sets it)
 *   LD_PRELOAD            libgpumemsnap.so first, then whatever was there
 *   GPUMEMSNAP_SPOOL      absolute path of an existing private directory (mode 0700). Every process
 *                         creates its own file there: "PID.N.spool", N = 0, 1, … for each program
 *                         image a process id went through (exec). A process started directly by
 *                         options' parent= creates it at once; any other (a shell's children, say)
 *                         only when it first touches the CUDA driver. So: no file at all means that
 *                         the preload was ignored (static or setuid program).
 *   GPUMEMSNAP_OPTIONS    comma separated, all numbers plain decimal; unknown keys are ignored:
 *       parent=PID        who records (see above)
 *       stacks=all|alloc|none   whose call stacks are taken; default all
 *       depth=N           frames kept of each stack, 1..SPOOL_DEPTH_MAX; default SPOOL_DEPTH
 *       python=0|1        Python frames; default 1
 *       max-size=BYTES    flight recorder: bound of the file; 0 (default) = keep everything
 *       grow=BYTES        the file grows by so much each time, the first time as it is made; default: as
 *                         needed, by a few chunks and then by more
 *       filter-size=BYTES allocations smaller than this are not recorded (nor their frees)
 *       start-after=NS    record nothing before this long after the process started
 *       duration=NS       record nothing later than this long after that
 *       off=1             start switched off: gms_record(true) starts
 *       signal=N          signal number that asks for a snapshot (see snapshots below); default none
 *       sample=NS         at least this long between two samples of device memory and of a pool's
 *                         reserved bytes; default 100 ms; 0 = never
 *   Without GPUMEMSNAP_SPOOL the library passes everything through and does nothing.
 *
 * THE FILE: one header, then chunks of chunk_bytes, all little-endian as the process sees them.
 *  - The file grows by whole extents whose blocks are allocated before they are used, so that a
 *    full disk shows as a failed growth and never as SIGBUS. file_bytes of the header says how far
 *    it is in use; bytes beyond that mean nothing.
 *  - An EVENTS chunk is written by one thread at a time (OWNER records say which), its times never
 *    run backwards; chunks overlap in time and the reader merges them. A TABLES chunk holds what
 *    events refer to by number. A LIVE chunk (flight recorder) is an array of slots.
 *  - A record starts with one word (struct spool_word) that is stored last, in one piece, with
 *    release order. kind 0 there: nothing was written from here on. So a process killed at any
 *    instruction loses at most the record it was writing, and the file can be read while it grows.
 *  - Tables first: whatever an event refers to was stored before the event. A reader of a running
 *    process therefore notes how far each EVENTS chunk goes before it reads the tables.
 *
 * FLIGHT RECORDER (max-size): when the file has its size, the oldest events are folded, in the order
 * of time, into LIVE slots (one per live allocation) and their chunks are used again. An EVENTS
 * chunk's `folded` says where its remaining events begin; the header's window_ns and folded_events
 * say what is gone. The first remaining event of a chunk may already be contained in the LIVE slots,
 * if the process was killed just then: a reader ignores an alloc that is a slot's own (same address
 * and time) and a free of something not live with the time window_ns.
 * A reader that wants a running flight recorder to hold still stores a time in hold_until_ns: before it
 * (at most SPOOL_HOLD_MAX_NS ahead is honoured) nothing is folded as long as there are chunks to spare,
 * of which some are always kept. If folded_events and window_ns are afterwards as before, nothing was.
 */
#ifndef WIRE_SPOOL_H
#define WIRE_SPOOL_H

#include <stdint.h>

#define SPOOL_MAGIC	  "GMSSPOOL"
#define SPOOL_VERSION	  1u
#define SPOOL_HEADER      8192u	   /* bytes of the header */
#define SPOOL_CHUNK	  65536u   /* bytes of a chunk, by default */
#define SPOOL_CHUNK_MIN	  16384u
#define SPOOL_CHUNK_MAX	  (1u << 20)
#define SPOOL_DEPTH	  128
#define SPOOL_DEPTH_MAX	  1024
#define SPOOL_NO_DEVICE	  255	   /* host memory, or not known */
#define SPOOL_MANY	  0xffffu  /* index of streams, pools, contexts, threads beyond the 65,534th */
#define SPOOL_HOLD_MAX_NS 500000000ull

/* How a process's recording stands. */
enum spool_state {
	SPOOL_RUNNING = 0,  /* still running, or it died without a word (signal, power) */
	SPOOL_EXITED = 1,   /* exit() or return from main: end_ns, exit handlers of others may still add events */
	SPOOL_FAST_EXIT = 2, /* _exit, _Exit, quick_exit */
	SPOOL_EXEC = 3,	    /* replaced by another program image: its file has the next N */
};

struct spool_header {
	char magic[8];
	uint32_t version, header_bytes, chunk_bytes;
	uint32_t state;		/* enum spool_state */
	uint64_t file_bytes;	/* in use: header and whole chunks */
	int32_t pid, ppid;
	uint64_t start_ns;	/* monotonic clock when the recording began: t = 0 of the snapshot */
	int64_t start_wall_ns;	/* wall clock at that moment */
	uint64_t end_ns;	/* monotonic clock when state left RUNNING; 0 before */
	uint64_t max_bytes;	/* max-size; 0 = no bound */
	uint64_t window_ns;	/* flight recorder: events up to here were folded away; 0 = none */
	uint64_t folded_events;	/* how many */
	uint64_t hold_until_ns;	/* written by readers, see above */
	uint64_t dropped;	/* events lost: no room, or in a signal handler inside the recorder */
	uint64_t dropped_stacks; /* stacks lost: their events have stack 0 */
	uint64_t filtered;	/* allocations below filter-size */
	uint64_t unknown_versions; /* cuGetProcAddress asked for a version or a name driver.def lacks */
	uint64_t snapshots;	/* SNAPSHOT records written so far: a watcher's cue to look */
	uint64_t gpu_calls;	/* 0: the process never reached the CUDA driver (approximate) */
	uint32_t trouble_errno;
	uint32_t driver_version; /* cuDriverGetVersion, 0 = not known */
	uint32_t exe_bytes, argv_bytes; /* used of exe and argv */
	uint32_t unwinder;	/* 0 none, 1 libunwind, 2 frame pointers, 3 libgcc */
	int32_t rank;		/* RANK, OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID; -1 */
	char trouble[256];	/* why recording stopped; "" = it did not */
	char host[64];
	char options[512];	/* GPUMEMSNAP_OPTIONS as it was */
	char exe[1024];
	char argv[4096];	/* as /proc/self/cmdline: NUL after each, perhaps cut */
	char reserved[SPOOL_HEADER - 8 - 4 * 4 - 8 - 4 * 2 - 8 * 13 - 4 * 6 - 256 - 64 - 512 - 1024 - 4096];
};

enum spool_chunk_type { SPOOL_FREE = 0, SPOOL_EVENTS = 1, SPOOL_TABLES = 2, SPOOL_LIVE = 3 };

struct spool_chunk { /* first bytes of a chunk; records (or slots) follow */
	uint32_t type;	     /* enum spool_chunk_type, stored last */
	uint32_t generation; /* counts how often the chunk was used again */
	uint32_t folded;     /* EVENTS: offset in the chunk of the first record that counts, 0 = all */
	uint32_t thread;     /* thread index of that record, until an OWNER record says otherwise */
	uint64_t spare[2];
};

/* kind of a record */
enum spool_kind {
	SPOOL_NONE = 0,
	/* in EVENTS chunks */
	SPOOL_EVENT = 1,
	SPOOL_FAIL = 2,
	SPOOL_OWNER = 3,
	SPOOL_PHASE = 4,
	SPOOL_SNAPSHOT = 5,
	/* in TABLES chunks */
	SPOOL_STACK = 16,
	SPOOL_STRING = 17,
	SPOOL_THREAD = 18,
	SPOOL_STREAM = 19,
	SPOOL_POOL = 20,
	SPOOL_CONTEXT = 21,
	SPOOL_DEVICE = 22,
	SPOOL_MODULE = 23,
	SPOOL_MODULE_GONE = 24,
	SPOOL_PYCODE = 25,
	SPOOL_SETTING = 26,
};

/* The first 8 bytes of every record; readers skip kinds they do not know by `words`. */
struct spool_word {
	uint8_t kind;	/* enum spool_kind */
	uint8_t op;	/* of events: GMS_OP(kind, action) */
	uint16_t words; /* length of the whole record in 8-byte words, this one included */
	uint8_t device; /* ordinal, or SPOOL_NO_DEVICE */
	uint8_t flags;
	uint16_t stream; /* index of a STREAM record; 0 = default stream, or none */
};

/* flags of an event: recorded while switched off (outside start-after .. duration, gms_record(false)),
 * only because it may end an allocation that was recorded: it means nothing otherwise. */
enum { SPOOL_WHILE_OFF = 1 };

/* A free is recorded with its address only, kind DEVICE or ASYNC after the function called: whose
 * memory it was is for the reader to find. A refused free is followed by KIND.other. */
struct spool_event {
	struct spool_word w;
	uint64_t t_ns; /* monotonic clock; for a free just before the driver was called, else just after */
	uint64_t addr, size;
	uint32_t stack; /* id of a STACK record, 0 = none */
	uint16_t pool, context; /* indexes, 0 = none or default */
};

struct spool_fail { /* op = KIND.fail; ev.addr 0, ev.size as asked for */
	struct spool_event ev;
	int64_t error; /* CUresult */
	uint64_t free, total; /* of the device at that moment, UINT64_MAX if not known */
};

struct spool_slot { /* of a LIVE chunk: an allocation, empty while ev.w.kind is 0 */
	struct spool_event ev;
	uint64_t thread; /* index */
};

struct spool_owner { /* from here on the chunk's records are this thread's */
	struct spool_word w;
	uint64_t thread; /* index of a THREAD record */
};

enum spool_phase_what { SPOOL_MARK = 0, SPOOL_PUSH = 1, SPOOL_POP = 2, SPOOL_BEGIN = 3, SPOOL_END = 4 };

struct spool_phase { /* w.op = enum spool_phase_what */
	struct spool_word w;
	uint64_t t_ns;
	uint64_t id;	/* of BEGIN and END: which belong together (across threads) */
	uint32_t name, domain; /* STRING ids, 0 = none; PUSH/POP nest per thread and domain */
};

struct spool_snapshot { /* somebody asked for a snapshot as of t_ns */
	struct spool_word w;
	uint64_t t_ns;
	uint32_t name; /* STRING id; 0 = no name given */
	uint32_t by;   /* 0 gms_snapshot(), 1 the signal */
};

/* Words of a stack, leaf first: native frames, then Python frames (if any), each list leaf first.
 * A native word is a return address (the leaf's too): subtract 1 to be inside the call.
 * SPOOL_LOOP marks one inside the interpreter's loop, as far as the recorder knows it.
 * A Python word: SPOOL_PY | entry << 62 | code id << 32 | byte offset into the bytecode; `entry` is
 * set on the last Python frame that one activation of the interpreter's loop
 * (_PyEval_EvalFrameDefault) runs: that is how the two lists are merged. */
#define SPOOL_LOOP	 (1ull << 62)
#define SPOOL_PY	 (1ull << 63)
#define SPOOL_PY_ENTRY	 (1ull << 62)
#define SPOOL_PY_CODE(w) ((uint32_t)((w) >> 32) & 0x3fffffffu)
#define SPOOL_PY_AT(w)	 ((uint32_t)(w))

enum { SPOOL_STACK_CUT = 1 }; /* flags: deeper than the limit, the root end is missing */
struct spool_stack {
	struct spool_word w;
	uint32_t id; /* from 1, ascending but perhaps with gaps */
	uint32_t epoch; /* which modules were loaded: see MODULE */
	uint64_t frame[]; /* w.words - 2 of them */
};

struct spool_string {
	struct spool_word w;
	uint32_t id, bytes;
	char text[]; /* not terminated */
};

struct spool_thread { /* a later record with the same index replaces an earlier (renamed) */
	struct spool_word w;
	uint32_t index, tid;
	char name[16];
};

struct spool_handle { /* STREAM, POOL, CONTEXT */
	struct spool_word w; /* w.device */
	uint32_t index, spare;
	uint64_t handle;
};

struct spool_device {
	struct spool_word w; /* w.device */
	uint64_t total;	     /* bytes, UINT64_MAX if not known */
	char name[64];
	uint8_t uuid[16];
};

/* A program file in memory. It counts for stacks with first epoch <= epoch, and, if a MODULE_GONE
 * with its id exists, epoch < gone epoch. Several rows may cover one address, at different epochs. */
struct spool_module {
	struct spool_word w;
	uint32_t id, epoch;
	uint64_t begin, end; /* addresses of its code and data */
	uint64_t bias;	     /* address - bias = address in the file's own terms (p_vaddr) */
	uint64_t t_ns;	     /* noticed at */
	uint8_t build_id[32];
	uint32_t build_id_bytes, path_bytes;
	char path[]; /* not terminated; "" = the main program if unknown, "[vdso]" */
};

struct spool_module_gone {
	struct spool_word w;
	uint32_t id, epoch;
	uint64_t t_ns;
};

/* The program set how much memory the driver keeps or takes. op: 0 an attribute of a pool
 * (CUmemPool_attribute), 1 a limit of the current context (CUlimit). */
struct spool_setting {
	struct spool_word w; /* w.device */
	uint64_t t_ns, handle; /* of the pool or context */
	uint64_t what, value;
};

struct spool_pycode { /* a Python code object; its line table is decoded by the reader */
	struct spool_word w;
	uint32_t id;
	uint16_t version; /* 0x030b = CPython 3.11: format of the line table */
	uint16_t spare;
	uint32_t first_line, table_bytes;
	uint32_t file_bytes, name_bytes;
	char bytes[]; /* file, qualified name (both UTF-8), line table */
};

_Static_assert(sizeof(struct spool_header) == SPOOL_HEADER, "header");
_Static_assert(sizeof(struct spool_word) == 8, "word");
_Static_assert(sizeof(struct spool_event) == 40, "event");
_Static_assert(sizeof(struct spool_fail) == 64, "fail");
_Static_assert(sizeof(struct spool_slot) == 48, "slot");
_Static_assert(sizeof(struct spool_chunk) == 32, "chunk");

#endif
