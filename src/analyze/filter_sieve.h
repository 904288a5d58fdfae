/* filter_sieve.h: what filter.c (which rows stay) and filter_why.c (why none does) share. Nobody else
 * includes this.
 */
#ifndef ANALYZE_FILTER_SIEVE_H
#define ANALYZE_FILTER_SIEVE_H

#include "analyze/filter.h"
#include <regex.h>

enum key {
	KEY_DEVICE,
	KEY_STREAM,
	KEY_THREAD,
	KEY_POOL,
	KEY_KIND,
	KEY_SIZE,
	KEY_TIME,
	KEY_FUNCTION,
	KEY_FILE,
	KEY_MODULE,
	KEY_PHASE,
	KEYS
};
enum op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_MATCH, OP_NO_MATCH };

struct condition {
	enum key key;
	enum op op;
	char *text, *value; /* all of it, as it was given; from behind the op on */
	uint64_t number; /* size, time */
	regex_t regex;
};

extern const char *const filter_key_name[KEYS];

struct sieve {
	const struct filter *f;
	const struct model *m;
	uint8_t **by_stack; /* per condition on frames: 0 not asked yet, 1 no, 2 yes */
	uint32_t *phase;
	int64_t from, to;
	bool whole;   /* nothing narrower than a device or a time range is asked for */
	bool devices; /* some devices are asked for */
	int64_t last; /* when the recording ends */
	bool beyond;  /* the time range asked for begins behind that */
};

/* Does an allocation meet condition i? */
bool filter_meets(struct sieve *s, size_t i, size_t row);
/* Is the row an allocation, or a request that failed? */
bool filter_is_block(const struct model *m, size_t row);
/* No row of the model stays: why, as words that go behind a colon. The caller frees it. */
char *filter_why(struct sieve *s);

#endif
