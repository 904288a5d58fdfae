/* complete.c: see complete.h. */
#include "cli/complete.h"
#include "cli/commands.h"
#include "cli/top_find.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static void offer(const char *typed, const char *candidate, const char *what)
{
	if (begins(candidate, typed))
		printf("%s\t%s\n", candidate, what);
}

static void offer_commands(const char *typed)
{
	const struct command *const *c;

	for (c = commands; *c; c++)
		offer(typed, (*c)->name, (*c)->summary);
}

static void offer_options(const struct command *c, const char *typed)
{
	const struct option_row *o;
	char name[64];

	for (o = c->options; o && o->name; o++) {
		snprintf(name, sizeof name, "--%s", o->name);
		offer(typed, name, o->help);
	}
	offer(typed, "--help", "list the options");
}

/* Values: the words in small letters are what one types, those in capitals say what it stands for.
 * `before` is what stands before the value in the same word: "--name=". */
static void offer_values(const struct option_row *o, const char *before, const char *typed)
{
	const char *w, *end;

	for (w = o->arg; w; w = *end ? end + 1 : NULL) {
		end = strchrnul(w, '|');
		if (begins(w, "FILE") || begins(w, "SNAP"))
			puts("@files");
		else if (islower((unsigned char)*w) && begins(w, typed))
			printf("%s%.*s\t\n", before, (int)(end - w), w);
	}
}

/* The recorded programs. */
static void offer_processes(const char *typed)
{
	struct top_found *found;
	size_t i, n = top_find(&found);
	char pid[16], *command;

	for (i = 0; i < n; i++) {
		command = top_command(found[i].pid);
		snprintf(pid, sizeof pid, "%d", found[i].pid);
		offer(typed, pid, command ? command : "");
		free(command);
	}
	top_found_free(found, n);
}

static void offer_operands(const struct command *c, const char *typed)
{
	bool pid = strstr(c->usage, "PID");

	if (pid)
		offer_processes(typed);
	if (*c->usage && (!pid || strstr(c->usage, "SPOOL")))
		puts("@files");
}

/* The words behind the command's name; the last is being typed. `at` is the first one's place. */
static void complete_command(const struct command *c, int n, char **words, int at)
{
	const char *typed = words[n - 1], *value = NULL;
	const struct option_row *o = NULL;
	bool options = true, program = c->program;
	int i;

	for (i = 0; i < n - 1; i++) {
		if (options && !strcmp(words[i], "--")) {
			options = false;
		} else if (options && words[i][0] == '-' && words[i][1]) {
			o = options_find(c, words[i], &value);
			if (o && o->type != OPT_FLAG && !value && ++i == n - 1) {
				offer_values(o, "", typed);
				return;
			}
		} else if (program) {
			break;
		}
	}
	if (options && i == n - 1 && typed[0] == '-') {
		o = options_find(c, typed, &value);
		if (o && value && typed[1] == '-') {
			char before[64];

			snprintf(before, sizeof before, "--%s=", o->name);
			offer_values(o, before, value);
		} else {
			offer_options(c, typed);
		}
	} else if (program) {
		printf("@program %d\n", at + i);
	} else {
		offer_operands(c, typed);
	}
}

void complete(int n, char **words)
{
	const struct command *c = n > 1 ? command_find(words[0]) : NULL;

	if (c) {
		complete_command(c, n - 1, words + 1, 2);
	} else if (n == 1) {
		offer_commands(words[0]);
		offer(words[0], "help", "list the commands, or the options of one");
	} else if (n == 2 && !strcmp(words[0], "help")) {
		offer_commands(words[1]);
	}
}
