/* torch_level.c: see torch_level.h. */
#include "cli/torch_level.h"
#include "analyze/align.h"
#include "base/mem.h"
#include "base/text.h"
#include "format/format.h"
#include "model/merge.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* "DIR/PID.N.spool" → "DIR/PID" and what is added; NULL if it is named otherwise. */
static char *beside(const char *spool, const char *add)
{
	const char *base = strrchr(spool, '/');
	size_t digits = strspn(base ? base + 1 : spool, "0123456789");
	const char *end = (base ? base + 1 : spool) + digits;

	return digits && *end == '.' ? mem_printf("%.*s%s", (int)(end - spool), spool, add) : NULL;
}

/* A later program image of the process has a spool too: PyTorch's files are that one's. */
static bool is_last_image(const char *spool)
{
	char *stem = beside(spool, ""), *next;
	int image = stem ? atoi(spool + strlen(stem) + 1) : -1;
	bool last;

	next = mem_printf("%s.%d.spool", stem ? stem : "", image + 1);
	last = stem && access(next, F_OK) != 0;
	free(next);
	free(stem);
	return last;
}

/* The first lines of a small file; the caller says what to do with each. */
static void each_line(const char *path, void (*line_is)(struct model *m, const char *line), struct model *m)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[512];
	int n;

	for (n = 0; f && n < 20 && fgets(line, sizeof line, f); n++) {
		line[strcspn(line, "\n")] = 0;
		line_is(m, line);
	}
	if (f)
		fclose(f);
}

static void line_is_note(struct model *m, const char *line)
{
	model_note(m, NOTE_WARNING, "%s", line);
}

static void line_is_version(struct model *m, const char *line)
{
	if (!m->version)
		m->version = mem_printf("PyTorch %s", line);
}

static void tell_alignment(struct model *m, const struct align *a)
{
	char error[TEXT_SIZE_MAX];

	if (a->by_wall_clock)
		model_note(m, NOTE_WARNING,
			   "PyTorch's segments were not found among the driver's allocations: its times are aligned by the "
			   "wall clock alone");
	else if (a->torn)
		model_note(m, NOTE_WARNING,
			   "the wall clock was set while recording: PyTorch's times are up to %s off",
			   text_ns(error, a->error_ns));
	else if (a->error_ns == INT64_MAX)
		model_note(m, NOTE_INFO,
			   "PyTorch's history: %zu of its %zu segments found among the driver's allocations, which align its "
			   "clock",
			   a->found, a->segments);
	else
		model_note(m, NOTE_INFO,
			   "PyTorch's history: %zu of its %zu segments found among the driver's allocations, which align its "
			   "clock to %s",
			   a->found, a->segments, text_ns(error, a->error_ns));
}

static void merge(struct model *m, const char *path)
{
	struct err e = {0};
	struct model torch;
	struct align a;

	if (format_read(&torch, path, &e)) {
		model_note(m, NOTE_WARNING, "PyTorch's history cannot be used: %s", e.msg);
		return;
	}
	if (align_find(m, &torch, &a))
		model_note(m, NOTE_WARNING, "PyTorch's history cannot be used: nothing tells how its clock stands");
	else {
		model_merge(m, &torch, a.shift_ns);
		tell_alignment(m, &a);
		if (torch.history != HISTORY_COMPLETE && m->history == HISTORY_COMPLETE)
			m->history = HISTORY_PARTIAL;
	}
	model_free(&torch);
}

void torch_level_add(struct model *m, const char *spool)
{
	char *history = beside(spool, ".torch"), *on = beside(spool, ".torch.on"), *notes = beside(spool, ".torch.note");

	if (history && is_last_image(spool)) {
		each_line(on, line_is_version, m);
		each_line(notes, line_is_note, m);
		if (!access(history, R_OK))
			merge(m, history);
		else if (!access(on, F_OK))
			model_note(m, NOTE_WARNING,
				   "PyTorch's history was on, but the process ended before it could write it: the driver's level "
				   "is recorded alone");
	}
	free(history);
	free(on);
	free(notes);
}

/* --- asking ------------------------------------------------------------------------------------------ */

static struct timespec written_at(const char *path)
{
	struct stat st;

	return stat(path, &st) ? (struct timespec){0} : st.st_mtim;
}

void torch_level_ask(const char *spool, int ms)
{
	char *history = beside(spool, ".torch"), *ask = beside(spool, ".torch.ask");
	struct timespec before, now, tick = {0, 10000000};
	int fd = ask ? open(ask, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1; /* fails if nobody listens */

	if (fd >= 0) {
		before = written_at(history);
		if (write(fd, "x", 1) != 1)
			ms = 0;
		for (; ms > 0; ms -= 10) {
			now = written_at(history);
			if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec)
				break;
			nanosleep(&tick, NULL);
		}
		close(fd);
	}
	free(history);
	free(ask);
}
