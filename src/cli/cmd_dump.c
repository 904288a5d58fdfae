/* cmd_dump.c: gpumemsnap dump: a snapshot of a recorded program that is still running. */
#include "base/mem.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/harvest.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/top_find.h"
#include "cli/torch_level.h"
#include "wire/spool.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dump_opts {
	const char *output;
	bool quiet;
};

static const struct option_row dump_options[] = {
	{"output", 'o', OPT_STRING, offsetof(struct dump_opts, output), "FILE",
	 "write the snapshot here (default snapshot.json)"},
	{"quiet", 'q', OPT_FLAG, offsetof(struct dump_opts, quiet), NULL, "no summary"},
	{0},
};

/* The value of a variable in the environment that a process was started with; NULL if it has none. */
static char *variable_of(uint64_t pid, const char *name, struct err *e)
{
	char *path = mem_printf("/proc/%llu/environ", (unsigned long long)pid), *line = NULL, *value = NULL;
	FILE *f = fopen(path, "re");
	size_t cap = 0, n = strlen(name);

	if (!f && errno == ENOENT)
		err_set(e, ERR_INPUT, NULL, -1, "there is no process %llu", (unsigned long long)pid);
	else if (!f)
		err_sys(e, path, "cannot read");
	while (f && !value && getdelim(&line, &cap, 0, f) > 0)
		if (!strncmp(line, name, n) && line[n] == '=')
			value = mem_strdup(line + n + 1);
	if (f)
		fclose(f);
	free(line);
	free(path);
	return value;
}

/* The spool that a process writes now. */
static char *spool_of(uint64_t pid, struct err *e)
{
	char *dir = variable_of(pid, "GPUMEMSNAP_SPOOL", e), *path = dir ? top_spool((int)pid) : NULL;

	if (!path)
		err_set(e, ERR_INPUT, NULL, -1,
			dir ? "process %llu has recorded nothing yet: it has not called the CUDA driver"
			    : "process %llu is not being recorded: it was not started by gpumemsnap record",
			(unsigned long long)pid);
	free(dir);
	return path;
}

static void set_end(struct model *m, const struct spool_info *info)
{
	if (info->state != SPOOL_RUNNING || !child_is_running(info->pid))
		return;
	m->complete = false;
	free(m->why_incomplete);
	m->why_incomplete = mem_strdup("the process is still running");
}

static int dump(const char *spool, const struct dump_opts *o, struct err *e)
{
	struct spool_info info;
	struct model m;
	int rc;

	torch_level_ask(spool, 10000);
	if (recording_read(&m, spool, 0, &info, e))
		return -1;
	set_end(&m, &info);
	model_link(&m);
	rc = recording_write(&m, o->output, e);
	if (!rc && !o->quiet)
		harvest_tell(&m, o->output);
	model_free(&m);
	return rc;
}

static int dump_run(void *options, int argc, char **argv, struct err *e)
{
	struct dump_opts *o = options;
	uint64_t pid;
	char *spool;
	int rc;

	if (argc != 1)
		return err_set(e, ERR_USAGE, NULL, -1, "dump needs one process id (or spool)");
	spool = text_parse_u64(argv[0], &pid) && access(argv[0], F_OK) ? spool_of(pid, e) : mem_strdup(argv[0]);
	rc = spool ? dump(spool, o, e) : -1;
	free(spool);
	return rc;
}

extern const struct command cmd_dump;
const struct command cmd_dump = {
	.name = "dump",
	.usage = "[OPTIONS] PID|SPOOL",
	.summary = "write a snapshot of a recorded program that is running",
	.run = dump_run,
	.options = dump_options,
	.defaults = &(const struct dump_opts){.output = "snapshot.json"},
	.size = sizeof(struct dump_opts),
};
