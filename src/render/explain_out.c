/* explain_out.c: sentences and numbers of an explained message. */
#include "render/explain_out.h"
#include "render/json_out.h"
#include "render/table.h"

void verdict_page(struct page *p, const struct verdict *v)
{
	static const enum ink ink[] = {INK_PLAIN, INK_GREEN, INK_YELLOW, INK_RED, INK_BLUE};
	static const char *const mark[] = {"  ", "  ", "! ", "! ", "> "};
	size_t i;

	for (i = 0; i < v->n; i++)
		page_paragraph(p, ink[v->v[i].tone], mark[v->v[i].tone], v->v[i].text);
}

struct figure {
	const char *key, *name;
	uint64_t value;
};

static size_t figures(const struct explanation *x, struct figure f[10])
{
	const struct figure all[] = {{"asked", "asked for", x->asked},
	                             {"total", "device, total", x->total},
	                             {"free", "device, free", x->free},
	                             {"allowed", "allowed", x->allowed},
	                             {"process", "this process", x->process},
	                             {"allocated", "in use by the framework", x->allocated},
	                             {"cached", "cached by the framework", x->cached},
	                             {"private_pools", "in private pools", x->private_pools},
	                             {"other_memory", "context and libraries", x->other_memory},
	                             {"others", "other processes", x->others}};
	size_t i;

	for (i = 0; i < sizeof all / sizeof *all; i++)
		f[i] = all[i];
	return i;
}

void explain_page(struct page *p, const struct explanation *x)
{
	struct figure f[10];
	size_t n = figures(x, f), i, known = 0;
	struct table t;

	verdict_page(p, &x->verdict);
	for (i = 0; i < n; i++)
		known += f[i].value != MODEL_UNKNOWN;
	if (!known)
		return;
	fputc('\n', p->f);
	table_begin(&t, "lr", "", "BYTES");
	for (i = 0; i < n; i++)
		if (f[i].value != MODEL_UNKNOWN) {
			table_cell(&t, "%s", f[i].name);
			table_bytes(&t, f[i].value);
		}
	table_end(&t, p);
}

void explain_json(FILE *f, const struct explanation *x)
{
	cJSON *root = cJSON_CreateObject(), *list;
	struct figure figure[10];
	size_t n = figures(x, figure), i;

	cJSON_AddStringToObject(root, "format", "gpumemsnap-explain-oom");
	cJSON_AddNumberToObject(root, "version", 1);
	json_text(root, "source", x->source);
	json_text(root, "writer", x->writer);
	json_text(root, "cause", oom_cause_name(x->cause));
	json_u64(root, "device", x->device < 0 ? MODEL_UNKNOWN : (uint64_t)x->device);
	for (i = 0; i < n; i++)
		json_u64(root, figure[i].key, figure[i].value);
	list = json_array(root, "verdict");
	for (i = 0; i < x->verdict.n; i++)
		json_text(json_item(list), "text", x->verdict.v[i].text);
	json_print(f, root);
}
