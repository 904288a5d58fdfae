/* spool.c: the file a recorded process wrote, as a model. See format/spool.h and wire/spool.h. */
#include "format/spool.h"
#include "base/mem.h"
#include "format/spool_reader.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* --- header ------------------------------------------------------------------------------------------ */
static int check_version(const struct spool_header *h, const char *name, struct err *e)
{
	if (memcmp(h->magic, SPOOL_MAGIC, sizeof h->magic) != 0)
		return err_set(e, ERR_INPUT, name, 0, "is not a spool of the recorder");
	if (h->version != SPOOL_VERSION)
		return err_set(e, ERR_INPUT, name, 8, "is a spool of version %u; this program reads version %u",
			       h->version, SPOOL_VERSION);
	if (h->header_bytes != SPOOL_HEADER || h->chunk_bytes < SPOOL_CHUNK_MIN || h->chunk_bytes > SPOOL_CHUNK_MAX ||
	    h->chunk_bytes % 4096)
		return err_set(e, ERR_INPUT, name, 12, "has a damaged header");
	return 0;
}

/* Texts of the header end where their arrays do, at the latest. */
static void end_texts(struct spool_header *h)
{
	h->trouble[sizeof h->trouble - 1] = '\0';
	h->host[sizeof h->host - 1] = '\0';
	h->options[sizeof h->options - 1] = '\0';
	h->exe[sizeof h->exe - 1] = '\0';
	h->argv[sizeof h->argv - 1] = '\0';
	if (h->argv_bytes > sizeof h->argv)
		h->argv_bytes = sizeof h->argv;
}

int spool_check_header(struct spool_header *h, const char *name, struct err *e)
{
	if (check_version(h, name, e))
		return -1;
	end_texts(h);
	return 0;
}

static void fill_info(struct spool_info *info, const struct spool_header *h, uint64_t events)
{
	if (!info)
		return;
	*info = (struct spool_info){.pid = h->pid,
				    .ppid = h->ppid,
				    .rank = h->rank,
				    .state = (int)h->state,
				    .has_chunks = h->file_bytes > SPOOL_HEADER,
				    .events = events,
				    .dropped = h->dropped,
				    .folded = h->folded_events,
				    .unknown_versions = h->unknown_versions,
				    .filtered = h->filtered,
				    .gpu_calls = h->gpu_calls,
				    .snapshots = h->snapshots};
	memcpy(info->trouble, h->trouble, sizeof info->trouble);
	memcpy(info->exe, h->exe, sizeof info->exe);
}

int spool_peek(const char *path, struct spool_info *info, struct err *e)
{
	struct {
		struct spool_header h;
		struct spool_chunk first;
	} s = {0};
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, path, "open");
	got = pread(fd, &s, sizeof s, 0);
	close(fd);
	if (spool_check_header(&s.h, path, e))
		return -1;
	if (got < (ssize_t)sizeof s.h)
		return err_set(e, ERR_INPUT, path, got, "is too short for a spool");
	fill_info(info, &s.h, 0);
	info->has_chunks &= s.first.type != SPOOL_FREE;
	return 0;
}

/* --- what the header says of the recording ------------------------------------------------------------- */
static char *command_of(const struct spool_header *h)
{
	size_t i, n = h->argv_bytes;
	char *s = mem_alloc(n + 1);

	memcpy(s, h->argv, n);
	while (n && !s[n - 1])
		n--;
	for (i = 0; i < n; i++)
		if (!s[i])
			s[i] = ' ';
	s[n] = '\0';
	return s;
}

static uint64_t option(const struct spool_header *h, const char *key)
{
	const char *s = strstr(h->options, key);

	return s && (s == h->options || s[-1] == ',') ? strtoull(s + strlen(key), NULL, 10) : 0;
}

static void tell_end(struct model *m, const struct spool_header *h)
{
	m->complete = false;
	if (h->trouble[0])
		m->why_incomplete = mem_printf("recording stopped: %s", h->trouble);
	else if (h->dropped)
		m->why_incomplete = mem_printf("%llu event%s lost", (unsigned long long)h->dropped, h->dropped == 1 ? " was" : "s were");
	else if (h->state == SPOOL_RUNNING)
		m->why_incomplete = mem_strdup("the process did not end in order: killed, or still running");
	else
		m->complete = true;
}

static void tell_window(struct spool_reader *r)
{
	struct model *m = r->m;
	const struct spool_header *h = &r->h;

	m->history = HISTORY_COMPLETE;
	if (h->folded_events) {
		m->history = HISTORY_PARTIAL;
		m->dropped_events += h->folded_events;
		model_note(m, NOTE_INFO,
			   "flight recorder: the %llu oldest events, up to %.3f s, were dropped; what was live then "
			   "is known with size, stack and time",
			   (unsigned long long)h->folded_events, (double)(h->window_ns - h->start_ns) / 1e9);
	}
	if (option(h, "start-after=") || option(h, "duration=") || option(h, "off="))
		m->history = HISTORY_PARTIAL;
	if (h->filtered)
		model_note(m, NOTE_INFO, "%llu allocation%s below %llu bytes left out on request",
			   (unsigned long long)h->filtered, h->filtered == 1 ? "" : "s", (unsigned long long)option(h, "filter-size="));
	if (h->dropped_stacks)
		model_note(m, NOTE_WARNING, "%llu event%s no stack: none could be taken then",
			   (unsigned long long)h->dropped_stacks, h->dropped_stacks == 1 ? " has" : "s have");
	if (h->unknown_versions)
		model_note(m, NOTE_WARNING,
			   "the program asked %llu time%s for a form of a driver function that is newer than this "
			   "program knows: calls of those were not seen",
			   (unsigned long long)h->unknown_versions, h->unknown_versions == 1 ? "" : "s");
}

void spool_tell_header(struct spool_reader *r)
{
	struct model *m = r->m;
	const struct spool_header *h = &r->h;

	m->source = SOURCE_NATIVE;
	m->start_wall_ns = h->start_wall_ns;
	m->pid = (uint32_t)h->pid;
	m->rank = h->rank;
	m->command = command_of(h);
	m->host = mem_strdup(h->host);
	if (h->driver_version)
		m->driver = mem_printf("CUDA %u.%u", h->driver_version / 1000, h->driver_version % 1000 / 10);
	m->dropped_events = h->dropped;
	tell_end(m, h);
	tell_window(r);
}

/* --- chunks ------------------------------------------------------------------------------------------------- */
size_t spool_run_end(const struct spool_reader *r, size_t at, size_t end)
{
	struct spool_word w;
	size_t n;

	while ((n = spool_record(r, at, end, &w)))
		at += n;
	return at;
}

static void add_run(struct spool_reader *r, size_t chunk, const struct spool_chunk *c)
{
	size_t from = c->folded >= sizeof *c && c->folded < r->h.chunk_bytes && c->folded % 8 == 0 ? c->folded
												 : sizeof *c;
	struct spool_run run = {.at = chunk + from, .thread = c->thread};

	run.limit = chunk + r->h.chunk_bytes;
	run.end = spool_run_end(r, run.at, run.limit);
	*VEC_PUSH(r->runs, r->n_runs, r->cap_runs) = run;
}

bool spool_add_chunk(struct spool_reader *r, size_t at)
{
	size_t end = at + r->h.chunk_bytes;
	struct spool_chunk c;

	c.type = __atomic_load_n((const uint32_t *)(const void *)(r->data + at), __ATOMIC_ACQUIRE);
	memcpy((char *)&c + 4, r->data + at + 4, sizeof c - 4);
	if (c.type == SPOOL_EVENTS)
		add_run(r, at, &c);
	else if (c.type == SPOOL_TABLES)
		*VEC_PUSH(r->tables, r->n_tables, r->cap_tables) = (struct spool_table_run){at + sizeof c, end};
	else if (c.type == SPOOL_LIVE)
		*VEC_PUSH(r->lives, r->n_lives, r->cap_lives) = at;
	return c.type != SPOOL_FREE;
}

/* How far each EVENTS chunk goes is noted before any table is read. */
static void find_chunks(struct spool_reader *r)
{
	size_t at;

	for (at = SPOOL_HEADER; at + r->h.chunk_bytes <= r->n; at += r->h.chunk_bytes)
		spool_add_chunk(r, at);
}

int spool_open(struct spool_reader *r, const struct input *in, struct err *e)
{
	r->data = in->data;
	r->n = in->n;
	r->name = in->name;
	r->h = (struct spool_header){0};
	memcpy(&r->h, in->data, in->n < sizeof r->h ? in->n : sizeof r->h);
	if (spool_check_header(&r->h, in->name, e))
		return -1;
	if (in->n < sizeof r->h)
		return err_set(e, ERR_INPUT, in->name, (int64_t)in->n, "is too short for a spool");
	if (r->h.file_bytes < r->n)
		r->n = r->h.file_bytes;
	find_chunks(r);
	return 0;
}

void spool_close(struct spool_reader *r)
{
	void *owned[] = {r->runs,    r->tables,  r->lives, r->string,	    r->thread,	 r->stream, r->pool,
			 r->context, r->stack,	 r->place, r->place_frames, r->live_row, r->open,   r->pycode, r->heap};
	size_t i;

	for (i = 0; i < sizeof owned / sizeof *owned; i++)
		free(owned[i]);
	for (i = 0; i < r->n_modules; i++) {
		free((void *)r->modules[i].file.path);
		free((void *)r->modules[i].file.build_id);
	}
	free(r->modules);
	map64_free(&r->places);
	map64_free(&r->pylines);
	map64_free(&r->live);
}

/* Does a stack have as many frames as are kept, native or Python ones? */
static bool is_full(const struct spool_reader *r, const struct spool_stack_row *s, uint32_t depth)
{
	uint32_t i, python = 0;
	uint64_t w;

	for (i = 0; i < s->n; i++) {
		memcpy(&w, r->data + s->at + (size_t)i * 8, sizeof w);
		python += (w & SPOOL_PY) != 0;
	}
	return s->n - python >= depth || python >= depth;
}

static void tell_cut_stacks(struct spool_reader *r)
{
	uint64_t depth = option(&r->h, "depth=");
	size_t i, deep = 0, lost = 0;

	depth = depth && depth <= SPOOL_DEPTH_MAX ? depth : SPOOL_DEPTH;
	for (i = 0; i < r->n_stack; i++)
		if (r->stack[i].at && r->stack[i].cut) {
			if (is_full(r, &r->stack[i], (uint32_t)depth))
				deep++;
			else
				lost++;
		}
	if (deep)
		model_note(r->m, NOTE_INFO,
			   "%zu call stack%s deeper than %llu frames: the outermost are missing (record --depth keeps more)",
			   deep, deep == 1 ? " was" : "s were", (unsigned long long)depth);
	if (lost)
		model_note(r->m, NOTE_INFO,
			   "%zu call stack%s in code without unwind information: who called that is not known", lost,
			   lost == 1 ? " ends" : "s end");
}

static int read_spool(const struct input *in, struct model *m, const struct spool_options *o, struct spool_info *info,
		      struct err *e)
{
	struct spool_reader r = {.m = m, .o = o};

	if (spool_open(&r, in, e))
		return -1;
	r.until_ns = o && o->until_ns > 0 ? r.h.start_ns + (uint64_t)o->until_ns : UINT64_MAX;
	spool_tell_header(&r);
	spool_tables_read(&r);
	spool_events_read(&r);
	tell_cut_stacks(&r);
	fill_info(info, &r.h, r.events);
	spool_close(&r);
	return 0;
}

int spool_read(struct model *m, const char *path, const struct spool_options *o, struct spool_info *info, struct err *e)
{
	struct spool_moment moment;
	struct spool_options upto = o ? *o : (struct spool_options){0};
	struct input in;
	int failed;

	if (spool_live_open(&in, path, &moment, e))
		return -1;
	if (moment.t_ns && (upto.until_ns <= 0 || upto.until_ns > moment.t_ns))
		upto.until_ns = moment.t_ns;
	model_init(m, in.name);
	failed = read_spool(&in, m, &upto, info, e);
	if (!failed && moment.torn)
		model_note(m, NOTE_WARNING, "events were dropped while this was read: what was live then may be told wrongly");
	if (failed)
		model_free(m);
	input_close(&in);
	return failed;
}

bool spool_probe(const struct input *in)
{
	return in->n >= 8 && !memcmp(in->data, SPOOL_MAGIC, 8);
}

int spool_format_read(const struct input *in, struct model *m, struct err *e)
{
	return read_spool(in, m, NULL, NULL, e);
}
