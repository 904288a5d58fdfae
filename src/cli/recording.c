/* recording.c: see recording.h. The only place where the spool's reader meets the symbol layer. */
#include "cli/recording.h"
#include "cli/torch_level.h"
#include "base/mem.h"
#include "base/output.h"
#include "cli/progress.h"
#include "format/json.h"
#include "symbol/symbol.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The program files that were asked about. */
struct recording_names {
	struct known_file {
		struct symbol_file *symbols;
		char *path;
		unsigned char *build_id;
		size_t build_id_bytes;
	} *file;
	size_t n, cap;
};

static bool same_file(const struct known_file *known, const struct spool_file *file)
{
	return known->build_id_bytes == file->build_id_bytes && !strcmp(known->path, file->path) &&
	       (!file->build_id_bytes || !memcmp(known->build_id, file->build_id, file->build_id_bytes));
}

static struct symbol_file *symbols_of(struct recording_names *names, struct spool_file *file)
{
	struct known_file known = {.build_id_bytes = file->build_id_bytes};
	size_t i;

	for (i = 0; !file->cache && i < names->n; i++)
		if (same_file(&names->file[i], file))
			file->cache = names->file[i].symbols;
	if (!file->cache) {
		known.symbols = symbol_open(file->path, file->build_id, file->build_id_bytes);
		known.path = mem_strdup(file->path);
		known.build_id = (unsigned char *)mem_strndup((const char *)file->build_id, file->build_id_bytes);
		*VEC_PUSH(names->file, names->n, names->cap) = known;
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

struct recording_names *recording_names_new(void)
{
	return mem_zalloc(1, sizeof(struct recording_names));
}

void recording_names_free(struct recording_names *names)
{
	size_t i;

	for (i = 0; i < names->n; i++) {
		symbol_close(names->file[i].symbols);
		free(names->file[i].path);
		free(names->file[i].build_id);
	}
	free(names->file);
	free(names);
}

struct spool_finder recording_finder(struct recording_names *names)
{
	return (struct spool_finder){.ctx = names, .find = find};
}

int recording_read_with(struct recording_names *names, struct model *m, const char *spool, int64_t until_ns,
			struct spool_info *info, struct err *e)
{
	struct spool_finder finder = recording_finder(names);
	int rc = spool_read(m, spool, &(struct spool_options){.finder = &finder, .until_ns = until_ns}, info, e);
	size_t i;

	for (i = names->n; i-- && !rc;)
		if (symbol_changed(names->file[i].symbols))
			model_note(m, NOTE_WARNING, "%s is not the file that was recorded: its code has no names",
				   names->file[i].path);
	return rc;
}

int recording_read(struct model *m, const char *spool, int64_t until_ns, struct spool_info *info, struct err *e)
{
	struct recording_names *names = recording_names_new();
	int rc = recording_read_with(names, m, spool, until_ns, info, e);

	if (!rc && !until_ns)
		torch_level_add(m, spool);
	recording_names_free(names);
	return rc;
}

bool recording_is_spool(const char *path)
{
	unsigned char start[8];
	struct stat st;
	bool file = strcmp(path, "-") != 0 && !stat(path, &st) && S_ISREG(st.st_mode); /* a pipe is read but once */
	int fd = file ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct input in = {.data = start, .n = sizeof start};
	bool spool = fd >= 0 && pread(fd, start, sizeof start, 0) == sizeof start && spool_probe(&in);

	if (fd >= 0)
		close(fd);
	return spool;
}

int recording_write(const struct model *m, const char *path, struct err *e)
{
	struct output *o = output_open(path, e);
	struct progress *p;
	int rc;

	if (!o)
		return -1;
	p = progress_begin("writing %s", path);
	rc = output_end(o, json_write(m, o, e), e);
	progress_end(p);
	return rc;
}
