/* verdict.h: the report in three to six plain sentences: where memory went, what is wrong, what to do.
 *
 * Sentences are made from a struct report alone and contain no formatting, so that text, JSON and
 * the HTML page say the same. The most important ones are kept if there are too many.
 */
#ifndef ANALYZE_VERDICT_H
#define ANALYZE_VERDICT_H

#include "analyze/report.h"

enum tone { TONE_PLAIN, TONE_GOOD, TONE_WARNING, TONE_BAD, TONE_ADVICE };
struct sentence {
	enum tone tone;
	int weight; /* the heavier, the more it must be said */
	char *text;
};
struct verdict {
	struct sentence *v;
	size_t n, cap;
};
#define VERDICT_MOST 6
void verdict_make(const struct report *r, struct verdict *out);
void verdict_free(struct verdict *v);

/* "forward model.py:12, called by step train.py:27"; "an unknown place" for an empty stack. */
void verdict_place(struct text *t, const struct model *m, uint32_t stack);

/* Shared with verdict_trouble.c: add a sentence. */
void verdict_say(struct verdict *v, enum tone tone, int weight, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A pool that a framework took at once (verdict_pool.c). */
void verdict_pool(struct verdict *v, const struct report *r, const struct report_device *d);
/* Requests that failed, why, and what would have helped (verdict_oom.c). */
void verdict_oom(struct verdict *v, const struct report *r, const struct report_device *d);
/* What was never freed of memory that is not the device's. */
void verdict_apart(struct verdict *v, const struct report_device *d);
/* What went wrong on a device and what would help. */
void verdict_trouble(struct verdict *v, const struct report *r, const struct report_device *d);

#endif
