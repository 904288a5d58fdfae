/* cmd_record.c: gpumemsnap record: run a program and write down what it does with GPU memory. */
#include "base/mem.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/harvest.h"
#include "cli/options.h"
#include "cli/outname.h"
#include "cli/program.h"
#include "cli/spools.h"
#include "cli/torch_level.h"
#include "wire/spool.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 200 /* how often a running program is looked at */

struct record_opts {
	const char *output, *stacks, *signal, *allocator;
	bool sim, no_stacks, no_python, include_children, no_children, off, quiet, torch;
	uint64_t max_size, depth, filter_size, torch_entries;
	int64_t start_after, duration, torch_every;
};

static const struct option_row record_options[] = {
	{"output", 'o', OPT_STRING, offsetof(struct record_opts, output), "FILE",
	 "write the snapshot here (default snapshot.json); %p is the process id, %h the host, %r the rank, "
	 "%q{NAME} an environment variable"},
	{"sim", 0, OPT_FLAG, offsetof(struct record_opts, sim), NULL,
	 "run it on the simulated driver: no GPU needed"},
	{"allocator", 0, OPT_CHOICE, offsetof(struct record_opts, allocator), "caching|caching-async|caching-nosync",
	 "serve the program's device memory from a caching allocator: cuMemAlloc and cuMemFree (a free still waits "
	 "for the device), the stream-ordered calls too, or without waiting"},
	{"stacks", 0, OPT_CHOICE, offsetof(struct record_opts, stacks), "all|alloc|none",
	 "whose call stacks are recorded (default all)"},
	{"no-stacks", 0, OPT_FLAG, offsetof(struct record_opts, no_stacks), NULL, "the same as --stacks none"},
	{"no-python", 0, OPT_FLAG, offsetof(struct record_opts, no_python), NULL, "leave out Python's own frames"},
	{"depth", 0, OPT_U64, offsetof(struct record_opts, depth), "N",
	 "frames kept of each stack, at most 1024 (default 128)"},
	{"max-size", 0, OPT_BYTES, offsetof(struct record_opts, max_size), "SIZE",
	 "flight recorder: never use more disk than this; the oldest events go, what is live stays"},
	{"filter-size", 0, OPT_BYTES, offsetof(struct record_opts, filter_size), "SIZE",
	 "leave out allocations smaller than this"},
	{"start-after", 0, OPT_NS, offsetof(struct record_opts, start_after), "TIME",
	 "record nothing before this long after the start"},
	{"duration", 0, OPT_NS, offsetof(struct record_opts, duration), "TIME", "record for this long only"},
	{"off", 0, OPT_FLAG, offsetof(struct record_opts, off), NULL,
	 "start switched off: the program switches on with gms_record(true)"},
	{"signal", 0, OPT_STRING, offsetof(struct record_opts, signal), "NAME",
	 "a signal, such as USR2, on which the program's state is written at once, as FILE with .dump1, .dump2 …"},
	{"torch", 0, OPT_FLAG, offsetof(struct record_opts, torch), NULL,
	 "switch on PyTorch's own allocator history too, in each Python process, and put it into the snapshot"},
	{"torch-entries", 0, OPT_U64, offsetof(struct record_opts, torch_entries), "N",
	 "entries of its history that PyTorch keeps (default 1000000)"},
	{"torch-every", 0, OPT_NS, offsetof(struct record_opts, torch_every), "TIME",
	 "save the history this often, for programs that may be killed"},
	{"include-children", 0, OPT_FLAG, offsetof(struct record_opts, include_children), NULL,
	 "record the processes it starts too, each in a file of its own (the default)"},
	{"no-children", 0, OPT_FLAG, offsetof(struct record_opts, no_children), NULL, "only the program itself"},
	{"quiet", 'q', OPT_FLAG, offsetof(struct record_opts, quiet), NULL, "no summary at the end"},
	{0},
};

/* A recording while it goes on. */
struct session {
	const struct record_opts *o;
	char *program;	  /* its path */
	const char *name; /* as typed */
	struct spools spools;
	struct child child;
	struct sampler *sampler;
	struct harvest harvest;
	struct harvest_plan plan;
	struct seen { /* snapshots asked for so far, by spool */
		int pid, image;
		uint64_t snapshots;
	} *seen;
	size_t n_seen, cap_seen;
	unsigned dumps;
};

static int signal_number(const char *name)
{
	uint64_t number;
	int sig;

	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	if (text_parse_u64(name, &number))
		return number < (uint64_t)SIGRTMAX ? (int)number : 0;
	for (sig = 1; sig < NSIG; sig++) {
		const char *abbrev = sigabbrev_np(sig);

		if (abbrev && !strcasecmp(abbrev, name))
			return sig;
	}
	return 0;
}

static int check_options(const struct record_opts *o, struct err *e)
{
	char *path;

	if (o->depth > SPOOL_DEPTH_MAX)
		return err_set(e, ERR_USAGE, NULL, -1, "--depth: at most %d", SPOOL_DEPTH_MAX);
	if (o->include_children && o->no_children)
		return err_set(e, ERR_USAGE, NULL, -1, "--include-children and --no-children exclude each other");
	if (o->signal && !signal_number(o->signal))
		return err_set(e, ERR_USAGE, NULL, -1, "--signal: '%s' is no signal; USR2 is one", o->signal);
	path = outname_expand(o->output, &(struct outname){.pid = 1, .rank = 0}, e);
	if (path && !path[0])
		err_set(e, ERR_USAGE, NULL, -1, "--output: the name is empty");
	free(path);
	return e->msg[0] ? -1 : 0;
}

/* --- starting --- */

static void option(struct text *t, const char *key, uint64_t value)
{
	if (value)
		text_printf(t, ",%s=%llu", key, (unsigned long long)value);
}

/* GPUMEMSNAP_OPTIONS; what the user put there himself comes last and wins. */
static char *recorder_options(const struct record_opts *o)
{
	const char *more = getenv("GPUMEMSNAP_OPTIONS");
	struct text t = {0};

	text_printf(&t, "parent=%d", (int)getpid());
	text_printf(&t, ",stacks=%s", o->no_stacks ? "none" : o->stacks ? o->stacks : "all");
	if (o->no_python)
		text_puts(&t, ",python=0");
	option(&t, "depth", o->depth);
	option(&t, "max-size", o->max_size);
	option(&t, "filter-size", o->filter_size);
	option(&t, "start-after", (uint64_t)o->start_after);
	option(&t, "duration", (uint64_t)o->duration);
	option(&t, "off", o->off);
	option(&t, "signal", o->signal ? (uint64_t)signal_number(o->signal) : 0);
	if (more && more[0])
		text_printf(&t, ",%s", more);
	return t.s;
}

/* GPUMEMSNAP_TORCH, for src/record/python/sitecustomize.py. */
static char *torch_options(const struct record_opts *o)
{
	struct text t = {0};

	text_printf(&t, "every=%.3f", (double)o->torch_every / 1e9);
	option(&t, "entries", o->torch_entries);
	return t.s;
}

/* What the program's environment gets from us. */
struct environment {
	struct child_variable v[12];
	char *owned[12];
	size_t n;
};

static void set(struct environment *env, const char *name, char *value)
{
	env->v[env->n] = (struct child_variable){name, value};
	env->owned[env->n++] = value;
}

/* `first`, then what the variable holds now. */
static void put_before(struct environment *env, const char *name, const char *first)
{
	const char *rest = getenv(name);

	set(env, name, rest && rest[0] ? mem_printf("%s:%s", first, rest) : mem_strdup(first));
}

/* A file or folder of ours before what a path variable holds now. */
static int put_ours_before(struct environment *env, const char *name, const char *ours, struct err *e)
{
	char *path = program_neighbour(ours, e);

	if (!path)
		return -1;
	put_before(env, name, path);
	free(path);
	return 0;
}

/* Also for NVTX, whose ranges then come to the recorder as phases; another tool that was there before keeps them. */
static int set_preload(struct environment *env, const struct record_opts *o, struct err *e)
{
	char *library = program_neighbour("libgpumemsnap.so", e), *cache = NULL, *both;

	if (library && o->allocator)
		cache = program_neighbour("libgpumemcache.so", e);
	if (library && strpbrk(library, " :"))
		err_set(e, ERR_SYSTEM, library, -1,
			"cannot be preloaded: its path has a space or a colon; install gpumemsnap elsewhere");
	if (!e->msg[0]) {
		both = mem_printf("%s%s%s", library, cache ? ":" : "", cache ? cache : "");
		put_before(env, "LD_PRELOAD", both);
		free(both);
		if (!getenv("NVTX_INJECTION64_PATH"))
			set(env, "NVTX_INJECTION64_PATH", mem_strdup(library));
	}
	free(library);
	free(cache);
	return e->msg[0] ? -1 : 0;
}

static int set_all(struct environment *env, const struct session *s, struct err *e)
{
	const struct record_opts *o = s->o;

	if (set_preload(env, o, e))
		return -1;
	set(env, "GPUMEMSNAP_SPOOL", mem_strdup(s->spools.dir));
	set(env, "GPUMEMSNAP_OPTIONS", recorder_options(o));
	if (o->allocator)
		set(env, "GPUMEMSNAP_ALLOCATOR", mem_strdup(o->allocator));
	if (o->sim && put_ours_before(env, "LD_LIBRARY_PATH", "sim", e))
		return -1;
	if (!o->torch)
		return 0;
	set(env, "GPUMEMSNAP_TORCH", torch_options(o));
	return put_ours_before(env, "PYTHONPATH", "python", e);
}

static int start(struct session *s, char **argv, struct err *e)
{
	struct environment env = {0};
	int rc = set_all(&env, s, e);

	if (!rc)
		rc = child_start(&s->child, s->program, argv, env.v, env.n, e);
	while (env.n)
		free(env.owned[--env.n]);
	return rc;
}

/* --- while it runs --- */

/* How many of this spool's snapshots were written so far. */
static uint64_t *written_snapshots(struct session *s, const struct spools_entry *spool)
{
	size_t i;

	for (i = 0; i < s->n_seen; i++)
		if (s->seen[i].pid == spool->pid && s->seen[i].image == spool->image)
			return &s->seen[i].snapshots;
	*VEC_PUSH(s->seen, s->n_seen, s->cap_seen) = (struct seen){spool->pid, spool->image, 0};
	return &s->seen[s->n_seen - 1].snapshots;
}

static int write_requests(struct session *s, const struct spools_entry *spool, uint64_t *written, struct err *e)
{
	struct spool_requests q;
	int rc = spool_requests(spool->path, &q, e);

	for (; !rc && *written < q.n; ++*written) {
		const struct spool_request *r = &q.v[*written];
		struct harvest_moment at = {r->name, r->t_ns};
		char word[32];

		if (!r->name[0]) {
			snprintf(word, sizeof word, "dump%u", ++s->dumps);
			at.word = word;
		}
		rc = harvest_now(&s->harvest, &s->plan, spool, &at, e);
	}
	free(q.v);
	return rc;
}

/* The snapshots the program's processes asked for since the last look. */
static void write_wanted_snapshots(struct session *s)
{
	struct spools_entry *v;
	size_t i, n = spools_list(s->spools.dir, &v);

	for (i = 0; i < n; i++) {
		uint64_t *written = written_snapshots(s, &v[i]);
		struct err e = {0};

		if (v[i].info.snapshots > *written && write_requests(s, &v[i], written, &e))
			fprintf(stderr, "gpumemsnap: no snapshot: %s: %s\n", e.file, e.msg);
	}
	spools_list_free(v, n);
}

/* A program may leave recorded processes running (a server that goes into the background). One that was
 * left a moment ago may not have reached the GPU yet: it gets so long. */
enum { GRACE_MS = 1000 };

static size_t still_running(const struct session *s)
{
	struct spools_entry *v;
	size_t i, n = spools_list(s->spools.dir, &v), running = 0;

	for (i = 0; i < n && !s->o->no_children; i++)
		running += v[i].info.gpu_calls && v[i].info.state == SPOOL_RUNNING && child_is_running(v[i].pid);
	spools_list_free(v, n);
	return running;
}

/* Python does nothing more when a signal ends it: PyTorch's history is fetched before. */
enum { HISTORY_MS = 5000 };

static void fetch_histories(void *session)
{
	struct session *s = session;
	struct spools_entry *v;
	size_t i, n = spools_list(s->spools.dir, &v), running = 0;

	for (i = 0; i < n; i++)
		running += v[i].info.state == SPOOL_RUNNING;
	for (i = 0; i < n; i++)
		if (v[i].info.state == SPOOL_RUNNING)
			torch_level_ask(v[i].path, HISTORY_MS / (int)running);
	spools_list_free(v, n);
}

static int wait_for_all(struct session *s)
{
	int status, grace;
	size_t running;

	s->child.before_end = s->o->torch ? fetch_histories : NULL;
	s->child.ctx = s;
	sampler_look(s->sampler, true);
	while (!child_ended(&s->child, s->child.pid, &status)) {
		child_pause(&s->child, TICK_MS);
		sampler_look(s->sampler, false);
		write_wanted_snapshots(s);
	}
	running = still_running(s);
	for (grace = GRACE_MS; !running && grace > 0 && child_left_some(); grace -= TICK_MS) {
		child_pause(&s->child, TICK_MS);
		running = still_running(s);
	}
	if (running && !s->o->quiet)
		fprintf(stderr,
			"gpumemsnap: %s ended; waiting for %zu process%s that it left running (Ctrl-C: wait no longer)\n",
			s->name, running, running == 1 ? "" : "es");
	while (running && !child_pause(&s->child, TICK_MS)) {
		sampler_look(s->sampler, false);
		write_wanted_snapshots(s);
		running = still_running(s);
	}
	write_wanted_snapshots(s);
	return status;
}

/* --- afterwards --- */

static void tell_why_nothing(const struct session *s, int status)
{
	const char *obstacle = program_obstacle(s->program);

	if (obstacle)
		fprintf(stderr, "gpumemsnap: nothing was recorded: %s %s\n", s->name, obstacle);
	else if (s->harvest.trouble[0])
		fprintf(stderr, "gpumemsnap: nothing was recorded: %s\n", s->harvest.trouble);
	else if (s->harvest.gpu_calls)
		fprintf(stderr, "gpumemsnap: %s allocated no GPU memory\n", s->name);
	else if (!s->o->sim && !program_driver_present())
		fprintf(stderr,
			"gpumemsnap: nothing was recorded: there is no CUDA driver here (libcuda.so.1); "
			"'gpumemsnap record --sim' runs driver-API programs without a GPU\n");
	else if (!s->harvest.spools)
		fprintf(stderr,
			"gpumemsnap: nothing was recorded: %s did not load the recorder (a static or privileged program "
			"behind a script?)\n",
			s->name);
	else
		fprintf(stderr, "gpumemsnap: %s made no CUDA call%s\n", s->name,
			WIFEXITED(status) && !WEXITSTATUS(status) ? "" : " before it failed");
}

static void tell_next(const struct session *s)
{
	const struct harvest *h = &s->harvest;
	bool given = h->snapshots != 1 || strcmp(h->path[0], "snapshot.json") != 0;
	struct text files = {0};
	size_t i;

	for (i = 0; i < h->snapshots && given && i < 4; i++)
		text_printf(&files, " %s", h->path[i]);
	if (i < h->snapshots && given)
		text_puts(&files, " …");
	fprintf(stderr, "gpumemsnap: next: gpumemsnap report%s\n", files.s ? files.s : "");
	text_free(&files);
}

static int finish(struct session *s, int status, struct err *e)
{
	child_let_signals(&s->child);
	if (s->spools.name_taken && !outname_is_pattern(s->o->output) && outname_rank() < 0 && !s->o->quiet)
		fprintf(stderr, "gpumemsnap: another recording is writing %s: the name gets this process's id\n",
			s->o->output);
	if (harvest_all(&s->harvest, &s->plan, e)) {
		fprintf(stderr, "gpumemsnap: the recording is kept in %s: gpumemsnap convert makes a snapshot of it\n",
			s->spools.dir);
		spools_keep(&s->spools);
		return -1;
	}
	spools_remove(&s->spools);
	if (!s->harvest.events)
		tell_why_nothing(s, status);
	else if (!s->o->quiet && strcmp(s->o->output, "-") != 0)
		tell_next(s);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A shell ends its loop only if Ctrl-C itself ended what it ran. */
static void end_as_interrupted(void)
{
	sigset_t interrupt;

	signal(SIGINT, SIG_DFL);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
	raise(SIGINT);
}

static int record(const struct record_opts *o, char **argv, struct err *e)
{
	struct session s = {.o = o, .name = argv[0]};
	char *claim = NULL;
	int rc = -1, status = 0;

	s.sampler = sampler_new();
	s.program = program_find(argv[0], e);
	claim = s.program ? outname_expand(o->output, &(struct outname){.pid = getpid(), .rank = outname_rank()}, e)
			  : NULL;
	if (!claim || spools_create(&s.spools, claim, e))
		goto done;
	if (s.spools.leftover && !o->quiet)
		fprintf(stderr, "gpumemsnap: %s is of a recording that was killed: gpumemsnap convert turns its spools "
				"into snapshots; remove it when you do not need it\n", s.spools.leftover);
	s.plan = (struct harvest_plan){.output = o->output,
				       .spools = &s.spools,
				       .child = &s.child,
				       .sampler = s.sampler,
				       .children = !o->no_children,
				       .quiet = o->quiet};
	if (start(&s, argv, e)) {
		spools_remove(&s.spools);
		goto done;
	}
	s.plan.main_pid = s.child.pid;
	status = wait_for_all(&s);
	rc = finish(&s, status, e);
	child_done(&s.child);
done:
	harvest_free(&s.harvest);
	sampler_free(s.sampler);
	free(s.seen);
	free(s.program);
	free(claim);
	if (rc == 128 + SIGINT && WIFSIGNALED(status))
		end_as_interrupted();
	return rc;
}

static int record_run(void *options, int argc, char **argv, struct err *e)
{
	struct record_opts *o = options;

	if (!argc)
		return err_set(e, ERR_USAGE, NULL, -1, "record needs a program: gpumemsnap record ./app ARGS");
	if (check_options(o, e))
		return -1;
	return record(o, argv, e);
}

extern const struct command cmd_record;
const struct command cmd_record = {
	.name = "record",
	.usage = "[OPTIONS] [--] PROGRAM [ARGS]",
	.summary = "run a program and record its GPU memory",
	.run = record_run,
	.options = record_options,
	.defaults = &(const struct record_opts){.output = "snapshot.json"},
	.size = sizeof(struct record_opts),
	.program = true,
};
