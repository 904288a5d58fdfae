/* child.h: start a program, pass on signals, wait for it and for what it leaves running. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include "base/err.h"
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	sigset_t old_mask, passed_on;
	struct child_end { /* of it and of orphans that became ours */
		pid_t pid;
		int status; /* as from waitpid */
	} *ended;
	size_t n_ended, cap_ended;
	void (*before_end)(void *ctx); /* called before a signal that asks to end goes on to it; may be NULL */
	void *ctx;
};

struct child_variable { /* of its environment */
	const char *name, *value;
};

/* argv[0] is as the user typed it. Until child_let_signals our own signals are held back for
 * child_pause. On error there is nothing to undo. */
int child_start(struct child *c, const char *path, char **argv, const struct child_variable *env, size_t n_env,
		struct err *e);
/* Wait up to `ms` milliseconds for something to happen. A signal that was sent to us goes on to the child
 * while it runs (those of the terminal reached it already). Returns a signal that asks to end, else 0. */
int child_pause(struct child *c, int ms);
/* How a process ended; false if that is not known. */
bool child_ended(const struct child *c, pid_t pid, int *status);
/* It exists and is no zombie. */
bool child_is_running(pid_t pid);
/* Are there processes that the child started and left behind? */
bool child_left_some(void);
/* From here on a terminal's keys end us; what else would is held back still, so that the snapshot is written. */
void child_let_signals(struct child *c);
void child_done(struct child *c);

#endif
