/* core_oom.c: why a request could not be served, as numbers and as one sentence. */
#include "alloc/core_internal.h"

static void add_holes(const struct gma_block *t, struct gma_holes *h)
{
	for (; t; t = t->right) {
		h->bytes += t->size;
		h->count++;
		if (t->size > h->largest)
			h->largest = t->size;
		add_holes(t->left, h);
	}
}

static void lane_holes(const struct gma_lane *l, struct gma_holes *h)
{
	unsigned i, j;

	for (i = 0; i < BIN_LEVELS; i++)
		for (j = 0; j < BIN_SUBS && l->subs[i]; j++)
			add_holes(l->bin[i][j], h);
}

/* The holes of a lane's stream and pool (small ones too, which large requests do not get), or of all others; lane
 * NULL: all there are. */
static void holes(const struct gma_core *c, const struct gma_lane *lane, bool others, struct gma_holes *h)
{
	const struct gma_pool *p;
	const struct gma_lane *l;
	int half;

	*h = (struct gma_holes){0};
	for (p = &c->pool; p; p = p->next)
		for (half = 0; half < 2; half++)
			for (l = half ? p->large.lanes : p->small.lanes; l; l = l->next)
				if (!lane || (l->stream == lane->stream && p == lane->half->pool) != others)
					lane_holes(l, h);
}

void gma_core_holes(const struct gma_core *c, struct gma_holes *h)
{
	holes(c, NULL, false, h);
}

/* Whole pages in the free blocks of a segment, wherever in their pages these may begin. */
static uint64_t whole_pages(const struct gma_core *c, const struct gma_segment *s)
{
	uint64_t page = s->lane->half->stat == GMA_STAT_SMALL ? GMA_SMALL_SEGMENT : c->conf.large_segment_size, bytes = 0;
	const struct gma_block *b;

	for (b = s->first; b; b = b->next)
		if (b->state == GMA_FREE && b->size >= 2 * page - GMA_MIN_BLOCK)
			bytes += ((b->size + GMA_MIN_BLOCK) / page - 1) * page;
	return bytes;
}

/* Keep the worst few, those of one user together. */
static void add_pin(struct gma_oom *o, struct gma_pin pin)
{
	const unsigned room = sizeof o->pin / sizeof *o->pin;
	unsigned i;

	for (i = 0; i < o->pins && o->pin[i].user != pin.user; i++)
		;
	if (i < o->pins) {
		pin.count += o->pin[i].count;
		pin.bytes += o->pin[i].bytes;
		pin.keeps += o->pin[i].keeps;
	} else if (o->pins < room) {
		o->pins++;
	} else if (o->pin[--i].keeps >= pin.keeps) {
		return;
	}
	for (; i && o->pin[i - 1].keeps < pin.keeps; i--)
		o->pin[i] = o->pin[i - 1];
	o->pin[i] = pin;
}

/* A segment mostly free that few live blocks keep: its smallest live block tells whose it is. */
static void look_for_pin(const struct gma_segment *s, struct gma_oom *o)
{
	const struct gma_block *b, *least = NULL;
	uint64_t live = 0, keeps = 0;

	for (b = s->first; b; b = b->next) {
		if (b->state == GMA_LIVE || b->state == GMA_PENDING) {
			live += b->size;
			if (!least || b->size < least->size)
				least = b;
		} else if (b->state == GMA_FREE) {
			keeps += b->size;
		}
	}
	if (!least || keeps < 3 * live)
		return;
	o->pinned_bytes += keeps;
	add_pin(o, (struct gma_pin){least->user, 1, least->size, keeps});
}

static enum gma_why reason(const struct gma_oom *o)
{
	uint64_t room = o->device_total - (o->others < o->device_total ? o->others : o->device_total);
	uint64_t want = o->active + o->rounded;

	if (want > o->limit && want <= room)
		return GMA_WHY_LIMIT;
	if (want > o->limit || (o->device_total != GMA_UNLIMITED && want > o->device_total))
		return GMA_WHY_SHORTAGE;
	if (o->device_total != GMA_UNLIMITED && want > room)
		return GMA_WHY_OTHERS;
	if (o->holes.bytes + (o->limit < o->reserved ? 0 : 1) < o->rounded &&
	    o->holes.bytes + o->elsewhere.bytes >= o->rounded && o->elsewhere.bytes > o->holes.bytes)
		return GMA_WHY_STREAMS;
	return GMA_WHY_FRAGMENTATION;
}

/* Would a setting have avoided it? Of expandable segments one can be sure if the pages that could go back are
 * enough for the request behind everything else. */
static enum gma_help help(const struct gma_core *c, const struct gma_oom *o)
{
	uint64_t most = o->device_free != GMA_UNLIMITED ? o->device_free + o->reserved : GMA_UNLIMITED, left;

	if (o->why != GMA_WHY_FRAGMENTATION)
		return GMA_HELP_NONE;
	if (o->holes.largest >= o->rounded && c->conf.max_split_size != GMA_UNLIMITED)
		return GMA_HELP_MAX_SPLIT;
	if (c->conf.expandable || !c->be.map)
		return GMA_HELP_NONE;
	most = most < o->limit ? most : o->limit;
	left = (most > o->reserved ? most - o->reserved : 0) + o->pages;
	return left >= o->rounded + c->conf.large_segment_size ? GMA_HELP_EXPANDABLE : GMA_HELP_EXPANDABLE_MAYBE;
}

void gma_diagnose(struct gma_core *c, const struct gma_request *q, const struct gma_lane *l, uint64_t size)
{
	struct gma_oom *o = &c->oom;
	const struct gma_segment *s;
	uint64_t used;

	*o = (struct gma_oom){.requested = q->size, .rounded = size, .limit = c->limit, .reserved = c->reserved};
	o->segment = gma_segment_size(&c->conf, size);
	o->active = (uint64_t)c->stats.active_bytes[GMA_STAT_ALL].current;
	if (c->be.device_info(c->be.ctx, &o->device_free, &o->device_total)) {
		o->device_free = o->device_total = GMA_UNLIMITED;
	} else {
		used = o->device_total - o->device_free;
		o->others = used > c->reserved ? used - c->reserved : 0;
	}
	holes(c, l, false, &o->holes);
	holes(c, l, true, &o->elsewhere);
	for (s = c->oldest; s; s = s->next) {
		look_for_pin(s, o);
		o->pages += s->expandable ? 0 : whole_pages(c, s);
	}
	o->why = reason(o);
	o->help = help(c, o);
}

const struct gma_oom *gma_core_last_oom(const struct gma_core *c)
{
	return &c->oom;
}

struct sentence {
	char *s;
	size_t n, size;
};

static void say(struct sentence *t, const char *s)
{
	for (; *s && t->n + 1 < t->size; s++)
		t->s[t->n++] = *s;
	if (t->size)
		t->s[t->n] = '\0';
}

static void say_number(struct sentence *t, uint64_t v)
{
	char digits[24], *p = digits + sizeof digits - 1;

	*p = '\0';
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	say(t, p);
}

static void say_bytes(struct sentence *t, uint64_t v)
{
	static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
	unsigned u = 0, cents;
	uint64_t one = 1;

	while (u < 4 && v >= one * 1024) {
		one *= 1024;
		u++;
	}
	say_number(t, v / one);
	if (u) {
		char c[4] = {'.', 0, 0, 0};

		cents = (unsigned)(v % one * 100 / one);
		c[1] = (char)('0' + cents / 10);
		c[2] = (char)('0' + cents % 10);
		say(t, c);
	}
	say(t, units[u]);
}

static void say_fragmentation(struct sentence *t, const struct gma_oom *o, gma_namer name, void *ctx)
{
	static const char *const helps[] = {
		[GMA_HELP_NONE] = "",
		[GMA_HELP_MAX_SPLIT] = "; a larger max_split_size_mb would have avoided it",
		[GMA_HELP_EXPANDABLE] = "; expandable_segments:True would have avoided it",
		[GMA_HELP_EXPANDABLE_MAYBE] = "; expandable_segments:True may avoid it",
	};
	char who[128];
	unsigned i;

	say(t, "fragmentation: ");
	say_bytes(t, o->holes.bytes);
	say(t, " are cached for it, but in ");
	say_number(t, o->holes.count);
	say(t, o->holes.count == 1 ? " piece, of " : " pieces, the largest of ");
	say_bytes(t, o->holes.largest);
	if (o->pins) {
		say(t, "; ");
		say_bytes(t, o->pinned_bytes);
		say(t, " are pinned by small blocks (");
		for (i = 0; i < o->pins; i++) {
			who[0] = '\0';
			if (name)
				name(ctx, o->pin[i].user, who, sizeof who);
			say(t, i ? ", " : "");
			say_bytes(t, o->pin[i].bytes);
			if (o->pin[i].count > 1) {
				say(t, " in ");
				say_number(t, o->pin[i].count);
			}
			say(t, *who ? " from " : "");
			say(t, who);
			say(t, o->pin[i].count > 1 ? " keep " : " keeps ");
			say_bytes(t, o->pin[i].keeps);
		}
		say(t, ")");
	}
	say(t, helps[o->help]);
}

size_t gma_core_explain(const struct gma_oom *o, gma_namer name, void *ctx, char *buf, size_t size)
{
	struct sentence t = {buf, 0, size};

	say(&t, "out of memory: ");
	say_bytes(&t, o->requested);
	say(&t, " were asked for (");
	say_bytes(&t, o->segment);
	say(&t, " of the device) while ");
	say_bytes(&t, o->active);
	say(&t, " are in use and ");
	say_bytes(&t, o->reserved);
	say(&t, " reserved: ");
	switch (o->why) {
	case GMA_WHY_SHORTAGE:
		say(&t, "a real shortage, the device has ");
		say_bytes(&t, o->device_total);
		say(&t, " and no setting would help");
		break;
	case GMA_WHY_LIMIT:
		say(&t, "the limit of ");
		say_bytes(&t, o->limit);
		say(&t, " forbids it though ");
		say_bytes(&t, o->device_free);
		say(&t, " of the device are free; per_process_memory_fraction or memory_limit would have to allow ");
		say_bytes(&t, o->active + o->rounded - o->limit);
		say(&t, " more");
		break;
	case GMA_WHY_OTHERS:
		say(&t, "others hold ");
		say_bytes(&t, o->others);
		say(&t, " of the device's ");
		say_bytes(&t, o->device_total);
		break;
	case GMA_WHY_STREAMS:
		say_bytes(&t, o->elsewhere.bytes);
		say(&t, " are cached for other streams or pools, which this request cannot use; "
			"allocate on fewer streams or empty the cache");
		break;
	case GMA_WHY_FRAGMENTATION:
		say_fragmentation(&t, o, name, ctx);
		break;
	}
	return t.n;
}
