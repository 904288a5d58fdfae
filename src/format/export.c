/* export.c: the table of writers and what they share. See export.h. */
#include "format/export.h"
#include "format/json.h"
#include <string.h>

#define EXPORT(name, suffix, needs, binary, what) \
	int export_##name(const struct export_view *v, struct output *o, struct err *e);
#include "format/exports.def"
#undef EXPORT

const struct exporter export_table[] = {
#define EXPORT(name, suffix, needs, binary, what) {#name, suffix, what, EXPORT_##needs, binary, export_##name},
#include "format/exports.def"
#undef EXPORT
	{0},
};

const struct exporter *export_find(const char *name)
{
	const struct exporter *x;

	for (x = export_table; x->name; x++)
		if (!strcmp(x->name, name))
			return x;
	return NULL;
}

const struct exporter *export_by_suffix(const char *path)
{
	const struct exporter *x, *best = NULL;
	size_t n = strlen(path), k;

	if (n > 3 && !strcmp(path + n - 3, ".gz"))
		n -= 3;
	for (x = export_table; x->name; x++) { /* the longest: ".speedscope.json" is not ".json" */
		k = strlen(x->suffix);
		if (n > k && !strncmp(path + n - k, x->suffix, k) && (!best || k > strlen(best->suffix)))
			best = x;
	}
	return best;
}

#define BUFFER 65536

void export_flush(struct export_text *x)
{
	if (x->t.n < BUFFER)
		return;
	x->failed |= output_write(x->o, x->t.s, x->t.n, x->e) != 0;
	x->t.n = 0;
}

int export_done(struct export_text *x)
{
	if (!x->failed && x->t.n)
		x->failed = output_write(x->o, x->t.s, x->t.n, x->e) != 0;
	text_free(&x->t);
	return x->failed ? -1 : 0;
}

const char *export_function(const struct model *m, uint32_t frame, struct text *scratch)
{
	const struct frame *f = &m->frames.v[frame];
	const char *module;

	if (f->function)
		return model_text(m, f->function);
	if (!f->module)
		return "[unknown]";
	module = strrchr(model_text(m, f->module), '/');
	scratch->n = 0;
	text_printf(scratch, "[%s]", module ? module + 1 : model_text(m, f->module));
	return scratch->s;
}

int export_json(const struct export_view *v, struct output *o, struct err *e)
{
	return json_write(v->m, o, e);
}
