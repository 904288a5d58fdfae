/* term.h: a terminal as a screen: keys one by one, the size, and everything put back at the end.
 *
 * Plain termios and ANSI sequences, which every terminal, tmux and SSH understand; so no library is
 * needed on the machine where the tool runs.
 */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include "base/err.h"
#include "base/text.h"
#include <signal.h>
#include <termios.h>

struct term {
	struct termios saved;
	sigset_t old_mask;
	int signals; /* a signalfd: resizing and requests to end */
};
enum { TERM_NOTHING = 0, TERM_UP = 256, TERM_DOWN, TERM_PAGE_UP, TERM_PAGE_DOWN, TERM_RESIZED, TERM_END };

int term_begin(struct term *t, struct err *e);
void term_end(struct term *t);
void term_size(size_t *width, size_t *height); /* 80 × 24 if it does not say */
/* Replace what the screen shows. */
void term_show(const struct text *screen);
/* The next key (a character or one of the above), or TERM_NOTHING after ms milliseconds. */
int term_key(struct term *t, int ms);

#endif
