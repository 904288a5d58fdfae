/* format.c: which reader a file is for. See format.h. */
#include "format/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "format/set.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct format format_table[] = {
#define FORMAT(name, probe, read) {#name, probe, read},
#include "format/formats.def"
#undef FORMAT
	{NULL, NULL, NULL},
};

static int read_input(struct model *m, const struct input *in, struct err *e)
{
	const struct format *f;
	int rc;

	if (!in->n)
		return err_set(e, ERR_INPUT, in->name, -1, "is empty");
	for (f = format_table; f->name && !f->probe(in); f++)
		;
	if (f->name) {
		rc = f->read(in, m, e);
		if (!rc && in->cut && m->complete) {
			m->complete = false;
			m->why_incomplete = mem_strdup("the gzip data are cut short or damaged: read up to there");
		}
		return rc;
	}
	return err_set(e, ERR_INPUT, in->name, -1,
		       "is no recording this program knows: a gpumemsnap snapshot or spool, a PyTorch memory "
		       "snapshot (pickle), an RMM log or a JAX memory profile (pprof), each also gzipped");
}

/* "FILE#12" → "FILE" (to be freed) and 12, unless a file has just that name; else NULL. */
static char *split_name(const char *path, uint64_t *k)
{
	const char *hash = strrchr(path, '#');

	if (!hash || hash == path || !text_parse_u64(hash + 1, k) || !access(path, F_OK))
		return NULL;
	return mem_strndup(path, (size_t)(hash - path));
}

/* No part was named: that is only clear if there is one. */
static int only_part(const struct input *in, const char *path, struct input *part, struct err *e)
{
	char **names;
	int i, n = set_names(in, &names, e), rc;

	if (n < 0)
		return -1;
	rc = n == 1 ? set_part(in, 0, in->name, part, e)
		    : err_set(e, ERR_INPUT, in->name, -1, "holds %d snapshots; name one: %s#0 (%s), %s#1 ...", n, path,
			      n ? names[0] : "none", path);
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return rc;
}

/* path: as the user wrote it; file: without the part's number, NULL if there is none. */
static int choose_part(const struct input *in, const char *path, const char *file, uint64_t k, struct input *part,
		       struct err *e)
{
	bool named = file;

	*part = *in;
	part->name = named ? path : in->name;
	part->part = named && k < UINT32_MAX ? (unsigned)k + 1 : 0;
	if (set_probe(in))
		return named ? set_part(in, k, path, part, e) : only_part(in, path, part, e);
	if (named && k && (!part->part || !torch_probe(in)))
		return err_set(e, ERR_INPUT, path, -1, "the file holds one snapshot");
	return 0;
}

int format_read(struct model *m, const char *path, struct err *e)
{
	struct input in, part;
	uint64_t k = 0;
	char *file = split_name(path, &k);
	int rc = input_open(&in, file ? file : path, e);

	if (!rc) {
		rc = choose_part(&in, path, file, k, &part, e);
		if (!rc) {
			model_init(m, part.name);
			rc = read_input(m, &part, e);
			if (rc)
				model_free(m);
			else
				model_link(m);
		}
		input_close(&in);
	}
	free(file);
	return rc;
}

/* A pickle's only snapshot has its keys at the very beginning, and a list of segments theirs: that needs no counting. */
static bool may_be_several(const struct input *in)
{
	static const char *const key[] = {"segments", "device_traces", "allocator_settings", "external_annotations"};
	size_t i, at = in->n > 11 && in->data[2] == 0x95 ? 11 : 2; /* behind PROTO and FRAME */
	size_t n = in->n > at + 20 ? 20 : in->n > at ? in->n - at : 0;
	const unsigned char *s = in->data + at, *found;

	if (!torch_probe(in) || !n)
		return false;
	for (i = 0; i < sizeof key / sizeof *key; i++)
		if ((found = memmem(s, n, key[i], strlen(key[i]))))
			return s[0] == ']' || memchr(s + 1, '}', (size_t)(found - s) - 1);
	return s[0] != ']' || !memmem(s, n, "device", 6);
}

static int count_parts(const char *path, struct err *e)
{
	struct input in;
	char **names = NULL;
	int i, n;

	if (input_open(&in, path, e))
		return -1;
	n = set_probe(&in) ? set_names(&in, &names, e) : (int)torch_count(&in);
	input_close(&in);
	for (i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
	return n;
}

int format_parts(const char *path, char ***names, struct err *e)
{
	unsigned char first[64];
	struct input in = {.data = first};
	int i, n = 1;
	bool set;

	*names = NULL;
	in.n = strcmp(path, "-") ? input_peek(path, first, sizeof first) : 0;
	set = set_probe(&in);
	if (set || may_be_several(&in))
		n = count_parts(path, e);
	if (n < 0)
		return -1;
	*names = mem_zalloc((size_t)n + 1, sizeof **names);
	for (i = 0; i < n; i++)
		(*names)[i] = set || n > 1 ? mem_printf("%s#%d", path, i) : mem_strdup(path);
	return n;
}
