/* narrowing.c: options → conditions of analyze/filter.h. */
#include "cli/narrowing.h"
#include "analyze/filter.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdlib.h>

static int add(struct filter *f, const char *key, const char *value, struct err *e)
{
	char *text;
	int rc;

	if (!value)
		return 0;
	text = mem_printf("%s%s", key, value);
	rc = filter_add(f, text, e);
	free(text);
	return rc;
}

int narrowing_apply(const struct narrowing *n, struct model *m, struct err *e)
{
	struct filter f = {0};
	int64_t from, to;
	size_t i;
	int rc;

	if (n->from && n->to && text_parse_ns(n->from, &from) && text_parse_ns(n->to, &to) && from > to)
		return err_set(e, ERR_USAGE, NULL, -1, "--from %s is behind --to %s", n->from, n->to);
	rc = add(&f, "device=", n->device, e) || add(&f, "stream=", n->stream, e) ||
	     add(&f, "time>=", n->from, e) || add(&f, "time<=", n->to, e);
	for (i = 0; i < n->where.n && !rc; i++)
		rc = filter_add(&f, n->where.v[i], e);
	if (!rc)
		filter_apply(&f, m);
	filter_free(&f);
	return rc ? -1 : 0;
}
