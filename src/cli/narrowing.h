/* narrowing.h: the options that narrow a recording, for every command that has them. */
#ifndef CLI_NARROWING_H
#define CLI_NARROWING_H

#include "cli/options.h"
#include "model/model.h"

struct narrowing {
	const char *device, *stream, *from, *to;
	struct option_list where;
};

/* Rows for a command whose struct keeps a `struct narrowing` at this offset. */
#define NARROWING_OPTIONS(at)                                                                                \
	{"device", 'd', OPT_STRING, (at) + offsetof(struct narrowing, device), "N", "only this device"},     \
	    {"stream",          0, OPT_STRING, (at) + offsetof(struct narrowing, stream), "HANDLE",          \
	     "only this stream"},                                                                            \
	    {"from",     0,                                                                                  \
	     OPT_STRING, (at) + offsetof(struct narrowing, from),                                            \
	     "TIME",     "from this time on (1.5s)"},                                                        \
	    {"to", 0, OPT_STRING, (at) + offsetof(struct narrowing, to), "TIME", "up to this time"},         \
	{                                                                                                    \
		"where", 0, OPT_LIST, (at) + offsetof(struct narrowing, where), "CONDITION",                 \
		    "only memory that meets it: size>1MiB, function~conv, ... (may be repeated)"             \
	}

/* Narrow the model as the options say. */
int narrowing_apply(const struct narrowing *n, struct model *m, struct err *e);

#endif
