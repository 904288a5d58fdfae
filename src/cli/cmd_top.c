/* cmd_top.c: gpumemsnap top: GPUs and the processes on them, live; recorded ones in detail. */
#include "base/mem.h"
#include "cli/options.h"
#include "cli/term.h"
#include "cli/top_gather.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct top_options {
	const char *format, *sort;
	bool once;
	int64_t interval;
	uint64_t *pids; /* only these processes */
	size_t n_pids;
};
static const struct option_row rows[] = {
	{"once", '1', OPT_FLAG, offsetof(struct top_options, once), NULL, "print one look and end"},
	{"format", 'f', OPT_CHOICE, offsetof(struct top_options, format), "text|json", "json: one look, for programs"},
	{"sort", 's', OPT_CHOICE, offsetof(struct top_options, sort), "used|live|growth|failures|pid",
	 "what comes first (default used)"},
	{"interval", 'i', OPT_NS, offsetof(struct top_options, interval), "TIME", "between two looks (default 1s)"},
	{0},
};

/* A `gpumemsnap dump` that we started for a process. */
struct snapshot {
	pid_t child; /* 0: none */
	int output;  /* its words */
	char file[64];
};
struct screen {
	const struct top_options *o;
	struct term term;
	struct gather *gather;
	struct top top;
	struct top_look look;
	int selected_pid, selected_gpu; /* 0: whatever comes first */
	struct snapshot snapshot;
	char message[160];
};

static bool is_utf8(void)
{
	const char *l = getenv("LC_ALL");

	l = l && *l ? l : getenv("LC_CTYPE");
	l = l && *l ? l : getenv("LANG");
	return l && (strcasestr(l, "UTF-8") || strcasestr(l, "utf8"));
}

static enum top_order order_of(const char *name)
{
	enum top_order o = TOP_BY_USED;

	while (strcmp(top_order_name(o), name) != 0)
		o++;
	return o;
}

/* --- snapshots on request ---------------------------------------------------------------------- */

static void begin_snapshot(struct screen *s, const struct top_process *p)
{
	char pid[16];
	int ends[2];

	if (s->snapshot.child || pipe2(ends, O_CLOEXEC))
		return;
	snprintf(pid, sizeof pid, "%d", p->pid);
	snprintf(s->snapshot.file, sizeof s->snapshot.file, "gpumemsnap-%d.json", p->pid);
	s->snapshot.child = fork();
	if (!s->snapshot.child) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		sigprocmask(SIG_SETMASK, &s->term.old_mask, NULL);
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execl("/proc/self/exe", "gpumemsnap", "dump", pid, "-o", s->snapshot.file, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	s->snapshot.output = ends[0];
	if (s->snapshot.child < 0) {
		close(ends[0]);
		s->snapshot.child = 0;
		return;
	}
	snprintf(s->message, sizeof s->message, "writing %s ...", s->snapshot.file);
}

static void end_snapshot(struct screen *s)
{
	char said[120];
	ssize_t n;
	int status;

	if (!s->snapshot.child || waitpid(s->snapshot.child, &status, WNOHANG) != s->snapshot.child)
		return;
	n = read(s->snapshot.output, said, sizeof said - 1);
	said[n > 0 ? n : 0] = 0;
	said[strcspn(said, "\n")] = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		snprintf(s->message, sizeof s->message, "wrote %s", s->snapshot.file);
	else
		snprintf(s->message, sizeof s->message, "no snapshot: %s", said);
	close(s->snapshot.output);
	s->snapshot.child = 0;
}

/* --- the screen ---------------------------------------------------------------------------------- */

static void find_selected(struct screen *s)
{
	const struct top *t = &s->top;
	size_t i, first = 0;

	for (i = t->n_processes; i--;) {
		if (t->processes[i].recorded)
			first = i;
		if (t->processes[i].pid == s->selected_pid && t->processes[i].gpu == s->selected_gpu)
			break;
	}
	s->look.selected = i < t->n_processes ? i : first;
}

static void show(struct screen *s)
{
	struct text page = {0};
	size_t fit, height = s->look.height;

	term_size(&s->look.width, &s->look.height);
	if (s->look.height != height)
		s->look.scroll = 0; /* as far up as the selected one allows */
	top_sort(&s->top, s->look.order);
	find_selected(s);
	fit = top_rows(&s->top, &s->look);
	if (s->look.selected < s->look.scroll)
		s->look.scroll = s->look.selected;
	if (fit && s->look.selected >= s->look.scroll + fit)
		s->look.scroll = s->look.selected - fit + 1;
	s->look.message = s->message[0] ? s->message : NULL;
	top_text(&page, &s->top, &s->look);
	term_show(&page);
	text_free(&page);
}

static void select_row(struct screen *s, size_t row)
{
	if (row < s->top.n_processes) {
		s->selected_pid = s->top.processes[row].pid;
		s->selected_gpu = s->top.processes[row].gpu;
	}
}

/* Returns false to end. */
static bool obey(struct screen *s, int key)
{
	static const char orders[TOP_ORDERS] = "ulgfp";
	const char *order = key > 0 && key < 256 ? memchr(orders, key, sizeof orders) : NULL;
	size_t at = s->look.selected, last = s->top.n_processes ? s->top.n_processes - 1 : 0;

	s->message[0] = 0;
	if (order)
		s->look.order = (enum top_order)(order - orders);
	else if (key == TERM_UP || key == 'k')
		select_row(s, at ? at - 1 : 0);
	else if (key == TERM_DOWN || key == 'j')
		select_row(s, at < last ? at + 1 : last);
	else if (key == TERM_PAGE_UP)
		select_row(s, at > 10 ? at - 10 : 0);
	else if (key == TERM_PAGE_DOWN)
		select_row(s, at + 10 < last ? at + 10 : last);
	else if (key == 's' && at < s->top.n_processes && s->top.processes[at].recorded)
		begin_snapshot(s, &s->top.processes[at]);
	else if (key == 's')
		snprintf(s->message, sizeof s->message, "only a process under gpumemsnap record can be snapshot");
	return key != 'q' && key != TERM_END;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Keys take effect at once; figures change at every interval. */
static void live(struct screen *s, int64_t interval_ms)
{
	int64_t next = now_ms(), left;
	bool go_on = true;
	int key;

	while (go_on) {
		if (now_ms() >= next) {
			top_free(&s->top);
			gather_look(s->gather, &s->top, s->o->pids, s->o->n_pids, true);
			next = now_ms() + interval_ms;
		}
		end_snapshot(s);
		show(s);
		left = next - now_ms();
		key = term_key(&s->term, left < 0 ? 0 : (int)(left > 60000 ? 60000 : left));
		if (key != TERM_NOTHING)
			go_on = obey(s, key);
	}
}

static void once(struct gather *g, const struct top_options *o)
{
	struct top_look look = {.width = 1000, .order = order_of(o->sort), .utf8 = is_utf8()};
	struct text page = {0};
	struct top t;
	size_t height;

	gather_look(g, &t, o->pids, o->n_pids, false);
	top_sort(&t, look.order);
	if (!strcmp(o->format, "json")) {
		top_json(stdout, &t);
	} else {
		if (isatty(STDOUT_FILENO))
			term_size(&look.width, &height);
		top_text(&page, &t, &look);
		fwrite(page.s, 1, page.n, stdout);
		text_free(&page);
	}
	top_free(&t);
}

static int full_screen(struct gather *g, const struct top_options *o, struct err *e)
{
	struct screen s = {.o = o, .gather = g};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE, NULL, -1, "top needs a terminal; 'gpumemsnap top --once' prints one look");
	s.look = (struct top_look){.order = order_of(o->sort), .ansi = true, .utf8 = is_utf8()};
	if (term_begin(&s.term, e))
		return -1;
	live(&s, o->interval / 1000000 > 50 ? o->interval / 1000000 : 50);
	term_end(&s.term);
	top_free(&s.top);
	return 0;
}

static int take_pids(struct top_options *o, int argc, char **argv, struct err *e)
{
	int i;

	o->pids = mem_zalloc((size_t)argc, sizeof *o->pids);
	for (i = 0; i < argc; i++)
		if (!text_parse_u64(argv[i], &o->pids[o->n_pids++]))
			return err_set(e, ERR_USAGE, NULL, -1, "'%s' is not a process id", argv[i]);
	return 0;
}

static int top_run(void *options, int argc, char **argv, struct err *e)
{
	struct top_options *o = options;
	struct gather *g;
	int rc = take_pids(o, argc, argv, e);

	g = rc ? NULL : gather_new();
	if (g && (o->once || !strcmp(o->format, "json")))
		once(g, o);
	else if (g)
		rc = full_screen(g, o, e);
	if (g)
		gather_free(g);
	free(o->pids);
	return rc;
}

extern const struct command cmd_top;
const struct command cmd_top = {
	.name = "top",
	.usage = "[OPTIONS] [PID...]",
	.summary = "GPUs and who uses their memory, live; recorded programs in detail",
	.run = top_run,
	.options = rows,
	.defaults = &(const struct top_options){.format = "text", .sort = "used", .interval = 1000000000},
	.size = sizeof(struct top_options),
};
