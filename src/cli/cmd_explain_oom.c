/* cmd_explain_oom.c: gpumemsnap explain-oom: an out-of-memory message in plain words. */
#include "analyze/explain.h"
#include "base/text.h"
#include "cli/options.h"
#include "render/explain_out.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST (4u << 20) /* of a longer log, the last lines */

struct options {
	const char *format;
	uint64_t width;
};

static const struct option_row rows[] = {
    {"format", 'f', OPT_CHOICE, offsetof(struct options, format), "text|json",
     "what to print (default text)"},
    {"width", 'w', OPT_U64, offsetof(struct options, width), "COLUMNS",
     "width of the text (default: the terminal's)"},
    {0},
};

static int read_all(struct text *t, struct err *e)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(0, buf, sizeof buf)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (!buf[i])
				buf[i] = ' ';
		text_add(t, buf, (size_t)n);
		if (t->n > 2 * MOST) {
			memmove(t->s, t->s + t->n - MOST, MOST + 1);
			t->n = MOST;
		}
	}
	return n < 0 ? err_sys(e, "standard input", "read") : 0;
}

static int explain_text(const struct options *o, const char *text, struct err *e)
{
	struct explanation x;
	struct page page;

	if (!explain(text, &x))
		return err_set(e, ERR_INPUT, NULL, -1, "this is no out-of-memory message that I know");
	if (!strcmp(o->format, "json")) {
		explain_json(stdout, &x);
	} else {
		page_open(&page, stdout, o->width);
		explain_page(&page, &x);
	}
	explain_free(&x);
	return 0;
}

static int explain_run(void *options, int argc, char **argv, struct err *e)
{
	struct options *o = options;
	struct text text = {0};
	int i, rc = 0;

	text_puts(&text, "");
	for (i = 0; i < argc; i++)
		text_printf(&text, "%s ", argv[i]);
	if (!argc)
		rc = read_all(&text, e);
	if (!rc)
		rc = explain_text(o, text.s, e);
	text_free(&text);
	return rc;
}

extern const struct command cmd_explain_oom;
const struct command cmd_explain_oom = {
    .name = "explain-oom",
    .usage = "[OPTIONS] [MESSAGE]",
    .summary = "say what an out-of-memory message means",
    .run = explain_run,
    .options = rows,
    .defaults = &(const struct options){.format = "text"},
    .size = sizeof(struct options),
};
