/* test_gma_map.c: scripts of requests and the segment map they must lead to: tests/golden/gma.
 *
 * A script is lines of
 *     conf STRING      configuration (first)      device SIZE   capacity (before the first request)
 *     a SIZE [sN] [pN] allocate for stream N from pool N; blocks are numbered 1, 2, …
 *     f N              free block N               r N sM        stream M uses block N
 *     done             all events are complete    empty         empty the cache
 *     pool N [nosplit] [oom]  make private pool N, with flags    release N     nobody needs pool N any more
 *     capture, end     a graph is being captured  limit SIZE    of reserved memory
 *     map              draw the segments          count         calls of the device, retries, failures
 *     figures          some of the statistics     reset         peaks and sums begin anew
 * and, behind "> ", what it must print. In a map, each segment is a line: its pool, stream, size, and its
 * blocks: "3:512" block 3, "3~512" block 3 freed but awaiting streams, "-512" free, ".2M" not mapped.
 */
#include "gma.h"
#include <dirent.h>
#include <stdio.h>

enum { BLOCKS = 64, POOLS = 8 };

struct script {
	struct rig rig;
	bool begun;
	char conf[512], out[8192];
	uint64_t device;
	struct gma_block *block[BLOCKS];
	struct gma_pool *pool[POOLS];
	unsigned n;
};

static void print(struct script *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print(struct script *s, const char *fmt, ...)
{
	size_t have = strlen(s->out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->out + have, sizeof s->out - have, fmt, ap);
	va_end(ap);
}

static uint64_t size_of(const char *word)
{
	char *end;
	double v = strtod(word, &end);

	return (uint64_t)(v * (double)(*end == 'G' ? GIB : *end == 'M' ? MIB : *end == 'K' ? KIB : 1));
}

static void print_size(struct script *s, uint64_t v)
{
	if (v % MIB == 0)
		print(s, "%lluM", (unsigned long long)(v / MIB));
	else if (v % KIB == 0)
		print(s, "%lluK", (unsigned long long)(v / KIB));
	else
		print(s, "%llu", (unsigned long long)v);
}

static void draw(struct script *s)
{
	const struct gma_segment *g;
	const struct gma_block *b;
	uint64_t id[2];

	for (g = gma_core_segments(s->rig.core); g; g = g->next) {
		print(s, "> %s s%llu", gma_segment_small(g) ? "small" : "large", (unsigned long long)gma_segment_stream(g));
		if (gma_segment_pool(g)) {
			gma_core_pool_id(gma_segment_pool(g), id);
			print(s, " p%llu", (unsigned long long)id[1]);
		}
		print(s, " ");
		print_size(s, g->size);
		for (b = g->first; b; b = b->next) {
			if (b->state == GMA_LIVE || b->state == GMA_PENDING)
				print(s, " %llu%s", (unsigned long long)b->user, b->state == GMA_LIVE ? ":" : "~");
			else
				print(s, b->state == GMA_FREE ? " -" : " .");
			print_size(s, b->size);
		}
		print(s, "\n");
	}
	if (!gma_core_segments(s->rig.core))
		print(s, "> nothing\n");
}

static void count(struct script *s)
{
	const struct gma_stats *t = gma_core_stats(s->rig.core);

	print(s, "> %llu got, %llu given back, %llu retries, %llu failures\n", (unsigned long long)t->num_device_alloc,
	      (unsigned long long)t->num_device_free, (unsigned long long)t->num_alloc_retries,
	      (unsigned long long)t->num_ooms);
}

static void figures(struct script *s)
{
	const struct gma_stats *t = gma_core_stats(s->rig.core);
	const struct {
		const char *name;
		const struct gma_stat *of;
	} rows[] = {{"allocated", t->allocated_bytes},
		    {"active", t->active_bytes},
		    {"reserved", t->reserved_bytes},
		    {"requested", t->requested_bytes},
		    {"inactive_split", t->inactive_split_bytes}};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		print(s, "> %s ", rows[i].name);
		print_size(s, (uint64_t)rows[i].of->current);
		print(s, " peak ");
		print_size(s, (uint64_t)rows[i].of->peak);
		print(s, " up ");
		print_size(s, (uint64_t)rows[i].of->allocated);
		print(s, " down ");
		print_size(s, (uint64_t)rows[i].of->freed);
		print(s, "\n");
	}
	print(s, "> blocks %lld, segments %lld\n", (long long)t->allocation->current, (long long)t->segment->current);
}

static void make_pool(struct script *s, char **word, int n)
{
	unsigned flags = 0;
	int i;

	for (i = 2; i < n; i++)
		flags |= !strcmp(word[i], "oom") ? GMA_POOL_ON_OOM : GMA_POOL_NO_SPLIT;
	gma_core_pool_create(s->rig.core, &s->pool[atoi(word[1])], 0, strtoull(word[1], NULL, 10), flags);
}

static void allocate(struct script *s, char **word, int n)
{
	struct gma_request q = {.size = size_of(word[1]), .user = ++s->n};
	int i, r;

	for (i = 2; i < n; i++) {
		if (word[i][0] == 's')
			q.stream = strtoull(word[i] + 1, NULL, 10);
		else
			q.pool = s->pool[atoi(word[i] + 1)];
	}
	r = gma_core_malloc(s->rig.core, &q, &s->block[s->n]);
	if (r == GMA_OUT_OF_MEMORY)
		print(s, "> %u: out of memory\n", s->n);
	else if (r)
		print(s, "> %u: error %d\n", s->n, r);
}

static void run(struct script *s, char *line)
{
	char *word[8] = {0}, *save;
	int n = 0;

	if (!strncmp(line, "conf ", 5)) {
		snprintf(s->conf, sizeof s->conf, "%s", line + 5);
		return;
	}
	for (word[0] = strtok_r(line, " ", &save); n < 7 && word[n]; word[n] = strtok_r(NULL, " ", &save))
		n++;
	if (!n)
		return;
	if (!strcmp(word[0], "device")) {
		s->device = size_of(word[1]);
		return;
	}
	if (!s->begun)
		rig_begin(&s->rig, s->conf, s->device);
	s->begun = true;
	if (!strcmp(word[0], "a"))
		allocate(s, word, n);
	else if (!strcmp(word[0], "f"))
		gma_core_free(s->rig.core, s->block[atoi(word[1])]);
	else if (!strcmp(word[0], "r"))
		gma_core_record_stream(s->rig.core, s->block[atoi(word[1])], strtoull(word[2] + 1, NULL, 10));
	else if (!strcmp(word[0], "done"))
		s->rig.sim.events_done = s->rig.sim.events;
	else if (!strcmp(word[0], "empty"))
		gma_core_empty_cache(s->rig.core, NULL);
	else if (!strcmp(word[0], "limit"))
		gma_core_set_limit(s->rig.core, size_of(word[1]));
	else if (!strcmp(word[0], "pool"))
		make_pool(s, word, n);
	else if (!strcmp(word[0], "release"))
		gma_core_pool_release(s->pool[atoi(word[1])]);
	else if (!strcmp(word[0], "capture") || !strcmp(word[0], "end"))
		gma_core_capture(s->rig.core, word[0][0] == 'c');
	else if (!strcmp(word[0], "map"))
		draw(s);
	else if (!strcmp(word[0], "count"))
		count(s);
	else if (!strcmp(word[0], "figures"))
		figures(s);
	else if (!strcmp(word[0], "reset"))
		gma_core_reset_peak(s->rig.core), gma_core_reset_accumulated(s->rig.core);
	else
		fail_msg("what is '%s'?", word[0]);
	rig_check(&s->rig);
}

static bool run_file(const char *path)
{
	bool wrong;
	struct script *s = calloc(1, sizeof *s);
	char line[512], want[8192] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	s->device = 16 * GIB;
	while (fgets(line, sizeof line, f)) {
		if (line[0] == '>')
			strncat(want, line, sizeof want - strlen(want) - 1);
		line[strcspn(line, "\n")] = '\0';
		if (line[0] != '>' && line[0] != '#')
			run(s, line);
	}
	fclose(f);
	wrong = strcmp(s->out, want) != 0 || !want[0];
	if (wrong)
		print_error("%s: it drew\n%sand not\n%s", path, s->out, want);
	rig_end(&s->rig);
	free(s);
	return wrong;
}

static void scripts_lead_to_their_maps(void **state)
{
	struct dirent *entry;
	DIR *dir = opendir("tests/golden/gma");
	char path[512];
	int n = 0, wrong = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "tests/golden/gma/%s", entry->d_name);
		wrong += run_file(path);
		n++;
	}
	closedir(dir);
	assert_true(n > 8);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest gma_map[] = {cmocka_unit_test(scripts_lead_to_their_maps)};

	return cmocka_run_group_tests(gma_map, NULL, NULL);
}
