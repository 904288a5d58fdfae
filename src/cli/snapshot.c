/* snapshot.c: which file, which device, which instant. */
#include "cli/snapshot.h"
#include "analyze/totals.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/recording.h"
#include "format/format.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *snapshot_path(const char *command, int argc, char **argv, struct err *e)
{
	struct stat st;

	if (argc > 1) {
		err_set(e, ERR_USAGE, NULL, -1, "%s takes one snapshot, not %d", command, argc);
		return NULL;
	}
	if (argc == 1)
		return argv[0];
	if (!fstat(0, &st) && S_ISFIFO(st.st_mode))
		return "-";
	if (!access("snapshot.json", F_OK))
		return "snapshot.json";
	err_set(e, ERR_INPUT, NULL, -1,
		"no snapshot.json here; name a snapshot, or make one with 'gpumemsnap record ./app'");
	return NULL;
}

int snapshot_read(struct model *m, const char *path, struct err *e)
{
	struct progress *p = progress_begin("reading %s", strcmp(path, "-") != 0 ? path : "standard input");
	int rc = recording_is_spool(path) ? recording_read(m, path, 0, NULL, e) : format_read(m, path, e);

	if (!rc && !m->linked)
		model_link(m);
	progress_end(p);
	return rc;
}

int snapshot_parts(struct snapshot_parts *p, const char *command, int argc, char **argv, struct err *e)
{
	const char *file;
	char **names;
	int i, k, parts;

	*p = (struct snapshot_parts){0};
	for (i = 0; i < argc || !i; i++) {
		file = argc ? argv[i] : snapshot_path(command, 0, argv, e);
		parts = file ? format_parts(file, &names, e) : -1;
		if (parts < 0)
			return -1;
		for (k = 0; k < parts; k++)
			*VEC_PUSH(p->v, p->n, p->cap) = names[k];
		free(names);
	}
	return 0;
}

void snapshot_parts_free(struct snapshot_parts *p)
{
	while (p->n)
		free(p->v[--p->n]);
	free(p->v);
}

static uint8_t busiest(const struct model *m)
{
	struct totals t;
	uint64_t most = 0;
	int best = -1;

	totals_all(&t, m);
	for (int d = 0; d < 256; d++) {
		if (!t.device[d] || (d == MODEL_NO_DEVICE && best >= 0))
			continue;
		uint64_t peak = t.device[d]->amount[TOTAL_REQUESTED].peak;
		if (best < 0 || (peak != MODEL_UNKNOWN && peak > most)) {
			best = d;
			most = peak == MODEL_UNKNOWN ? 0 : peak;
		}
	}
	totals_free(&t);
	return best < 0 ? 0 : (uint8_t)best;
}

static void list_devices(const struct model *m, char *buf, size_t size)
{
	size_t n = 0;

	*buf = 0;
	for (int d = 0; d < 255 && n + 8 < size; d++)
		if (m->device[d].present)
			n += (size_t)snprintf(buf + n, size - n, "%s%d", n ? ", " : "", d);
}

int snapshot_device(const struct model *m, const char *word, struct err *e)
{
	uint64_t d;
	char list[200];

	if (!word)
		return busiest(m);
	if (!text_parse_u64(word, &d))
		return err_set(e, ERR_USAGE, NULL, -1, "--device: '%s' is not a device number", word);
	if (d < 255 && m->device[d].present)
		return (int)d;
	list_devices(m, list, sizeof list);
	return err_set(e, ERR_USAGE, m->file, -1, "has no device %s; it has: %s", word,
	               *list ? list : "none");
}

bool snapshot_time(const struct model *m, const char *option, const char *word, int64_t *t, struct err *e)
{
	uint64_t n;

	if (m->has_time ? text_parse_ns(word, t) : text_parse_u64(word, &n) && n <= INT64_MAX) {
		if (!m->has_time)
			*t = (int64_t)n;
		return true;
	}
	err_set(e, ERR_USAGE, NULL, -1, "--%s: '%s' is not %s", option, word,
	        m->has_time ? "a time like 250ms or 1.5s" : "an event number (this recording has no times)");
	return false;
}

size_t snapshot_row_at(const struct model *m, uint8_t device, int64_t t)
{
	size_t row = m->ev.n;

	while (row > m->n_initial && (m->ev.device[row - 1] != device || m->ev.t_ns[row - 1] > t))
		row--;
	return row - 1;
}
