/* options.h: options are tables. One row gives the parser, --help and the shell completions.
 *
 * A command keeps its options in one struct; a row says where in it the value goes.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPT_FLAG,   /* bool: set to true */
	OPT_STRING, /* const char * */
	OPT_LIST,   /* struct option_list: may be repeated */
	OPT_BYTES,  /* uint64_t: "12GiB" */
	OPT_NS,     /* int64_t: "250ms" */
	OPT_U64,    /* uint64_t */
	OPT_REAL,   /* double; "20%" is 0.2 */
	OPT_CHOICE, /* const char *: one of the words in `arg`, which are separated by | */
};

#define OPTION_LIST_MAX 64
struct option_list {
	const char *v[OPTION_LIST_MAX];
	size_t n;
};

struct option_row {
	const char *name; /* without "--"; NULL ends the table */
	char letter;      /* 0: none */
	enum option_type type;
	size_t at;       /* offsetof in the command's struct */
	const char *arg; /* how --help names the value; NULL for flags */
	const char *help;
};

struct command {
	const char *name, *usage, *summary;
	/* Its options, as the command line has them, and the words that are none. Returns the exit status, or
	 * -1 with e filled. */
	int (*run)(void *options, int argc, char **argv, struct err *e);
	const struct option_row *options;
	const void *defaults; /* what the struct holds before; NULL: zeros */
	size_t size;          /* of the struct; 0: none */
	bool program;         /* its words are a program's: options end before the first */
};

/* Take the options out of argv (the words behind the command's name), which "--" ends, and run the command with
 * what is left; --help prints help instead. Returns as run does. */
int options_run(const struct command *c, int argc, char **argv, struct err *e);
/* The option that a word spells: "--name", "--name=value", "-x" or "-xvalue". NULL: the command has none
 * like it. *value is the value in the word, or NULL. */
const struct option_row *options_find(const struct command *c, const char *word, const char **value);
void options_help(const struct command *c);

#endif
