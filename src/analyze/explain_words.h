/* explain_words.h: from the numbers of a message to its cause and sentences; explain.c's other half. */
#ifndef ANALYZE_EXPLAIN_WORDS_H
#define ANALYZE_EXPLAIN_WORDS_H

#include "analyze/explain.h"

/* Fills cause and verdict. text: the message on one line, to see which advice it gives already. */
void explain_words(struct explanation *x, const char *text);

#endif
