/* explain_known.h: messages of programs other than PyTorch's native allocator; explain.c's table. */
#ifndef ANALYZE_EXPLAIN_KNOWN_H
#define ANALYZE_EXPLAIN_KNOWN_H

#include "analyze/explain.h"

/* Fills what the message says if a row knows it. text: the message on one line. */
bool explain_known(struct explanation *x, const char *text);

#endif
