/* torch.c: a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot, or the bare list of
 * torch.cuda.memory_snapshot) becomes a model.
 *
 * The pickle machine has filled the model's rows, segments and blocks in the order of the file.
 * Here the traces that count get their devices, are merged by time and get what only the whole
 * file tells: time zero, streams and pools per device, phases, the state before the first event.
 */
#include "format/torch.h"
#include "base/mem.h"
#include "format/format.h"
#include <stdlib.h>
#include <string.h>

/* The rows of one device, as the file has them. */
struct part {
	uint32_t at, end;
	uint8_t device;
	bool host;
};

bool torch_probe(const struct input *in)
{
	return pickle_probe(in->data, in->n);
}

/* --- which rows count, and in which order ---------------------------------------------- */

/* One list may stand for several devices: every part gets rows of its own. */
static struct part own_rows(struct torch *t, const struct part *part, size_t n, struct part p)
{
	uint32_t row, at = (uint32_t)t->m->ev.n;
	size_t i;

	for (i = 0; i < n && (part[i].end <= p.at || part[i].at >= p.end); i++)
		;
	if (i == n)
		return p;
	for (row = p.at; row < p.end && t->n_copied < t->p.in->n; row++, t->n_copied++)
		torch_copy_row(t, row);
	return (struct part){at, (uint32_t)t->m->ev.n, p.device, p.host};
}

static size_t add_parts(struct torch *t, const struct pickle_object *o, bool host, struct part *part,
                        size_t n)
{
	struct torch_range list = {0, 0};
	size_t i;

	if (o->kind == TORCH_IS_TRACES)
		list = t->ranges.v[o->at];
	else if (o->kind == TORCH_IS_ROWS) /* one trace instead of a list of them */
		list.n = 1;
	for (i = 0; i < list.n && n < MODEL_NO_DEVICE + (size_t)host; i++) {
		struct torch_range r =
		    o->kind == TORCH_IS_ROWS ? t->ranges.v[o->at] : t->traces.v[list.first + i];

		struct part p = {r.first, r.first + r.n, host ? MODEL_NO_DEVICE : (uint8_t)i, host};

		if (!r.n)
			continue;
		part[n] = own_rows(t, part, n, p);
		n++;
	}
	return n;
}

/* Entries of the pinned-memory allocator are not device memory. */
static uint8_t host_op(uint8_t op)
{
	if (GMS_OP_KIND(op) == GMS_K_BLOCK)
		return GMS_OP(GMS_K_HOST_BLOCK, GMS_OP_ACTION(op));
	return op;
}

/* The device of a part is known now: the numbers used while reading become the model's. */
static void settle_part(struct torch *t, const struct part *part)
{
	struct columns *c = &t->m->ev;
	uint16_t *stream = mem_zalloc(t->streams.n + 1, sizeof *stream);
	uint32_t row;
	size_t i;

	for (i = 0; i < t->streams.n; i++)
		stream[i] = UINT16_MAX;
	for (row = part->at; row < part->end; row++) {
		uint16_t s = c->stream[row];

		c->device[row] = part->device;
		if (part->host)
			c->op[row] = host_op(c->op[row]);
		if (s < t->streams.n && stream[s] == UINT16_MAX)
			stream[s] = t->m->n_streams > UINT16_MAX /* full: no search through it */
			                ? UINT16_MAX
			                : model_stream(t->m, t->streams.v[s], part->device);
		c->stream[row] = s < t->streams.n ? stream[s] : s;
	}
	free(stream);
}

/* Merge by time; every part keeps its own order. Without times the parts follow each other. */
static uint32_t *merged_order(const struct torch *t, struct part *part, size_t n_parts, size_t n)
{
	const int64_t *time = t->m->ev.t_ns;
	uint32_t *order = mem_alloc(n * sizeof *order);
	size_t i, k, best;

	for (i = 0; i < n; i++) {
		for (best = n_parts, k = 0; k < n_parts; k++)
			if (part[k].at < part[k].end &&
			    (best == n_parts || (t->n_timed && time[part[k].at] < time[part[best].at])))
				best = k;
		order[i] = part[best].at++;
	}
	return order;
}

static void order_rows(struct torch *t)
{
	struct model *m = t->m;
	struct part part[MODEL_NO_DEVICE + 1];
	size_t n_parts = add_parts(t, &t->device_traces, false, part, 0), n = 0, i, row;
	uint32_t *order = NULL;

	n_parts = add_parts(t, &t->host_traces, true, part, n_parts);
	for (i = 0; i < n_parts; i++) {
		settle_part(t, &part[i]);
		n += part[i].end - part[i].at;
	}
	for (i = 0; i < t->marks.n; i++) /* a user_defined entry is about its row's device */
		if (t->marks.v[i].row != UINT32_MAX)
			t->marks.v[i].device = m->ev.device[t->marks.v[i].row];
	if (n_parts > 1 || n != m->ev.n) {
		order = merged_order(t, part, n_parts, n);
		model_reorder(m, order, n);
	}
	for (row = 0; t->ooms.n && row < n; row++) {
		const uint32_t *oom = map64_find(&t->ooms.at, order ? order[row] : row);

		if (oom)
			model_fail(m, row, 2, t->ooms.v[*oom], MODEL_UNKNOWN);
	}
	free(order);
}

/* --- time ------------------------------------------------------------------------------ */

static void set_times(struct torch *t)
{
	struct model *m = t->m;
	int64_t *time = m->ev.t_ns, zero = INT64_MAX, last = INT64_MIN;
	size_t i;

	m->has_time = t->n_timed > 0;
	for (i = 0; i < m->ev.n && m->has_time; i++) {
		zero = time[i] && time[i] < zero ? time[i] : zero; /* 0: before the first entry with a time */
		last = time[i] > last ? time[i] : last;
	}
	for (i = 0; i < t->marks.n && (m->has_time || !m->ev.n); i++) {
		zero = t->marks.v[i].time_us < zero ? t->marks.v[i].time_us : zero;
		last = t->marks.v[i].time_us > last ? t->marks.v[i].time_us : last;
	}
	for (i = 0; i < m->ev.n; i++)
		time[i] = !m->has_time ? (int64_t)i : time[i] ? (time[i] - zero) * 1000 : 0;
	if (zero == INT64_MAX || (!m->has_time && m->ev.n)) {
		m->duration_ns = m->ev.n ? (int64_t)m->ev.n - 1 : 0;
		return;
	}
	m->start_wall_ns = zero * 1000;
	m->duration_ns = (last - zero) * 1000;
}

/* START opens a phase, END closes the latest open one of that name on that device. */
static void add_phases(struct torch *t)
{
	struct model *m = t->m;
	struct map64 open = {0}; /* (name, device) → the latest open phase + 1 */
	uint32_t *outer = mem_zalloc(t->marks.n, sizeof *outer), *at;
	bool fresh;
	size_t i;

	for (i = 0; i < t->marks.n && (m->has_time || !m->ev.n); i++) {
		const struct torch_mark *mark = &t->marks.v[i];
		int64_t when = mark->time_us * 1000 - m->start_wall_ns;

		at = map64_put(&open, (uint64_t)mark->name << 8 | mark->device, &fresh);
		if (mark->stage == TORCH_END) {
			if (fresh || !*at)
				continue; /* it began before the recording */
			m->phases[*at - 1].end_ns = when;
			*at = outer[*at - 1];
			continue;
		}
		*VEC_PUSH(m->phases, m->n_phases, m->cap_phases) =
		    (struct phase){.name = mark->name,
		                   .device = mark->device,
		                   .begin_ns = when,
		                   .end_ns = mark->stage == TORCH_START ? INT64_MAX : when};
		if (mark->stage == TORCH_START) {
			outer[m->n_phases - 1] = fresh ? 0 : *at;
			*at = (uint32_t)m->n_phases;
		} else if (fresh) {
			*at = 0;
		}
	}
	map64_free(&open);
	free(outer);
}

/* --- segments and pools ---------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct final_segment *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static struct torch_range segments_in(const struct torch *t, const struct pickle_object *list)
{
	return list->kind == TORCH_IS_SEGMENTS ? t->ranges.v[list->at] : (struct torch_range){0, 0};
}

/* Keep the segments that the file's top level has, sorted by device and address: those of pinned host memory
 * are the last, until what was before the first event is known. */
static int keep_segments(struct torch *t)
{
	struct model *m = t->m;
	struct torch_range device = segments_in(t, &t->segments), host = segments_in(t, &t->host_segments);
	size_t i, n = (size_t)device.n + host.n;
	struct final_segment *kept = mem_alloc(n * sizeof *kept);

	if (device.n)
		memcpy(kept, m->segments + device.first, device.n * sizeof *kept);
	for (i = 0; i < device.n; i++)
		if (kept[i].device == MODEL_NO_DEVICE) {
			free(kept);
			return err_set(t->p.e, ERR_INPUT, t->p.in->name, -1, "the snapshot has a segment on a device below 0");
		}
	for (i = device.n; i < n; i++) {
		kept[i] = m->segments[host.first + i - device.n];
		kept[i].device = MODEL_NO_DEVICE;
		kept[i].stream = kept[i].pool = 0;
	}
	free(m->segments);
	m->segments = kept;
	m->n_segments = m->cap_segments = n;
	for (i = 1; i < n; i++)
		if (by_address(&kept[i - 1], &kept[i]) > 0) {
			qsort(kept, n, sizeof *kept, by_address);
			break;
		}
	return 0;
}

/* The blocks of segments that were not kept go. */
static void keep_blocks(struct model *m)
{
	struct final_block *kept;
	size_t i, n = 0, total = 0;

	for (i = 0; i < m->n_segments; i++)
		total += m->segments[i].n_blocks;
	if (total >= m->n_blocks)
		return;
	kept = mem_alloc(total * sizeof *kept);
	for (i = 0; i < m->n_segments; i++) {
		struct final_segment *s = &m->segments[i];

		if (s->n_blocks)
			memcpy(kept + n, m->blocks + s->first_block, s->n_blocks * sizeof *kept);
		s->first_block = (uint32_t)n;
		n += s->n_blocks;
	}
	free(m->blocks);
	m->blocks = kept;
	m->n_blocks = m->cap_blocks = n;
}

static void drop_host_segments(struct model *m)
{
	while (m->n_segments && m->segments[m->n_segments - 1].device == MODEL_NO_DEVICE)
		m->n_segments--;
}

/* Small or large, for pools of the rows: the allocator serves up to 1 MiB from segments of 2 MiB. */
static uint8_t smallness(uint8_t op, uint64_t size)
{
	if (GMS_OP_KIND(op) == GMS_K_BLOCK && GMS_OP_ACTION(op) != GMS_A_FAIL)
		return size <= 1 << 20 ? 1 : 2;
	if (GMS_OP_KIND(op) == GMS_K_SEGMENT && GMS_OP_ACTION(op) != GMS_A_UNMAP)
		return size <= 2 << 20 ? 1 : 2;
	return 0;
}

static const struct final_segment *segment_of(const struct model *m, uint8_t device, uint64_t addr)
{
	struct final_segment key = {.device = device, .addr = addr};
	size_t lo = 0, hi = m->n_segments;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (by_address(&m->segments[mid], &key) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || m->segments[lo - 1].device != device ||
	    addr - m->segments[lo - 1].addr >= m->segments[lo - 1].size)
		return NULL;
	return &m->segments[lo - 1];
}

/* model_pool for rows: few pools, many rows, and no search through a table that someone filled up. */
struct pool_cache {
	struct map64 at;
	uint64_t last_key;
	uint16_t last;
};

static uint16_t pool_of(struct model *m, struct pool_cache *cache, const uint64_t id[2], uint8_t device,
                        uint8_t small)
{
	uint64_t key = hash_u64(id[0] ^ hash_u64(id[1])) ^ (uint64_t)device << 2 ^ small;
	bool fresh;
	uint32_t *at;

	if (key == cache->last_key && cache->at.n)
		return cache->last;
	at = map64_put(&cache->at, key, &fresh);
	if (fresh)
		*at = m->n_pools > UINT16_MAX
		          ? UINT16_MAX
		          : model_pool(m, &(struct pool_info){
		                              .id = {id[0], id[1]}, .device = device, .small = small});
	cache->last_key = key;
	return cache->last = (uint16_t)*at;
}

/* Since which row each segment is there that the recording shows being got: its address may have been another
 * segment's before. */
static void segments_since(const struct model *m, struct map64 *since)
{
	const struct columns *c = &m->ev;
	size_t row;
	bool fresh;

	for (row = 0; row < c->n; row++)
		if (c->op[row] == GMS_OP(GMS_K_SEGMENT, GMS_A_ALLOC))
			*map64_put(since, c->addr[row] ^ (uint64_t)c->device[row] << 56, &fresh) =
			    (uint32_t)row;
}

/* The segment at the end that a row belongs to, NULL if it is not known. */
static const struct final_segment *segment_at(const struct model *m, struct map64 *since, size_t row)
{
	const struct final_segment *s = segment_of(m, m->ev.device[row], m->ev.addr[row]);
	const uint32_t *from = s ? map64_find(since, s->addr ^ (uint64_t)s->device << 56) : NULL;

	return from && row < *from ? NULL : s;
}

/* The pool of every row. Files from before pool_id say it of segments only: where no private pool is
 * left at the end all rows are of the default pool, else the segment at the row's address tells. */
static void set_pools(struct torch *t)
{
	struct model *m = t->m;
	struct columns *c = &m->ev;
	struct pool_cache cache[3] = {0}; /* by smallness: both kinds take turns */
	struct map64 since = {0};
	bool several = false;
	size_t i, row;

	for (i = 0; i < m->n_segments; i++)
		several |= m->pools[m->segments[i].pool].id[0] || m->pools[m->segments[i].pool].id[1];
	if (several && !t->pools_told)
		segments_since(m, &since);
	for (row = 0; row < c->n; row++) {
		const uint64_t *id = t->pairs.v[c->pool[row]].id;
		uint8_t small = smallness(c->op[row], c->size[row]);

		c->pool[row] = 0;
		if (!small || c->device[row] == MODEL_NO_DEVICE)
			continue;
		if (several && !t->pools_told) {
			const struct final_segment *s = segment_at(m, &since, row);

			if (!s)
				continue;
			id = m->pools[s->pool].id;
		}
		c->pool[row] = pool_of(m, &cache[small], id, c->device[row], small);
	}
	for (i = 0; i < 3; i++)
		map64_free(&cache[i].at);
	map64_free(&since);
}

/* --- what the file can tell of the past ------------------------------------------------ */

static void judge_history(struct torch *t)
{
	struct model *m = t->m;
	const uint8_t *device = m->ev.device;
	size_t count[256] = {0}, row, most = 0, before = 0, host_before = 0;

	for (row = 0; row < m->n_initial; row++)
		*(device[row] == MODEL_NO_DEVICE ? &host_before : &before) += 1;
	for (; row < m->ev.n; row++) {
		size_t n = ++count[device[row]];

		most = n > most ? n : most;
	}
	/* Pinned memory may be recorded from later on, or as a state only: it says nothing of the devices. */
	if (count[MODEL_NO_DEVICE] == m->ev.n - m->n_initial)
		before += host_before;
	m->history = most <= 1                 ? HISTORY_NONE /* one event: a ring of size 1 */
	             : before || t->overflowed ? HISTORY_PARTIAL
	                                       : HISTORY_COMPLETE;
	if (t->overflowed)
		model_note(m, NOTE_INFO, "the recorder's ring was full: its oldest events were overwritten");
}

/* Several snapshots stand side by side in some other object. */
static bool has_several(const struct torch *t, pickle_word top)
{
	return t->n_tops > 1 && !pickle_is(&t->p, top, TORCH_IS_TOP);
}

/* Is there a snapshot, and is it clear which one is meant? torch.cuda.memory_snapshot() gives just a list
 * of segments. */
static int choose_snapshot(struct torch *t, pickle_word top)
{
	const struct pickle_object *o = pickle_tag(top) == PICKLE_OBJECT ? pickle_object(&t->p, top) : NULL;
	const char *name = t->p.in->name;
	unsigned n = t->n_tops;

	if (o && (o->kind == TORCH_IS_SEGMENTS || o->kind == PICKLE_EMPTY_LIST)) {
		t->segments = *o;
		t->has_segments = true;
		n = 1;
	}
	if (!n)
		return err_set(
		    t->p.e, ERR_INPUT, name, -1,
		    "a pickle, but no PyTorch memory snapshot: it has neither segments nor device_traces");
	if (t->wanted > n)
		return err_set(t->p.e, ERR_INPUT, name, -1, "the pickle holds %u snapshot%s, counted from 0", n,
		               n == 1 ? "" : "s");
	if (n > 1 && has_several(t, top) && !t->wanted)
		return err_set(t->p.e, ERR_INPUT, name, -1,
		               "a pickle with %u PyTorch memory snapshots; name one by a number behind the file's "
		               "name, #0 to #%u",
		               n, n - 1);
	return 0;
}

static int assemble(struct torch *t, pickle_word top)
{
	struct model *m = t->m;
	size_t left;

	if (choose_snapshot(t, top))
		return -1;
	for (left = 0; t->p.at + left < t->p.end && !t->p.at[left];)
		left++;
	if (t->p.at + left < t->p.end)
		model_note(m, NOTE_WARNING, "%td bytes after the end of the pickle are left out",
		           t->p.end - t->p.at);
	m->source = SOURCE_TORCH;
	if (keep_segments(t))
		return -1;
	keep_blocks(m);
	order_rows(t);
	set_times(t);
	add_phases(t);
	set_pools(t);
	torch_undo(t);
	drop_host_segments(m);
	judge_history(t);
	torch_note_unused(t);
	return 0;
}

static void torch_free(struct torch *t)
{
	size_t i;

	for (i = 0; i < t->texts.n; i++)
		free(t->texts.v[i]);
	free(t->texts.v);
	free(t->sites.v);
	free(t->sites.words);
	free(t->sites.slot);
	free(t->sites.frames);
	free(t->ranges.v);
	free(t->traces.v);
	free(t->pairs.v);
	map64_free(&t->pairs.at);
	free(t->past.v);
	free(t->ooms.v);
	map64_free(&t->ooms.at);
	free(t->marks.v);
	free(t->streams.v);
	map64_free(&t->streams.at);
	pickle_close(&t->p);
}

static int run(struct torch *t, const struct input *in, pickle_word *top, struct err *e)
{
	struct pickle_client client;

	torch_client(t, &client);
	pickle_open(&t->p, in, &client, e);
	torch_intern_words(t);
	model_reserve(t->m, in->n / 120); /* an entry with its stack; more rows cost one more round */
	return pickle_run(&t->p, top);
}

int torch_read(const struct input *in, struct model *m, struct err *e)
{
	struct torch t = {.m = m, .wanted = in->part};
	pickle_word top;
	int rc = run(&t, in, &top, e);

	if (!rc)
		rc = assemble(&t, top);
	torch_free(&t);
	return rc;
}

unsigned torch_count(const struct input *in)
{
	struct model m;
	struct torch t = {.m = &m};
	struct err e;
	pickle_word top;
	unsigned n = 1;

	model_init(&m, in->name);
	if (!run(&t, in, &top, &e) && has_several(&t, top))
		n = t.n_tops;
	torch_free(&t);
	model_free(&m);
	return n;
}
