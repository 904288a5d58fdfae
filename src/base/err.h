/* err.h: how a function of the command-line tool says what went wrong.
 *
 * A function that can fail returns 0 or -1 (or NULL) and fills a struct err;
 * only main prints it. Nobody else writes to stderr about errors.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdint.h>

/* The exit statuses of gpumemsnap(1). */
enum err_kind {
	ERR_NONE = 0,
	ERR_CHECK = 1,  /* a check failed */
	ERR_USAGE = 2,  /* wrong options or arguments */
	ERR_INPUT = 3,  /* the input is damaged or not what it claims to be */
	ERR_SYSTEM = 4, /* the operating system refused something */
	ERR_NOT_RUNNABLE = 126, /* record: the program cannot be run, */
	ERR_NOT_FOUND = 127,    /* there is none (both as shells do) */
};

struct err {
	enum err_kind kind;
	int64_t offset; /* byte offset in file, -1 if it means nothing */
	char file[256]; /* "" if no file is concerned */
	char msg[512];
};

/* Fill e and return -1. The first error wins: a later call does not replace it. */
int err_set(struct err *e, enum err_kind kind, const char *file, int64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The same for a failed system call: errno's text is appended. */
int err_sys(struct err *e, const char *file, const char *call);

#endif
