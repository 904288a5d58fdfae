/* main.c: finds the command, runs it, prints what went wrong. The only place that prints errors. */
#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/guess.h"
#include <stdio.h>
#include <string.h>

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
	const struct command *const *c;

	fprintf(f, "Usage: gpumemsnap COMMAND [OPTIONS] ...\n"
		   "A flight recorder and analyser for GPU memory.\n\nCommands:\n");
	for (c = commands; *c; c++)
		fprintf(f, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fprintf(f, "\n'gpumemsnap COMMAND --help' lists a command's options; 'man gpumemsnap' tells the whole story.\n");
}

static int unknown(const char *name, struct err *e)
{
	struct guess g = guess_begin(name, strlen(name));
	const struct command *const *c;

	for (c = commands; *c; c++)
		guess_try(&g, (*c)->name);
	if (g.best)
		return err_set(e, ERR_USAGE, NULL, -1, "no command '%s'; did you mean '%s'?", name, g.best);
	return err_set(e, ERR_USAGE, NULL, -1, "no command '%s'; 'gpumemsnap help' lists them", name);
}

static int run(int argc, char **argv, struct err *e)
{
	const struct command *c;

	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		if (argc > 2 && !(c = command_find(argv[2])))
			return unknown(argv[2], e);
		if (argc > 2)
			options_help(c);
		else
			help(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--complete")) {
		complete(argc - 2, argv + 2);
		return 0;
	}
	c = command_find(!strcmp(argv[1], "--version") ? "version" : argv[1]);
	return c ? options_run(c, argc - 2, argv + 2, e) : unknown(argv[1], e);
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
