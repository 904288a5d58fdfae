/* harvest.c: see harvest.h. */
#include "cli/harvest.h"
#include "analyze/totals.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/outname.h"
#include "cli/progress.h"
#include "cli/recording.h"
#include "cli/torch_level.h"
#include "wire/spool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* --- names --- */

static bool is_used(const struct harvest *h, const char *path)
{
	size_t i;

	for (i = 0; i < h->snapshots; i++)
		if (!strcmp(h->path[i], path))
			return true;
	return false;
}

/* Put a word into the name; the path is replaced. */
static void add_word(char **path, const char *word)
{
	char *with = outname_with(*path, word);

	free(*path);
	*path = with;
}

static void add_number(char **path, long number)
{
	char word[32];

	snprintf(word, sizeof word, "%ld", number);
	add_word(path, word);
}

/* A name that no other process of this recording has. `alone`: there is nothing to tell it from. */
static char *name_for(const struct harvest *h, const struct harvest_plan *plan, const struct spools_entry *spool,
		      bool alone, struct err *e)
{
	int own_rank = outname_rank(), rank = spool->info.rank >= 0 ? spool->info.rank : own_rank;
	bool pattern = outname_is_pattern(plan->output);
	char *path = outname_expand(plan->output, &(struct outname){.pid = spool->pid, .rank = rank}, e);

	if (!path || !strcmp(plan->output, "-"))
		return path;
	if (!pattern && rank >= 0 && (own_rank >= 0 || !alone))
		add_number(&path, rank);
	else if (!pattern && (!alone || plan->spools->name_taken))
		add_number(&path, spool->pid);
	if (is_used(h, path))
		add_number(&path, spool->pid);
	if (is_used(h, path))
		add_number(&path, spool->image);
	return path;
}

/* --- words --- */

static void tell_device(const struct device_totals *t, const struct model *m, int device)
{
	char peak[TEXT_SIZE_MAX], when[TEXT_SIZE_MAX], end[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	const struct amount *a = &t->amount[TOTAL_REQUESTED];
	uint64_t failed = 0;
	int kind;

	for (kind = 0; kind < GMS_KINDS; kind++)
		failed += t->kind[kind].failed;
	if (device == MODEL_NO_DEVICE || a->peak == MODEL_UNKNOWN || (!a->peak && !failed))
		return;
	fprintf(stderr, "gpumemsnap: GPU %d: peak %s", device, text_bytes(peak, a->peak));
	if (a->peak_row < m->ev.n)
		fprintf(stderr, " after %s", text_ns(when, m->ev.t_ns[a->peak_row]));
	if (t->live_blocks)
		fprintf(stderr, "; %s in %s allocation%s still live at the end", text_bytes(end, a->end),
			text_count(count, t->live_blocks), t->live_blocks == 1 ? "" : "s");
	else
		fprintf(stderr, "; all freed at the end");
	if (failed)
		fprintf(stderr, "; %s allocation%s failed", text_count(count, failed), failed == 1 ? "" : "s");
	fprintf(stderr, "\n");
}

void harvest_tell(const struct model *m, const char *path)
{
	char events[TEXT_SIZE_MAX], duration[TEXT_SIZE_MAX];
	struct totals t;
	size_t n = m->ev.n - m->n_initial;
	int d;

	fprintf(stderr, "gpumemsnap: wrote %s: %s event%s", strcmp(path, "-") ? path : "to standard output",
		text_count(events, n), n == 1 ? "" : "s");
	if (n)
		fprintf(stderr, " in %s", text_ns(duration, m->duration_ns));
	if (!m->complete && m->why_incomplete)
		fprintf(stderr, " (incomplete: %s)", m->why_incomplete);
	fprintf(stderr, "\n");
	totals_all(&t, m);
	for (d = 0; d < 256; d++)
		if (t.device[d])
			tell_device(t.device[d], m, d);
	totals_free(&t);
}

/* --- one snapshot --- */

/* What the spool cannot know: how its process ended. */
static void tell_end(struct model *m, const struct harvest_plan *plan, const struct spool_info *info, bool running)
{
	int status;
	bool known = plan->child && info->state != SPOOL_EXEC && child_ended(plan->child, info->pid, &status);
	char *why = NULL;

	if (running)
		why = mem_strdup("the process is still running");
	else if (info->trouble[0])
		; /* whatever happened to it later */
	else if (known && WIFSIGNALED(status))
		why = mem_printf("killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (known && WIFEXITED(status) && !info->dropped && !m->complete)
		m->complete = true; /* it left without a word, but in order: nothing is missing */
	if (why) {
		m->complete = false;
		free(m->why_incomplete);
		m->why_incomplete = why;
	} else if (m->complete) {
		free(m->why_incomplete);
		m->why_incomplete = NULL;
	}
}

static int write_one(struct harvest *h, const struct harvest_plan *plan, struct model *m, char *path, struct err *e)
{
	model_link(m);
	if (recording_write(m, path, e))
		return -1;
	h->events += m->ev.n - m->n_initial;
	h->path = mem_resize(h->path, h->snapshots + 1, sizeof *h->path);
	h->path[h->snapshots++] = mem_strdup(path);
	if (!plan->quiet)
		harvest_tell(m, path);
	return 0;
}

/* `always`: even if nothing happened in it. */
static int harvest_spool(struct harvest *h, const struct harvest_plan *plan, const struct spools_entry *spool,
			 const struct harvest_moment *at, bool alone, bool always, struct err *e)
{
	struct spool_info info;
	struct model m;
	char *path = NULL;
	int rc = -1;
	long n;

	if (recording_read(&m, spool->path, at ? at->until_ns : 0, &info, e))
		return -1;
	tell_end(&m, plan, &info, child_is_running(info.pid) && info.state == SPOOL_RUNNING);
	if (!always && !m.ev.n && !m.n_phases) {
		rc = 0;
	} else if ((path = name_for(h, plan, spool, alone, e))) {
		if (plan->sampler)
			sampler_add(plan->sampler, &m);
		if (at)
			add_word(&path, at->word);
		for (n = 2; at && is_used(h, path); n++) {
			free(path);
			path = name_for(h, plan, spool, alone, e);
			add_word(&path, at->word);
			add_number(&path, n);
		}
		rc = write_one(h, plan, &m, path, e);
	}
	free(path);
	model_free(&m);
	return rc;
}

int harvest_now(struct harvest *h, const struct harvest_plan *plan, const struct spools_entry *spool,
		const struct harvest_moment *at, struct err *e)
{
	torch_level_ask(spool->path, 10000);
	return harvest_spool(h, plan, spool, at, spool->pid == plan->main_pid, true, e);
}

static bool used_gpu(const struct spools_entry *spool)
{
	return spool->info.gpu_calls || spool->info.has_chunks;
}

int harvest_all(struct harvest *h, const struct harvest_plan *plan, struct err *e)
{
	struct spools_entry *v;
	size_t i, n = spools_list(plan->spools->dir, &v), used = 0, main_spool = n, last_of_main = n;
	int rc = 0;

	for (i = 0; i < n; i++) {
		h->gpu_calls += v[i].info.gpu_calls;
		if (!h->trouble[0])
			memcpy(h->trouble, v[i].info.trouble, sizeof h->trouble);
		used += used_gpu(&v[i]) && (plan->children || v[i].pid == plan->main_pid);
		if (v[i].pid == plan->main_pid)
			last_of_main = i;
		if (v[i].pid == plan->main_pid && used_gpu(&v[i]))
			main_spool = i; /* the last image of it that used the GPU has the plain name */
	}
	h->spools = n;
	for (i = 0; i < n && !rc; i++)
		if (used_gpu(&v[i]) && (plan->children || v[i].pid == plan->main_pid))
			rc = harvest_spool(h, plan, &v[i], NULL, used == 1 || i == main_spool, used == 1, e);
	if (!used && last_of_main < n) /* a snapshot of nothing is true, too, and replaces an older one */
		rc = harvest_spool(h, plan, &v[last_of_main], NULL, true, true, e);
	spools_list_free(v, n);
	return rc;
}

void harvest_free(struct harvest *h)
{
	while (h->snapshots)
		free(h->path[--h->snapshots]);
	free(h->path);
	*h = (struct harvest){0};
}
