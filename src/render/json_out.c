/* json_out.c: the leaves of our JSON output. */
#include "render/json_out.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>

static void raw(cJSON *object, const char *key, const char *text)
{
	cJSON_AddRawToObject(object, key, text);
}

void json_u64(cJSON *object, const char *key, uint64_t v)
{
	char digits[24];

	if (v == MODEL_UNKNOWN) {
		cJSON_AddNullToObject(object, key);
		return;
	}
	*text_put_u64(digits, v) = 0;
	raw(object, key, digits);
}

void json_i64(cJSON *object, const char *key, int64_t v)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%lld", (long long)v);
	raw(object, key, digits);
}

void json_real(cJSON *object, const char *key, double v)
{
	char digits[32];

	if (!isfinite(v)) {
		cJSON_AddNullToObject(object, key);
		return;
	}
	snprintf(digits, sizeof digits, v == floor(v) && fabs(v) < 9007199254740992.0 ? "%.0f" : "%.6g", v);
	raw(object, key, digits);
}

void json_text(cJSON *object, const char *key, const char *s)
{
	struct text t = {0};

	if (!s || !*s) {
		cJSON_AddNullToObject(object, key);
		return;
	}
	text_json(&t, s);
	raw(object, key, t.s);
	text_free(&t);
}

cJSON *json_object(cJSON *object, const char *key)
{
	return cJSON_AddObjectToObject(object, key);
}

cJSON *json_array(cJSON *object, const char *key)
{
	return cJSON_AddArrayToObject(object, key);
}

cJSON *json_item(cJSON *array)
{
	cJSON *item = cJSON_CreateObject();

	cJSON_AddItemToArray(array, item);
	return item;
}

void json_stack(cJSON *object, const char *key, const struct model *m, uint32_t stack)
{
	cJSON *list = json_array(object, key);
	size_t n, i;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	for (i = 0; i < n; i++) {
		const struct frame *f = &m->frames.v[frame[i]];
		cJSON *o = json_item(list);

		json_text(o, "function", model_text(m, f->function));
		json_text(o, "file", model_text(m, f->file));
		json_u64(o, "line", f->line ? f->line : MODEL_UNKNOWN);
		json_text(o, "module", model_text(m, f->module));
	}
}

void json_print(FILE *f, cJSON *root)
{
	char *text = cJSON_Print(root);

	if (text) {
		fputs(text, f);
		fputc('\n', f);
	}
	free(text);
	cJSON_Delete(root);
}
