/* torch_read.c: what each dict and list of a PyTorch snapshot becomes.
 *
 * A dict is told by its keys, not by where it stands: an entry has an `action`, a frame a
 * `filename`, and so on; so the order of keys and unknown keys around do not matter. Rows, blocks
 * and segments go to the model at once; what was read under a key that is not the reader's is
 * dropped later, in torch.c.
 */
#include "base/mem.h"
#include "format/torch.h"
#include <stdlib.h>
#include <string.h>

/* A string as a string of the model; 0 for what says nothing. */
uint32_t torch_text_of(struct torch *t, pickle_word w)
{
	struct pickle_string *s;

	if (pickle_tag(w) != PICKLE_STRING)
		return 0;
	s = &t->p.strings[pickle_index(w)];
	if (!s->user && !(s->n == 2 && !memcmp(s->s, "??", 2)))
		s->user = model_string(t->m, (const char *)s->s, s->n);
	return s->user;
}

void torch_intern_words(struct torch *t)
{
	static const char *const word[] = {
#define X(name) #name,
	    TORCH_KEYS(X) TORCH_VALUES(X)
#undef X
	};
	size_t i;

	for (i = 0; i < TORCH_N_WORDS; i++)
		pickle_intern(&t->p, word[i], strlen(word[i]));
	*VEC_PUSH(t->pairs.v, t->pairs.n, t->pairs.cap) = (struct torch_pair){{0, 0}};
}

/* --- dicts ----------------------------------------------------------------------------- */

static bool top_value(const struct torch *t, const struct torch_dict *d, enum torch_word key, struct pickle_object *out)
{
	bool there = d->has >> key & 1 && pickle_tag(d->v[key]) == PICKLE_OBJECT;

	/* what is not there is not an inner snapshot's either */
	*out = there ? *pickle_object(&t->p, d->v[key]) : (struct pickle_object){0};
	return there;
}

/* What was read so far was another snapshot's. */
static void forget(struct torch *t)
{
	t->marks.n = 0;
	t->m->n_settings = 0;
	t->m->unknown_entries = 0;
	t->overflowed = t->pools_told = false;
	memset(t->n_unused, 0, sizeof t->n_unused);
}

static void read_top(struct torch *t, const struct torch_dict *d, struct pickle_object *as)
{
	size_t i;

	as->kind = TORCH_IS_TOP;
	t->n_tops++;
	if (t->wanted && t->n_tops != t->wanted) {
		if (t->n_tops < t->wanted)
			forget(t);
		return;
	}
	t->has_segments = top_value(t, d, TORCH_segments, &t->segments);
	t->has_host_segments = top_value(t, d, TORCH_host_segments, &t->host_segments);
	top_value(t, d, TORCH_device_traces, &t->device_traces);
	top_value(t, d, TORCH_host_traces, &t->host_traces);
	for (i = 0; i < d->n; i++) {
		pickle_word key = d->pairs[2 * i];

		if ((pickle_tag(key) != PICKLE_STRING || pickle_index(key) >= TORCH_N_KEYS) &&
		    t->n_odd_keys++ < 20)
			model_note(t->m, NOTE_INFO,
			           "the key \"%s\" of the snapshot is not understood and left out",
			           model_text(t->m, torch_text_of(t, key)));
	}
}

static int read_dict(void *arg, struct pickle *p, const pickle_word *pairs, size_t n,
                     struct pickle_object *as)
{
	struct torch *t = arg;
	struct torch_dict d;
	size_t i;

	(void)p;
	d.has = 0;
	d.pairs = pairs;
	d.n = n;
	for (i = 0; i < n; i++) {
		pickle_word key = pairs[2 * i];

		if (pickle_tag(key) == PICKLE_STRING && pickle_index(key) < TORCH_N_KEYS) {
			d.has |= 1ull << pickle_index(key);
			d.v[pickle_index(key)] = pairs[2 * i + 1];
		}
	}
	if (HAS(&d, action))
		return torch_read_entry(t, &d, as);
	if (d.has & (BIT(segments) | BIT(device_traces) | BIT(host_segments) | BIT(host_traces)))
		return read_top(t, &d, as), 0;
	if (HAS(&d, filename))
		return torch_read_frame(t, &d, as);
	if (HAS(&d, state) && HAS(&d, size))
		return torch_read_block(t, &d, as);
	if (HAS(&d, blocks) || HAS(&d, total_size))
		return torch_read_segment(t, &d, as);
	if (HAS(&d, real_size))
		return torch_read_past(t, &d, as);
	if (HAS(&d, stage) && HAS(&d, name))
		return torch_read_annotation(t, &d);
	if (d.has & (BIT(PYTORCH_CUDA_ALLOC_CONF) | BIT(max_split_size) | BIT(expandable_segments) |
	             BIT(garbage_collection_threshold) | BIT(roundup_power2_divisions)))
		return torch_read_settings(t, &d);
	return d.has || !n ? 0 : torch_read_roundup(t, &d, as);
}

/* --- lists ----------------------------------------------------------------------------- */

/* The kind of list that begins with such an item. */
static unsigned list_of(unsigned item)
{
	switch (item) {
	case TORCH_IS_FRAME:
		return TORCH_IS_STACK;
	case TORCH_IS_ENTRY:
		return TORCH_IS_ROWS;
	case TORCH_IS_BLOCK:
		return TORCH_IS_BLOCKS;
	case TORCH_IS_SEGMENT:
		return TORCH_IS_SEGMENTS;
	case TORCH_IS_ROWS:
	case PICKLE_EMPTY_LIST:
		return TORCH_IS_TRACES;
	case TORCH_IS_PAST:
		return TORCH_IS_PAST;
	default:
		return PICKLE_OPAQUE;
	}
}

/* A copy behind everything of its kind. */
static uint32_t copy_item(struct torch *t, unsigned kind, uint32_t at)
{
	struct model *m = t->m;

	t->n_copied++;
	if (kind == TORCH_IS_ROWS)
		return torch_copy_row(t, at);
	if (kind == TORCH_IS_BLOCKS) {
		struct final_block b = m->blocks[at];

		*VEC_PUSH(m->blocks, m->n_blocks, m->cap_blocks) = b;
		return (uint32_t)m->n_blocks - 1;
	}
	if (kind == TORCH_IS_SEGMENTS) {
		struct final_segment s = m->segments[at];

		*VEC_PUSH(m->segments, m->n_segments, m->cap_segments) = s;
		return (uint32_t)m->n_segments - 1;
	}
	struct torch_range r = t->traces.v[at];
	*VEC_PUSH(t->traces.v, t->traces.n, t->traces.cap) = r;
	return (uint32_t)t->traces.n - 1;
}

/* Where an item is, as a list of its kind counts places. A trace gets one here. */
static uint32_t place_of(struct torch *t, unsigned kind, const struct pickle_object *o)
{
	if (kind != TORCH_IS_TRACES)
		return o->at;
	*VEC_PUSH(t->traces.v, t->traces.n, t->traces.cap) =
	    o->kind == TORCH_IS_ROWS ? t->ranges.v[o->at] : (struct torch_range){0, 0};
	return (uint32_t)t->traces.n - 1;
}

/* Rows, blocks, segments and traces: a list is a range of them. They come in order, so the range
 * grows by itself; a list that shares items with another one, or has one twice, moves to the end. */
static enum pickle_answer extend(struct torch *t, const struct pickle_object *list, const pickle_word *item,
                                 size_t n)
{
	static const struct pickle_object none = {.kind = PICKLE_OPAQUE};
	struct torch_range r = t->ranges.v[list->at];
	size_t i, k;

	for (i = 0; i < n; i++) {
		const struct pickle_object *o =
		    pickle_tag(item[i]) == PICKLE_OBJECT ? pickle_object(&t->p, item[i]) : &none;
		uint32_t at;

		if (list_of(o->kind) != list->kind && list->kind != TORCH_IS_TRACES) {
			t->m->unknown_entries++;
			continue;
		}
		at = place_of(t, list->kind, o);
		if (r.n && at != r.first + r.n) {
			uint32_t moved = copy_item(t, list->kind, r.first);

			for (k = 1; k < r.n; k++)
				copy_item(t, list->kind, r.first + (uint32_t)k);
			r.first = moved;
			at = copy_item(t, list->kind, at);
		}
		if (t->n_copied > t->p.in->n)
			return pickle_fail(
			           &t->p,
			           "lists of the snapshot share items in a way this reader cannot follow"),
			       PICKLE_ERROR;
		if (!r.n)
			r.first = at;
		r.n++;
	}
	t->ranges.v[list->at] = r;
	return PICKLE_TAKEN;
}

/* Two integers are a pool id. */
static bool read_pair(struct torch *t, struct pickle_object *list, const pickle_word *item)
{
	struct torch_pair pair;
	uint64_t key;
	uint32_t *at;
	bool fresh;

	if (!pickle_u64(&t->p, item[0], &pair.id[0]) || !pickle_u64(&t->p, item[1], &pair.id[1]))
		return false;
	for (key = hash_u64(pair.id[0] ^ hash_u64(pair.id[1]));; key++) {
		at = map64_put(&t->pairs.at, key, &fresh);
		if (fresh || !memcmp(&t->pairs.v[*at], &pair, sizeof pair))
			break;
	}
	if (fresh) {
		*at = (uint32_t)t->pairs.n;
		*VEC_PUSH(t->pairs.v, t->pairs.n, t->pairs.cap) = pair;
	}
	list->kind = TORCH_IS_PAIR;
	list->at = *at;
	return true;
}

static uint32_t new_range(struct torch *t)
{
	*VEC_PUSH(t->ranges.v, t->ranges.n, t->ranges.cap) = (struct torch_range){0, 0};
	return (uint32_t)t->ranges.n - 1;
}

static enum pickle_answer read_list(void *arg, struct pickle *p, struct pickle_object *list,
                                    const pickle_word *item, size_t n, enum pickle_part part)
{
	struct torch *t = arg;
	uint32_t site;

	if (list->kind == TORCH_IS_STACK)
		return PICKLE_KEEP;
	if (list->kind == PICKLE_EMPTY_LIST && n) {
		bool object = pickle_tag(item[0]) == PICKLE_OBJECT;
		unsigned kind = object ? list_of(pickle_object(p, item[0])->kind) : PICKLE_OPAQUE;

		if (part == PICKLE_ONE && (kind == TORCH_IS_STACK || !object))
			return PICKLE_KEEP;
		if (kind == TORCH_IS_STACK && !torch_find_site(t, item, n, &site))
			kind = PICKLE_OPAQUE;
		list->kind = kind;
		list->at = kind == TORCH_IS_STACK ? site : 0;
		if (kind == TORCH_IS_PAST)
			list->at = pickle_object(p, item[0])->at; /* the latest comes first */
		else if (kind == PICKLE_OPAQUE && n == 2 && !object)
			read_pair(t, list, item);
		else if (kind != TORCH_IS_STACK && kind != PICKLE_OPAQUE)
			list->at = new_range(t);
	}
	switch (list->kind) {
	case TORCH_IS_ROWS:
	case TORCH_IS_BLOCKS:
	case TORCH_IS_SEGMENTS:
	case TORCH_IS_TRACES:
		return extend(t, list, item, n);
	default:
		return PICKLE_TAKEN;
	}
}

void torch_client(struct torch *t, struct pickle_client *client)
{
	*client = (struct pickle_client){
	    .dict = read_dict, .list = read_list, .unfold = torch_unfold_stack, .arg = t};
}
