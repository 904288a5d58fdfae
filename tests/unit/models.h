/* models.h: recordings written down in a few lines, for unit tests of analyses.
 *
 *     struct model m;
 *     model_init(&m, "test");
 *     put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = 100, .stack = site(&m, "f"));
 *     model_link(&m);
 */
#ifndef TESTS_MODELS_H
#define TESTS_MODELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"

/* Append a row; what is not named is 0, the block size unknown, the time the row number. */
#define put(m, kind, action, ...)                                                                            \
	put_event((m), (struct event){.op = GMS_OP((kind), (action)), ##__VA_ARGS__})

static inline size_t put_event(struct model *m, struct event ev)
{
	if (!ev.block)
		ev.block = MODEL_UNKNOWN;
	if (!ev.t_ns)
		ev.t_ns = (int64_t)m->ev.n;
	return model_add(m, &ev);
}

/* A stack of the named frames, leaf first: site(m, "leaf", "caller", "main"). */
#define site(m, ...) site_of((m), (const char *[]){__VA_ARGS__, NULL})

static inline uint32_t site_of(struct model *m, const char **functions)
{
	uint32_t frames[64];
	size_t n;

	for (n = 0; functions[n] && n < 64; n++)
		frames[n] = model_frame(m, &(struct frame){.function = model_cstring(m, functions[n]),
		                                           .file = model_cstring(m, "app.c"),
		                                           .line = (uint32_t)n + 1});
	return model_stack(m, frames, n);
}

#endif
