/* options.c: the one option parser. */
#include "cli/options.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/guess.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *by_name(const struct option_row *rows, const char *s, size_t n)
{
	for (; rows && rows->name; rows++)
		if (strlen(rows->name) == n && !strncmp(rows->name, s, n))
			return rows;
	return NULL;
}

static const struct option_row *by_letter(const struct option_row *rows, char letter)
{
	for (; rows && rows->name; rows++)
		if (rows->letter == letter)
			return rows;
	return NULL;
}

static bool one_of(const char *words, const char *s)
{
	size_t n = strlen(s);
	const char *w;

	for (w = words; w; w = strchr(w, '|'), w = w ? w + 1 : NULL)
		if (n && !strncmp(w, s, n) && (w[n] == '|' || !w[n]))
			return true;
	return false;
}

static bool parse_real(const char *s, double *out)
{
	char *end;

	*out = strtod(s, &end);
	if (end != s && !strcmp(end, "%"))
		*out /= 100, end++;
	return end != s && !*end;
}

static const char *wanted(const struct option_row *o)
{
	switch (o->type) {
	case OPT_BYTES:
		return "a size like 12GiB or 512K";
	case OPT_NS:
		return "a time like 250ms or 1.5s";
	case OPT_U64:
		return "a whole number";
	case OPT_REAL:
		return "a number, or a percentage like 20%";
	default:
		return o->arg;
	}
}

static int store(const struct option_row *o, void *into, const char *value, struct err *e)
{
	void *at = (char *)into + o->at;
	struct option_list *list = at;
	bool ok = true;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		break;
	case OPT_CHOICE:
		ok = one_of(o->arg, value);
		/* fall through */
	case OPT_STRING:
		*(const char **)at = value;
		break;
	case OPT_LIST:
		if (list->n == OPTION_LIST_MAX)
			return err_set(e, ERR_USAGE, NULL, -1, "--%s: at most %d of them", o->name, OPTION_LIST_MAX);
		list->v[list->n++] = value;
		break;
	case OPT_BYTES:
		ok = text_parse_bytes(value, at);
		break;
	case OPT_NS:
		ok = text_parse_ns(value, at);
		break;
	case OPT_U64:
		ok = text_parse_u64(value, at);
		break;
	case OPT_REAL:
		ok = parse_real(value, at);
		break;
	}
	return ok ? 0 : err_set(e, ERR_USAGE, NULL, -1, "--%s: '%s' is not %s", o->name, value, wanted(o));
}

const struct option_row *options_find(const struct command *c, const char *word, const char **value)
{
	const char *eq = strchr(word, '=');

	if (word[1] == '-') {
		*value = eq ? eq + 1 : NULL;
		return by_name(c->options, word + 2, eq ? (size_t)(eq - word) - 2 : strlen(word + 2));
	}
	*value = word[2] ? word + 2 : NULL;
	return by_letter(c->options, word[1]);
}

static int unknown(const struct command *c, const char *word, struct err *e)
{
	struct guess g = guess_begin(word + 2, word[1] == '-' ? strcspn(word + 2, "=") : 0);
	const struct option_row *o;

	for (o = c->options; o && o->name; o++)
		guess_try(&g, o->name);
	if (g.best)
		return err_set(e, ERR_USAGE, NULL, -1, "unknown option '%s'; did you mean '--%s'?", word, g.best);
	return err_set(e, ERR_USAGE, NULL, -1, "unknown option '%s'; see 'gpumemsnap %s --help'", word, c->name);
}

/* The option at argv[0]; *used counts the words it took. */
static int take(const struct command *c, void *into, char **argv, int left, int *used, struct err *e)
{
	const char *value;
	const struct option_row *o = options_find(c, argv[0], &value);

	*used = 1;
	if (!o)
		return unknown(c, argv[0], e);
	if (o->type == OPT_FLAG && value)
		return err_set(e, ERR_USAGE, NULL, -1, "--%s takes no value", o->name);
	if (o->type != OPT_FLAG && !value) {
		if (left < 2)
			return err_set(e, ERR_USAGE, NULL, -1, "--%s needs a value: %s", o->name, o->arg);
		value = argv[1];
		*used = 2;
	}
	return store(o, into, value, e);
}

static int parse(const struct command *c, void *into, int *argc, char **argv, bool *helped, struct err *e)
{
	int i, used, kept = 0;

	*helped = false;
	for (i = 0; i < *argc; i += used) {
		used = 1;
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "--help") || (!strcmp(argv[i], "-h") && !by_letter(c->options, 'h'))) {
			options_help(c);
			*helped = true;
			return 0;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			if (take(c, into, argv + i, *argc - i, &used, e))
				return -1;
		} else if (c->program) {
			break;
		} else {
			argv[kept++] = argv[i];
		}
	}
	while (i < *argc)
		argv[kept++] = argv[i++];
	*argc = kept;
	argv[kept] = NULL;
	return 0;
}

int options_run(const struct command *c, int argc, char **argv, struct err *e)
{
	void *options = mem_zalloc(1, c->size);
	bool helped;
	int rc;

	if (c->defaults)
		memcpy(options, c->defaults, c->size);
	rc = parse(c, options, &argc, argv, &helped, e);
	if (!rc && !helped)
		rc = c->run(options, argc, argv, e);
	free(options);
	return rc;
}

void options_help(const struct command *c)
{
	const struct option_row *o;

	printf("Usage: gpumemsnap %s %s\n%s\n", c->name, c->usage, c->summary);
	if (c->options && c->options->name)
		printf("\nOptions:\n");
	for (o = c->options; o && o->name; o++) {
		char left[80];
		int n = o->letter ? snprintf(left, sizeof left, "-%c, --%s", o->letter, o->name)
				  : snprintf(left, sizeof left, "    --%s", o->name);

		if (o->arg && n > 0 && (size_t)n < sizeof left)
			snprintf(left + n, sizeof left - (size_t)n, " %s", o->arg);
		printf("  %-30s%s%s\n", left, strlen(left) > 29 ? "\n                                " : "", o->help);
	}
	printf("\nFull description: man gpumemsnap-%s\n", c->name);
}
