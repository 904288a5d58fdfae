/* whatif.c: which configurations are tried, in parallel, and which one is worth setting. */
#include "analyze/whatif.h"
#include "alloc/core.h"
#include "alloc/core_region.h"
#include "analyze/live.h"
#include "base/mem.h"
#include "base/text.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What is tried if nobody says what. The recording's own settings come first. */
static const char *const grid[] = {
	"", "expandable_segments:True",
	"max_split_size_mb:32", "max_split_size_mb:64", "max_split_size_mb:128", "max_split_size_mb:256", "max_split_size_mb:512",
	"roundup_power2_divisions:2", "roundup_power2_divisions:4", "roundup_power2_divisions:8", "roundup_power2_divisions:16",
	"expandable_segments:True,roundup_power2_divisions:16",
};
static const char *const kind_names[] = {
	[WHATIF_PLAIN] = "cudaMalloc", [WHATIF_POOL] = "cudaMallocAsync", [WHATIF_OFFLINE] = "offline plan"};

struct job {
	const struct whatif_trace *t;
	struct whatif_run *r;
	struct gma_conf conf;
};
struct jobs {
	struct job *v;
	size_t n;
	atomic_size_t next;
	const struct bands_axis *axis;
};

static bool has_requests(const struct model *m, uint8_t device)
{
	size_t row;

	for (row = 0; row < m->ev.n; row++) {
		enum gms_kind kind = GMS_OP_KIND(m->ev.op[row]);

		if (m->ev.device[row] == device && (kind == GMS_K_BLOCK || kind == GMS_K_DEVICE || kind == GMS_K_ASYNC) &&
		    GMS_OP_ACTION(m->ev.op[row]) == GMS_A_ALLOC)
			return true;
	}
	return false;
}

/* --- settings ------------------------------------------------------------------------------------ */

/* What the recording says of a setting by itself, where that differs from its text: PyTorch writes what is in force
 * (another call may have changed it, or the platform lacks it), the text only what was set last. */
static void amend(const struct model *m, const struct gma_conf *c, struct text *t)
{
	const char *expandable = model_setting_get(m, "expandable_segments");
	const char *split = model_setting_get(m, "max_split_size");
	const char *threshold = model_setting_get(m, "garbage_collection_threshold");
	const char *divisions = model_setting_get(m, "roundup_power2_divisions");
	long long mib = split ? strtoll(split, NULL, 10) / (1 << 20) : 0;
	double part = threshold ? strtod(threshold, NULL) : 0;
	struct gma_conf rounding;
	struct text key = {0};

	if (expandable && !strcmp(expandable, "True") != c->expandable)
		text_printf(t, "%sexpandable_segments:%s", t->n ? "," : "", c->expandable ? "False" : "True");
	if (mib >= 20 && (uint64_t)mib << 20 != c->max_split_size)
		text_printf(t, "%smax_split_size_mb:%lld", t->n ? "," : "", mib);
	if (part > 0 && part < 1 && (part - c->gc_threshold > 1e-6 || c->gc_threshold - part > 1e-6))
		text_printf(t, "%sgarbage_collection_threshold:%g", t->n ? "," : "", part);
	if (divisions && strcmp(divisions, "0")) {
		text_printf(&key, "roundup_power2_divisions:%s", divisions);
		if (gma_conf_parse(&rounding, key.s, NULL) &&
		    memcmp(rounding.divisions, c->divisions, sizeof c->divisions))
			text_printf(t, "%s%s", t->n ? "," : "", key.s);
		text_free(&key);
	}
}

/* The allocator settings of the recording. A text with keys that we do not know tells nothing. */
static void own_settings(const struct model *m, struct gma_conf *c, char **text)
{
	static const char *const key[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "GPUMEMALLOC_CONF"};
	const char *whole = NULL;
	struct text own = {0};
	size_t i;

	for (i = 0; i < sizeof key / sizeof *key && !whole; i++)
		whole = model_setting_get(m, key[i]);
	if (whole && gma_conf_parse(c, whole, NULL))
		text_puts(&own, whole);
	else
		gma_conf_default(c);
	amend(m, c, &own);
	*text = own.s ? own.s : mem_strdup("");
	if (!gma_conf_parse(c, *text, NULL))
		gma_conf_default(c);
}

static int parse(const char *text, uint64_t total, struct gma_conf *c, struct err *e)
{
	struct gma_conf_error wrong;

	if (!gma_conf_parse(c, text, &wrong))
		return err_set(e, ERR_USAGE, NULL, -1, "--conf '%s': at character %zu: %s", text, wrong.at + 1, wrong.text);
	if (c->has_fraction && c->memory_fraction < 1 && total == MODEL_UNKNOWN)
		return err_set(e, ERR_USAGE, NULL, -1,
			       "--conf '%s': a fraction of what? The recording does not say how much memory the device has: give --device-mem",
			       text);
	if (!c->growth && c->memory_limit == GMA_UNLIMITED && total == MODEL_UNKNOWN)
		return err_set(e, ERR_USAGE, NULL, -1,
			       "--conf '%s': growth:False takes all memory at the start, but how much is that? Add memory_limit or give --device-mem",
			       text);
	return 0;
}

/* A fraction becomes a limit in bytes. */
static void settle_limit(struct gma_conf *c, uint64_t total)
{
	uint64_t part = (uint64_t)(c->memory_fraction * (double)total);

	if (c->has_fraction && c->memory_fraction < 1 && total != MODEL_UNKNOWN && part < c->memory_limit)
		c->memory_limit = part;
}

/* Do two configurations decide alike? Limits do not matter here. */
static bool same_decisions(const struct gma_conf *a, const struct gma_conf *b)
{
	return a->growth == b->growth && a->max_split_size == b->max_split_size && a->max_non_split_rounding == b->max_non_split_rounding &&
	       a->large_segment_size == b->large_segment_size && a->expandable == b->expandable && a->async == b->async &&
	       !memcmp(a->divisions, b->divisions, sizeof a->divisions);
}

static void add_conf(struct whatif *w, const char *text)
{
	w->confs = mem_resize(w->confs, w->n_confs + 1, sizeof *w->confs);
	w->confs[w->n_confs++] = mem_strdup(text);
}

/* The list of configurations; those of the grid that do what the recording's own do are left out. */
static void choose_confs(struct whatif *w, const struct whatif_options *o, const struct gma_conf *own)
{
	struct gma_conf c;
	size_t i;

	for (i = 0; i < o->n_conf; i++)
		add_conf(w, o->conf[i]);
	if (o->n_conf)
		return;
	add_conf(w, w->own_conf);
	for (i = 0; i < sizeof grid / sizeof *grid; i++)
		if (gma_conf_parse(&c, grid[i], NULL) && !same_decisions(&c, own))
			add_conf(w, grid[i]);
}

/* --- running ------------------------------------------------------------------------------------- */

static void run_job(const struct job *j, const struct bands_axis *axis)
{
	struct gma_conf pool = j->conf;

	switch (j->r->kind) {
	case WHATIF_CACHING:
		whatif_replay(j->t, &j->conf, j->r, axis);
		break;
	case WHATIF_POOL:
		pool.expandable = true;
		pool.large_segment_size = 32 * GMA_MIB; /* the driver's pools grow by that much */
		whatif_replay(j->t, &pool, j->r, axis);
		break;
	case WHATIF_PLAIN:
		whatif_plain(j->t, j->r, axis);
		break;
	case WHATIF_OFFLINE:
		whatif_offline(j->t, j->r);
		break;
	}
}

static void *worker(void *arg)
{
	struct jobs *jobs = arg;
	size_t i;

	while ((i = atomic_fetch_add(&jobs->next, 1)) < jobs->n)
		run_job(&jobs->v[i], jobs->axis);
	return NULL;
}

static void run_all(struct jobs *jobs, unsigned threads)
{
	pthread_t *helper = mem_zalloc(threads + 1, sizeof *helper);
	unsigned i, n = 0;

	for (i = 1; i < threads && i < jobs->n; i++)
		if (!pthread_create(&helper[n], NULL, worker, jobs))
			n++;
	worker(jobs);
	while (n)
		pthread_join(helper[--n], NULL);
	free(helper);
}

static int add_job(struct whatif *w, struct jobs *jobs, struct whatif_run *r, const struct whatif_trace *t,
		   const struct whatif_options *o, const char *conf, enum whatif_kind kind, struct err *e)
{
	struct job *j = &jobs->v[jobs->n++];
	uint64_t total = o->device_mem ? o->device_mem : t->m->device[t->device].total;
	struct gma_conf own;
	char *text;
	int rc;

	*r = (struct whatif_run){.conf = conf, .kind = kind, .device = t->device, .first_oom_event = -1};
	r->device_mem = o->device_mem || total < t->available ? total : t->available;
	j->t = t;
	j->r = r;
	gma_conf_default(&j->conf);
	if (kind != WHATIF_CACHING)
		return 0;
	own_settings(t->m, &own, &text);
	rc = 0;
	if (!strcmp(conf, w->own_conf))
		j->conf = own;
	else
		rc = parse(conf, total, &j->conf, e);
	settle_limit(&own, total);
	settle_limit(&j->conf, total);
	r->alike = same_decisions(&own, &j->conf);
	r->own = r->alike && own.memory_limit == j->conf.memory_limit && own.gc_threshold == j->conf.gc_threshold;
	r->idle = j->conf.idle ? j->conf.idle : j->conf.release_lock ? "release_lock_on_cudamalloc" : NULL;
	if (j->conf.async)
		r->kind = WHATIF_POOL;
	free(text);
	return rc;
}

static int make_jobs(struct whatif *w, struct jobs *jobs, const struct whatif_options *o, struct err *e)
{
	size_t kinds = o->n_conf ? 0 : 3, i, k, per_trace = w->n_confs + kinds;

	w->n_runs = w->n_traces * per_trace;
	w->runs = mem_zalloc(w->n_runs + 1, sizeof *w->runs);
	w->base = mem_zalloc(w->n_traces + 1, sizeof *w->base);
	jobs->v = mem_zalloc(w->n_runs + w->n_traces + 1, sizeof *jobs->v);
	for (i = 0; i < w->n_traces; i++) {
		const struct whatif_trace *t = &w->traces[i];
		struct whatif_run *r = &w->runs[i * per_trace];

		for (k = 0; k < w->n_confs; k++)
			if (add_job(w, jobs, r++, t, o, w->confs[k], WHATIF_CACHING, e))
				return -1;
		for (k = 0; k < kinds; k++)
			if (add_job(w, jobs, r++, t, o, kind_names[k + 1], (enum whatif_kind)(k + 1), e))
				return -1;
		/* What is compared with: the own settings, from the same start as the others. */
		if (add_job(w, jobs, &w->base[i], t, o, w->own_conf, WHATIF_CACHING, e))
			return -1;
		w->base[i].alike = false;
	}
	return 0;
}

/* --- the advice ------------------------------------------------------------------------------------ */

/* Sum over the devices of configuration k. */
static void sum(const struct whatif *w, const struct whatif_run *runs, size_t step, struct whatif_run *total)
{
	size_t i;

	*total = (struct whatif_run){0};
	for (i = 0; i < w->n_traces; i++) {
		total->reserved_peak += runs[i * step].reserved_peak;
		total->device_allocs += runs[i * step].device_allocs + runs[i * step].device_frees;
		total->ooms += runs[i * step].ooms;
	}
}

static bool better(const struct whatif_run *a, const struct whatif_run *b)
{
	if (!a->ooms != !b->ooms)
		return !a->ooms;
	return a->reserved_peak < b->reserved_peak;
}

/* The configuration that runs through with the least memory, if that is worth a line: it avoids a
 * failure, or saves a hundredth and more than a segment. */
static void recommend(struct whatif *w)
{
	size_t per_trace = w->n_traces ? w->n_runs / w->n_traces : 0, k, best_k = SIZE_MAX;
	struct whatif_run base, best, r;

	w->no_history = true;
	for (k = 0; k < w->n_traces; k++)
		w->no_history = w->no_history && w->traces[k].n == w->traces[k].n_initial;
	if (w->no_history)
		return;
	sum(w, w->base, 1, &base);
	best = base;
	for (k = 0; k < w->n_confs && per_trace; k++) {
		sum(w, &w->runs[k], per_trace, &r);
		if (w->runs[k].kind == WHATIF_CACHING && better(&r, &best)) {
			best = r;
			best_k = k;
		}
	}
	if (best_k == SIZE_MAX)
		return;
	w->avoids_oom = base.ooms && !best.ooms;
	if (!w->avoids_oom && (base.ooms || base.reserved_peak - best.reserved_peak < base.reserved_peak / 100 + GMA_SMALL_SEGMENT))
		return;
	w->recommended = w->confs[best_k];
	w->saves_bytes = best.reserved_peak < base.reserved_peak ? base.reserved_peak - best.reserved_peak : 0;
}

static void compile_all(struct whatif *w, const struct model *m, int device, const struct gma_conf *own)
{
	int d;

	w->traces = mem_zalloc(256, sizeof *w->traces);
	for (d = 0; d < MODEL_NO_DEVICE; d++)
		if ((device < 0 || d == device) && m->device[d].present && has_requests(m, (uint8_t)d))
			whatif_compile(&w->traces[w->n_traces++], m, (uint8_t)d, own, &w->fidelity);
}

int whatif_make(struct whatif *w, const struct model *m, const struct whatif_options *o, struct err *e)
{
	struct jobs jobs = {.axis = o->axis};
	struct gma_conf own;
	int rc;

	*w = (struct whatif){0};
	own_settings(m, &own, &w->own_conf);
	choose_confs(w, o, &own);
	compile_all(w, m, o->device, &own);
	rc = make_jobs(w, &jobs, o, e);
	if (!rc) {
		run_all(&jobs, o->threads ? o->threads : 1);
		recommend(w);
	}
	free(jobs.v);
	if (rc)
		whatif_free(w);
	return rc;
}

void whatif_free(struct whatif *w)
{
	size_t i;

	for (i = 0; i < w->n_traces; i++)
		whatif_trace_free(&w->traces[i]);
	for (i = 0; w->base && i < w->n_traces; i++)
		free(w->base[i].curve);
	for (i = 0; w->runs && i < w->n_runs; i++)
		free(w->runs[i].curve);
	for (i = 0; i < w->n_confs; i++)
		free(w->confs[i]);
	free(w->traces);
	free(w->runs);
	free(w->base);
	free(w->confs);
	free(w->own_conf);
	*w = (struct whatif){0};
}
