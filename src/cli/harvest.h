/* harvest.h: the spools of one recording become snapshots: which, under which names, with which words. */
#ifndef CLI_HARVEST_H
#define CLI_HARVEST_H

#include "cli/child.h"
#include "cli/sampler.h"
#include "cli/spools.h"

struct harvest_plan {
	const char *output;	   /* as the user gave it, perhaps a pattern */
	const struct spools *spools;
	const struct child *child; /* NULL: how processes ended is not known */
	const struct sampler *sampler; /* NULL: nobody looked at the devices */
	pid_t main_pid;		   /* the program that was started */
	bool children;		   /* of its processes too */
	bool quiet;		   /* say nothing but what went wrong */
};

struct harvest {
	size_t snapshots;     /* written */
	size_t spools;	      /* there were; 0: nothing could be preloaded */
	uint64_t events, gpu_calls;
	char trouble[256];    /* why recording stopped in a process; "" = it did not */
	char **path;	      /* of the snapshots */
	size_t cap_path;
};

/* Write them all. On error what was written stays, and the spools are to be kept. */
int harvest_all(struct harvest *h, const struct harvest_plan *plan, struct err *e);
/* One snapshot of a process as of a moment, under the output's name with a word. */
struct harvest_moment {
	const char *word; /* tells it from the others: "dump1", "after-warmup" */
	int64_t until_ns; /* since the recording began; 0 = now */
};
int harvest_now(struct harvest *h, const struct harvest_plan *plan, const struct spools_entry *spool,
		const struct harvest_moment *at, struct err *e);
/* The summary of a snapshot that was written, in a few lines on standard error. */
void harvest_tell(const struct model *m, const char *path);
void harvest_free(struct harvest *h);

#endif
