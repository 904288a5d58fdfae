/* main.c: finds the command, runs it, prints what went wrong. The only place that prints errors. */
#include "cli/options.h"
#include <stdio.h>
#include <string.h>

#define COMMAND(name) extern const struct command cmd_##name;
#include "cli/cmds.def"
#undef COMMAND

static const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/cmds.def"
#undef COMMAND
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static void print_error(const struct err *e)
{
	fprintf(stderr, "gpumemsnap: ");
	if (e->file[0] && e->offset >= 0)
		fprintf(stderr, "%s: byte %lld: ", e->file, (long long)e->offset);
	else if (e->file[0])
		fprintf(stderr, "%s: ", e->file);
	fprintf(stderr, "%s\n", e->msg);
}

static void help(FILE *f)
{
	size_t i;

	fprintf(f, "Usage: gpumemsnap COMMAND [OPTIONS] ...\n"
		   "A flight recorder and analyser for GPU memory.\n\nCommands:\n");
	for (i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(f, "\n'gpumemsnap COMMAND --help' lists a command's options; 'man gpumemsnap' tells the whole story.\n");
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* Edits (insert, delete, replace) between two short words. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], i, j, n = strlen(b), diagonal, above, best;

	if (n > 30 || strlen(a) > 30)
		return 99;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			above = row[j];
			best = diagonal + (a[i - 1] != b[j - 1]);
			best = above + 1 < best ? above + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[n];
}

static int unknown(const char *name, struct err *e)
{
	size_t i, d, best = 3;
	const char *like = NULL;

	for (i = 0; i < N_COMMANDS; i++)
		if ((d = distance(name, commands[i]->name)) < best) {
			best = d;
			like = commands[i]->name;
		}
	if (like)
		return err_set(e, ERR_USAGE, NULL, -1, "no command '%s'; did you mean '%s'?", name, like);
	return err_set(e, ERR_USAGE, NULL, -1, "no command '%s'; 'gpumemsnap help' lists them", name);
}

static int run(int argc, char **argv, struct err *e)
{
	const struct command *c;

	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		if (argc > 2 && !(c = find(argv[2])))
			return unknown(argv[2], e);
		if (argc > 2)
			options_help(c);
		else
			help(stdout);
		return 0;
	}
	c = find(!strcmp(argv[1], "--version") ? "version" : argv[1]);
	return c ? c->run(c, argc - 2, argv + 2, e) : unknown(argv[1], e);
}

int main(int argc, char **argv)
{
	struct err e = {0};
	int rc;

	if (argc < 2) {
		help(stderr);
		return ERR_USAGE;
	}
	rc = run(argc, argv, &e);
	if (fflush(stdout) && rc >= 0)
		rc = err_sys(&e, "standard output", "write");
	if (rc >= 0)
		return rc;
	if (e.msg[0])
		print_error(&e);
	return (int)(e.kind ? e.kind : ERR_SYSTEM);
}
