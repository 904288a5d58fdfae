/* folded.c: folded stacks, "root;caller;leaf 4096" per line, as flamegraph.pl and inferno read them.
 *
 * In a name ';' separates and a line break ends, so these two become ':' and ' '. A number behind a space at the end
 * of a stack would be read as one more count, so that space becomes '_'.
 */
#include "format/export.h"
#include <ctype.h>

int export_folded(const struct export_view *v, struct output *o, struct err *e);

static void put_name(struct text *t, const char *s)
{
	for (; *s; s++)
		text_add(t, *s == ';' ? ":" : *s == '\n' || *s == '\r' ? " " : s, 1);
}

/* Digits, which may have a point in between, behind white space. */
static void tie_last_number(char *s, size_t n)
{
	size_t i = n;

	while (i && (isdigit((unsigned char)s[i - 1]) || s[i - 1] == '.'))
		i--;
	if (i && i < n && isspace((unsigned char)s[i - 1]))
		s[i - 1] = '_';
}

static void put_stack(struct text *t, const struct model *m, uint32_t stack, struct text *scratch)
{
	size_t n, from = t->n;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	if (!n)
		text_puts(t, EXPORT_NO_STACK);
	while (n-- > 0) {
		put_name(t, export_function(m, frame[n], scratch));
		text_puts(t, n ? ";" : "");
	}
	tie_last_number(t->s + from, t->n - from);
}

int export_folded(const struct export_view *v, struct output *o, struct err *e)
{
	struct export_text x = {.o = o, .e = e};
	const struct export_moment *at = v->moments;
	struct text scratch = {0};
	size_t i;

	for (i = 0; i < at->n && !x.failed; i++) {
		put_stack(&x.t, v->m, at->rows[i].stack, &scratch);
		text_puts(&x.t, " ");
		text_u64(&x.t, v->by_count ? at->rows[i].count : at->rows[i].bytes);
		text_puts(&x.t, "\n");
		export_flush(&x);
	}
	text_free(&scratch);
	return export_done(&x);
}
