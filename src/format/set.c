/* set.c: see set.h. */
#include "format/set.h"
#include "base/mem.h"
#include "base/text.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX (4u << 20)
static const char start[] = "{\"format\":\"gpumemsnap-set\"";

bool set_probe(const struct input *in)
{
	return in->n >= sizeof start - 1 && !memcmp(in->data, start, sizeof start - 1);
}

static size_t header_bytes(const struct input *in)
{
	const unsigned char *end = memchr(in->data, '\n', in->n < HEADER_MAX ? in->n : HEADER_MAX);

	return end ? (size_t)(end - in->data) + 1 : 0;
}

int set_names(const struct input *in, char ***names, struct err *e)
{
	size_t n = header_bytes(in);
	cJSON *root = n ? cJSON_ParseWithLength((const char *)in->data, n) : NULL, *list, *item;
	int count = 0;

	list = cJSON_GetObjectItem(root, "names");
	if (!cJSON_IsArray(list)) {
		cJSON_Delete(root);
		return err_set(e, ERR_INPUT, in->name, 0, "the first line of a set of snapshots does not list them");
	}
	*names = mem_zalloc((size_t)cJSON_GetArraySize(list), sizeof **names);
	cJSON_ArrayForEach(item, list)(*names)[count++] = mem_strdup(cJSON_IsString(item) ? item->valuestring : "");
	cJSON_Delete(root);
	return count;
}

/* The end of the string that begins at p. */
static const unsigned char *skip_string(const unsigned char *p, const unsigned char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : end;
}

/* The end of the JSON object that begins at p; the end of all if it is cut. */
static const unsigned char *skip_document(const unsigned char *p, const unsigned char *end)
{
	size_t depth = 0;

	while (p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if ((*p == '}' || *p == ']') && --depth == 0)
			return p + 1;
		p++;
	}
	return end;
}

int set_part(const struct input *in, size_t k, const char *name, struct input *part, struct err *e)
{
	const unsigned char *p = in->data + header_bytes(in), *end = in->data + in->n;
	size_t i;

	for (i = 0;; i++) {
		while (p < end && *p != '{')
			p++;
		if (p == end)
			return err_set(e, ERR_INPUT, name, -1, "the set holds %zu snapshot%s, counted from 0", i, i == 1 ? "" : "s");
		*part = (struct input){.name = name, .data = p};
		p = skip_document(p, end);
		part->n = part->raw_n = (size_t)(p - part->data);
		if (i == k)
			return 0;
	}
}

int set_write_header(struct output *o, char *const *names, size_t n, struct err *e)
{
	struct text t = {0};
	size_t i;
	int rc;

	text_printf(&t, "%s,\"version\":1,\"names\":[", start);
	for (i = 0; i < n; i++) {
		text_puts(&t, i ? "," : "");
		text_json(&t, names[i]);
	}
	text_puts(&t, "]}\n");
	rc = output_write(o, t.s, t.n, e);
	text_free(&t);
	return rc;
}
