/* recording.c: see recording.h. The only place where the spool's reader meets the symbol layer. */
#include "cli/recording.h"
#include "base/mem.h"
#include "base/output.h"
#include "format/json.h"
#include "symbol/symbol.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program files that were asked about. */
struct finder {
	struct known_file {
		struct symbol_file *symbols;
		char *path;
	} *file;
	size_t n, cap;
};

static struct symbol_file *symbols_of(struct finder *f, struct spool_file *file)
{
	if (!file->cache) {
		struct known_file known = {symbol_open(file->path, file->build_id, file->build_id_bytes),
					   mem_strdup(file->path)};

		*VEC_PUSH(f->file, f->n, f->cap) = known;
		file->cache = known.symbols;
	}
	return file->cache;
}

static size_t find(void *ctx, struct spool_file *file, uint64_t vaddr, struct spool_place *out, size_t max)
{
	struct symbol_place place[64];
	size_t i, n = symbol_find(symbols_of(ctx, file), vaddr, place, max < 64 ? max : 64);

	for (i = 0; i < n; i++)
		out[i] = (struct spool_place){place[i].function, place[i].file, place[i].line};
	return n;
}

int recording_read(struct model *m, const char *spool, int64_t until_ns, struct spool_info *info, struct err *e)
{
	struct finder f = {0};
	struct spool_finder finder = {.ctx = &f, .find = find};
	int rc = spool_read(m, spool, &(struct spool_options){.finder = &finder, .until_ns = until_ns}, info, e);

	while (f.n) {
		struct known_file *file = &f.file[--f.n];

		if (!rc && symbol_changed(file->symbols))
			model_note(m, NOTE_WARNING, "%s is not the file that was recorded: its code has no names",
				   file->path);
		symbol_close(file->symbols);
		free(file->path);
	}
	free(f.file);
	return rc;
}

bool recording_is_spool(const char *path)
{
	unsigned char start[8];
	int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct input in = {.data = start, .n = sizeof start};
	bool spool = fd >= 0 && pread(fd, start, sizeof start, 0) == sizeof start && spool_probe(&in);

	if (fd >= 0)
		close(fd);
	return spool;
}

int recording_write(const struct model *m, const char *path, struct err *e)
{
	struct output *o = output_open(path, e);

	if (!o)
		return -1;
	if (json_write(m, o, e)) {
		output_abandon(o);
		return -1;
	}
	return output_close(o, e);
}
