/* pickle_out.h: writes Python values as a pickle of protocol 4, without objects: data only.
 *
 * A value is written by its call; containers are a begin, the values, an end. What occurs often is
 * written once and remembered: pickle_out_remember after it gives its number, pickle_out_again uses it.
 */
#ifndef FORMAT_PICKLE_OUT_H
#define FORMAT_PICKLE_OUT_H

#include "format/export.h"

struct pickle_out {
	struct export_text x;
	uint32_t n_memo;
};

void pickle_out_begin(struct pickle_out *p); /* x.o and x.e are set */
int pickle_out_end(struct pickle_out *p);

void pickle_out_dict(struct pickle_out *p);	/* then keys and values in turn */
void pickle_out_dict_end(struct pickle_out *p);
void pickle_out_list(struct pickle_out *p);
void pickle_out_list_end(struct pickle_out *p);
/* A list may be long: now and then its items so far are appended, which bounds the reader's stack. */
void pickle_out_list_pause(struct pickle_out *p);
void pickle_out_pair(struct pickle_out *p, uint64_t a, uint64_t b); /* a tuple */
void pickle_out_text(struct pickle_out *p, const char *s);	    /* invalid UTF-8 is replaced */
void pickle_out_u64(struct pickle_out *p, uint64_t v);
void pickle_out_i64(struct pickle_out *p, int64_t v);
void pickle_out_double(struct pickle_out *p, double v);
void pickle_out_bool(struct pickle_out *p, bool v);

uint32_t pickle_out_remember(struct pickle_out *p);
void pickle_out_again(struct pickle_out *p, uint32_t memo);

#endif
