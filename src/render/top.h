/* top.h: what `gpumemsnap top` shows, and its two faces: a screen of text, and JSON.
 *
 * The caller fills a struct top; the faces compute nothing but the layout. A number that is not known
 * is MODEL_UNKNOWN (or TOP_UNKNOWN where it has a sign).
 */
#ifndef RENDER_TOP_H
#define RENDER_TOP_H

#include "base/text.h"
#include "model/model.h"
#include <stdio.h>

#define TOP_UNKNOWN INT64_MIN

struct top_gpu {
	int number; /* NVML's; CUDA's where there is no NVML */
	char name[96], uuid[64];
	uint64_t total, used, free;
	int busy; /* percent, -1 = not known */
};
struct top_site { /* a stack that holds memory */
	char *name;
	uint64_t bytes, count;
	int64_t per_minute;
};
struct top_failure {
	int64_t ago_ns;
	uint64_t size, free; /* asked for; free on the device then */
	char *site;
};
struct top_process { /* one row per process and device */
	int pid, gpu;	 /* gpu: index of its row in top.gpus, -1 = not known */
	char *command;
	uint64_t used; /* NVML's figure for all of it */
	bool recorded; /* what follows is known */
	uint64_t live, blocks, peak, active, reserved, failed, events, events_per_second;
	double external;
	int64_t per_minute, running_ns, age_ns; /* age: of these figures */
	struct top_site *sites; /* largest first */
	size_t n_sites;
	struct top_failure *failures; /* newest first */
	size_t n_failures;
	char *trouble; /* why its figures are missing or incomplete; NULL */
};
struct top {
	int64_t wall_ns;
	char *driver;  /* its version; NULL */
	char *no_nvml; /* why there is none; NULL if there is */
	bool unlisted; /* it does not list the processes of every device */
	struct top_gpu *gpus;
	size_t n_gpus, cap_gpus;
	struct top_process *processes;
	size_t n_processes, cap_processes;
	size_t n_recorded; /* different processes */
};
void top_free(struct top *t);

enum top_order { TOP_BY_USED, TOP_BY_LIVE, TOP_BY_GROWTH, TOP_BY_FAILURES, TOP_BY_PID, TOP_ORDERS };
const char *top_order_name(enum top_order o);
void top_sort(struct top *t, enum top_order o);

struct top_look {
	size_t width, height; /* height 0: as many lines as there are, with every recorded process's detail */
	enum top_order order;
	size_t selected, scroll; /* process rows */
	bool ansi, utf8;
	const char *message; /* last line; NULL: the keys */
};
void top_text(struct text *out, const struct top *t, const struct top_look *look);
/* How many process rows fit, for scrolling. */
size_t top_rows(const struct top *t, const struct top_look *look);

void top_json(FILE *f, const struct top *t);

#endif
