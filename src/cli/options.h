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
	/* argv holds the words behind the command's name. Returns the exit status, or -1 with e filled. */
	int (*run)(const struct command *self, int argc, char **argv, struct err *e);
	const struct option_row *options;
};

/* Take the options out of argv into `into`; what is left stays in argv and *argc. "--" ends options.
 * If stop_early, the first word that is no option ends them too. --help prints help and sets *helped. */
int options_parse(const struct command *c, void *into, int *argc, char **argv, bool stop_early, bool *helped,
		  struct err *e);
/* The option that a word spells: "--name", "--name=value", "-x" or "-xvalue". NULL: the command has none
 * like it. *value is the value in the word, or NULL. */
const struct option_row *options_find(const struct command *c, const char *word, const char **value);
void options_help(const struct command *c);

#endif
