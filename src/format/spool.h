/* format/spool.h: read what a recorded process wrote (wire/spool.h) into a model.
 *
 * Addresses of code become names through the caller's `find`: this layer knows no debug information.
 * Works on the file of a process that is still running, too.
 */
#ifndef FORMAT_SPOOL_H
#define FORMAT_SPOOL_H

#include "base/err.h"
#include "base/input.h"
#include "model/model.h"

struct spool_file { /* a program file that code ran from */
	const char *path;
	const unsigned char *build_id;
	size_t build_id_bytes; /* 0: none */
	void *cache;	       /* for the finder's own use, NULL at first, never touched here */
};
struct spool_place {
	const char *function, *file; /* NULL: not known */
	uint32_t line;		     /* 0: not known */
};
/* Names for an address. */
struct spool_finder {
	void *ctx;
	/* The functions at `vaddr` of `file`, innermost (inlined) first; returns how many of `out` were
	 * filled, 0 if nothing is known: the frame is then called "module+0xOFFSET". vaddr is inside the
	 * call instruction. Asked once per distinct address. Texts need to live until the next call. */
	size_t (*find)(void *ctx, struct spool_file *file, uint64_t vaddr, struct spool_place *out, size_t max);
};

/* What the process was and how it ended: for `record`, which must say it in words. */
struct spool_info {
	int pid, ppid;
	int rank;	 /* of an MPI or torchrun job, -1 */
	int state;	 /* enum spool_state */
	bool has_chunks; /* something was written besides the header */
	uint64_t events, dropped, folded, unknown_versions, filtered, gpu_calls, snapshots;
	char trouble[256]; /* "" = none */
	char exe[1024];
};
/* Only the header: cheap, for looking over a directory of spools and for watching a running process. */
int spool_peek(const char *path, struct spool_info *info, struct err *e);

struct spool_options {
	const struct spool_finder *finder; /* NULL: everything stays "module+0xOFFSET" */
	int64_t until_ns; /* only what happened up to this time since the recording began; 0 = all */
};
/* Read a spool; m is initialised here, and freed on error. Not linked yet (model_link). info may be
 * NULL. The model is `complete` only if the process ended in order; a caller that knows better why it
 * did not (a signal) replaces m->why_incomplete. */
int spool_read(struct model *m, const char *path, const struct spool_options *o, struct spool_info *info,
	       struct err *e);

/* A spool that is followed while it grows: what was read is not read again. The caller may fold the model
 * (model/fold.h) between two readings, so that it stays as small as what is live. Not for flight recorders,
 * whose chunks are used again: opening one fails. */
struct spool_follow;
struct spool_follow *spool_follow_open(const char *path, const struct spool_options *o, struct err *e);
/* Read on, at most `most` records and up to until_ns of the monotonic clock: records before it are there
 * already. Returns how many were read, 0 at the end; -1 if one came late, from before what was read already:
 * then the spool must be opened anew. The model is not linked afterwards. */
long spool_follow_read(struct spool_follow *f, uint64_t until_ns, size_t most);
struct model *spool_follow_model(struct spool_follow *f);
void spool_follow_folded(struct spool_follow *f); /* to be called after folding */
uint64_t spool_follow_start_ns(const struct spool_follow *f); /* monotonic, at t = 0 */
void spool_follow_close(struct spool_follow *f);

/* The snapshots the process asked for (gms_snapshot, the trigger signal), oldest first; as many as
 * spool_info.snapshots says, unless a flight recorder has dropped some. The caller frees v. */
struct spool_request {
	int64_t t_ns; /* since the recording began: spool_options.until_ns */
	bool by_signal;
	char name[64]; /* fit for a file name; "" = none given */
};
struct spool_requests {
	struct spool_request *v;
	size_t n, cap;
};
int spool_requests(const char *path, struct spool_requests *out, struct err *e);

/* formats.def */
bool spool_probe(const struct input *in);
int spool_format_read(const struct input *in, struct model *m, struct err *e);

#endif
