/* check_out.c: one line, one object or one test case per rule and device. */
#include "render/check_out.h"
#include "render/json_out.h"
#include <string.h>

void check_text(struct page *p, const struct check *c)
{
	size_t i;

	for (i = 0; i < c->n; i++) {
		const struct check_result *r = &c->v[i];

		page_ink(p, r->passed ? INK_GREEN : INK_RED);
		fputs(r->passed ? "ok  " : "FAIL", p->f);
		page_ink(p, INK_PLAIN);
		page_line(p, "  %-18s GPU %u  %s", r->rule, r->device, r->text);
	}
}

void check_json(FILE *f, const struct check *c, const char *file)
{
	cJSON *root = cJSON_CreateObject(), *list;
	size_t i;

	cJSON_AddStringToObject(root, "format", "gpumemsnap-check");
	cJSON_AddNumberToObject(root, "version", 1);
	json_text(root, "file", file);
	cJSON_AddBoolToObject(root, "passed", !c->failed);
	list = json_array(root, "rules");
	for (i = 0; i < c->n; i++) {
		const struct check_result *r = &c->v[i];
		cJSON *o = json_item(list);

		json_text(o, "rule", r->rule);
		json_u64(o, "device", r->device);
		cJSON_AddBoolToObject(o, "passed", r->passed);
		json_real(o, "value", r->value);
		json_real(o, "limit", r->limit);
		json_text(o, "text", r->text);
	}
	json_print(f, root);
}

static void xml(FILE *f, const char *s)
{
	for (; *s; s++) {
		const char *entity = *s == '&'   ? "&amp;"
		                     : *s == '<' ? "&lt;"
		                     : *s == '>' ? "&gt;"
		                     : *s == '"' ? "&quot;"
		                                 : NULL;

		if (entity)
			fputs(entity, f);
		else
			fputc((unsigned char)*s < 0x20 ? ' ' : *s, f);
	}
}

void check_junit(FILE *f, const struct check *c, const char *file)
{
	size_t i;

	fprintf(
	    f,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"gpumemsnap check\" tests=\"%zu\" "
	    "failures=\"%zu\">\n",
	    c->n, c->failed);
	for (i = 0; i < c->n; i++) {
		const struct check_result *r = &c->v[i];

		fputs("  <testcase classname=\"", f);
		xml(f, file);
		fprintf(f, "\" name=\"%s GPU %u\"", r->rule, r->device);
		if (r->passed) {
			fputs("/>\n", f);
			continue;
		}
		fputs(">\n    <failure message=\"", f);
		xml(f, r->text);
		fputs("\"/>\n  </testcase>\n", f);
	}
	fputs("</testsuite>\n", f);
}
