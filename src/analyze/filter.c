/* filter.c: conditions → which rows stay → the model with only those rows. */
#include "analyze/filter_sieve.h"
#include "analyze/group.h"
#include "base/mem.h"
#include "base/text.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

const char *const filter_key_name[KEYS] = {"device", "stream",   "thread", "pool",   "kind", "size",
                                           "time",   "function", "file",   "module", "phase"};

static bool is_text(enum key k)
{
	return k >= KEY_FUNCTION;
}

static bool parse_op(const char **s, enum op *op)
{
	static const struct {
		const char *text;
		enum op op;
	} ops[] = {{"!~", OP_NO_MATCH}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE},
	           {"~", OP_MATCH},     {"=", OP_EQ},  {"<", OP_LT},  {">", OP_GT}};
	size_t i;

	for (i = 0; i < sizeof ops / sizeof *ops; i++)
		if (!strncmp(*s, ops[i].text, strlen(ops[i].text))) {
			*s += strlen(ops[i].text);
			*op = ops[i].op;
			return true;
		}
	return false;
}

static bool parse_key(const char **s, enum key *key)
{
	size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz");
	unsigned k;

	for (k = 0; k < KEYS; k++)
		if (strlen(filter_key_name[k]) == n && !strncmp(*s, filter_key_name[k], n)) {
			*s += n;
			*key = (enum key)k;
			return true;
		}
	return false;
}

static bool fits(enum key key, enum op op)
{
	if (is_text(key))
		return op == OP_MATCH || op == OP_NO_MATCH;
	if (key == KEY_TIME)
		return op >= OP_LT && op <= OP_GE;
	return key == KEY_SIZE ? op < OP_MATCH : op == OP_EQ || op == OP_NE;
}

static bool is_kind(const char *s, size_t n)
{
	unsigned k;

	for (k = 0; k < GMS_KINDS; k++)
		if (strlen(gms_kind_info[k].name) == n && !strncmp(s, gms_kind_info[k].name, n))
			return true;
	return false;
}

static bool is_number(const char *s, size_t n)
{
	char *end;

	if (!n || *s < '0' || *s > '9')
		return false;
	strtoull(s, &end, 0);
	return end == s + n;
}

/* Devices and streams are numbers, kinds have names: anything else between the bars is a slip. */
static int check_list(const struct condition *c, const char *text, struct err *e)
{
	const char *v = c->value;
	size_t n;

	for (;; v += n + 1) {
		n = strcspn(v, "|");
		if (c->key == KEY_KIND ? !is_kind(v, n) : !is_number(v, n))
			return err_set(e, ERR_USAGE, NULL, -1, "filter '%s': '%.*s' is no %s", text, (int)n, v,
			               c->key == KEY_KIND ? "kind of memory (device, async, managed, block, ...)"
			                                  : "number");
		if (!v[n])
			return 0;
	}
}

static int parse_value(struct condition *c, const char *text, struct err *e)
{
	char why[128];
	int64_t ns;
	int rc;

	if (c->key == KEY_DEVICE || c->key == KEY_STREAM || c->key == KEY_KIND)
		return check_list(c, text, e);
	if (c->key == KEY_SIZE && !text_parse_bytes(c->value, &c->number))
		return err_set(e, ERR_USAGE, NULL, -1, "filter '%s': '%s' is not a size", text, c->value);
	if (c->key == KEY_TIME) {
		if (!text_parse_ns(c->value, &ns))
			return err_set(e, ERR_USAGE, NULL, -1, "filter '%s': '%s' is not a time", text,
			               c->value);
		c->number = (uint64_t)ns;
	}
	if (!is_text(c->key))
		return 0;
	rc = regcomp(&c->regex, c->value, REG_EXTENDED | REG_NOSUB);
	if (!rc)
		return 0;
	regerror(rc, &c->regex, why, sizeof why);
	return err_set(e, ERR_USAGE, NULL, -1, "filter '%s': %s", text, why);
}

int filter_add(struct filter *f, const char *text, struct err *e)
{
	struct condition c = {0};
	const char *s = text;

	if (!parse_key(&s, &c.key))
		return err_set(
		    e, ERR_USAGE, NULL, -1,
		    "filter '%s': starts with none of device, stream, thread, pool, kind, size, time, "
		    "function, file, module, phase",
		    text);
	if (!parse_op(&s, &c.op) || !fits(c.key, c.op))
		return err_set(e, ERR_USAGE, NULL, -1, "filter '%s': after %s comes %s", text,
		               filter_key_name[c.key],
		               is_text(c.key)      ? "~ or !~"
		               : c.key == KEY_SIZE ? "=, !=, <, <=, > or >="
		               : c.key == KEY_TIME ? "<, <=, > or >="
		                                   : "= or !=");
	c.text = mem_strdup(text);
	c.value = c.text + (s - text);
	if (parse_value(&c, text, e)) {
		free(c.text);
		return -1;
	}
	*VEC_PUSH(f->conditions, f->n, f->cap) = c;
	return 0;
}

void filter_free(struct filter *f)
{
	size_t i;

	for (i = 0; i < f->n; i++) {
		if (is_text(f->conditions[i].key))
			regfree(&f->conditions[i].regex);
		free(f->conditions[i].text);
	}
	free(f->conditions);
	*f = (struct filter){0};
}

/* --- does a row meet the conditions? --- */

static bool compare(enum op op, uint64_t have, uint64_t want)
{
	switch (op) {
	case OP_EQ:
		return have == want;
	case OP_NE:
		return have != want;
	case OP_LT:
		return have < want;
	case OP_LE:
		return have <= want;
	case OP_GT:
		return have > want;
	default:
		return have >= want;
	}
}

/* Is the word, or the number, one of the values between the bars? */
static bool listed(const char *values, const char *word, uint64_t number)
{
	while (*values) {
		size_t n = strcspn(values, "|");
		char *end;

		if (word && *word && strlen(word) == n && !strncmp(values, word, n))
			return true;
		if (n && strtoull(values, &end, 0) == number && end == values + n)
			return true;
		values += n + (values[n] == '|');
	}
	return false;
}

static const char *frame_text(const struct model *m, uint32_t id, enum key key)
{
	const struct frame *f = &m->frames.v[id];

	return model_text(m, key == KEY_FUNCTION ? f->function : key == KEY_FILE ? f->file : f->module);
}

static bool stack_matches(struct sieve *s, size_t i, uint32_t stack)
{
	const struct condition *c = &s->f->conditions[i];
	size_t n, k;
	const uint32_t *frame = model_stack_frames(s->m, stack, &n);
	bool match = false;

	if (!s->by_stack[i])
		s->by_stack[i] = mem_zalloc(s->m->stacks.n, 1);
	if (s->by_stack[i][stack])
		return s->by_stack[i][stack] == 2;
	for (k = 0; k < n && !match; k++)
		match = !regexec(&c->regex, frame_text(s->m, frame[k], c->key), 0, NULL, 0);
	s->by_stack[i][stack] = match ? 2 : 1;
	return match;
}

static bool pool_listed(const struct model *m, size_t row, const char *values)
{
	const struct pool_info *p = &m->pools[m->ev.pool[row]];
	const char *size = p->small == 1 ? "small" : p->small == 2 ? "large" : "";

	return listed(values, size, p->handle ? p->handle : p->id[1]);
}

bool filter_meets(struct sieve *s, size_t i, size_t row)
{
	const struct condition *c = &s->f->conditions[i];
	const struct columns *ev = &s->m->ev;
	const struct thread_info *thread = &s->m->threads[ev->thread[row]];
	const char *phase;

	switch (c->key) {
	case KEY_DEVICE:
		return listed(c->value, NULL, ev->device[row]) == (c->op == OP_EQ);
	case KEY_STREAM:
		return listed(c->value, NULL, s->m->streams[ev->stream[row]].handle) == (c->op == OP_EQ);
	case KEY_THREAD:
		return listed(c->value, model_text(s->m, thread->name), thread->tid) == (c->op == OP_EQ);
	case KEY_POOL:
		return pool_listed(s->m, row, c->value) == (c->op == OP_EQ);
	case KEY_KIND:
		return listed(c->value, gms_kind_info[model_kind(s->m, row)].name, UINT64_MAX) ==
		       (c->op == OP_EQ);
	case KEY_SIZE:
		return compare(c->op, ev->size[row], c->number);
	case KEY_TIME:
		return true; /* not of a block, but of the window */
	case KEY_PHASE:
		phase = s->phase[row] ? model_text(s->m, s->m->phases[s->phase[row] - 1].name) : "";
		return !regexec(&c->regex, phase, 0, NULL, 0) == (c->op == OP_MATCH);
	default:
		return stack_matches(s, i, ev->stack[row]) == (c->op == OP_MATCH);
	}
}

bool filter_is_block(const struct model *m, size_t row)
{
	enum gms_kind kind = model_kind(m, row);
	enum gms_action action = GMS_OP_ACTION(m->ev.op[row]);

	return (action == GMS_A_ALLOC || action == GMS_A_FAIL) && kind != GMS_K_SEGMENT && kind != GMS_K_POOL &&
	       kind != GMS_K_CONTEXT;
}

/* Blocks and failed requests answer to every condition; what is about a whole device to the coarse ones. */
static bool passes(struct sieve *s, size_t row)
{
	bool block = filter_is_block(s->m, row);
	size_t i;

	if (!block && !s->whole)
		return false;
	for (i = 0; i < s->f->n; i++)
		if ((block || s->f->conditions[i].key == KEY_DEVICE) && !filter_meets(s, i, row))
			return false;
	return true;
}

/* --- the model with only the rows that stay --- */

static bool is_free(const struct columns *c, size_t row)
{
	enum gms_action a = GMS_OP_ACTION(c->op[row]);

	return a == GMS_A_FREE || a == GMS_A_FREE_REQUESTED;
}

static void prepare(struct sieve *s, const struct filter *f, const struct model *m)
{
	size_t i;

	*s = (struct sieve){.f = f, .m = m, .from = INT64_MIN, .to = INT64_MAX, .whole = true};
	s->by_stack = mem_zalloc(f->n, sizeof *s->by_stack);
	for (i = 0; i < f->n; i++) {
		const struct condition *c = &f->conditions[i];
		int64_t t = (int64_t)c->number;

		if (c->key == KEY_PHASE && !s->phase)
			s->phase = group_phases(m);
		if (c->key == KEY_TIME && (c->op == OP_GT || c->op == OP_GE))
			s->from = t + (c->op == OP_GT) > s->from ? t + (c->op == OP_GT) : s->from;
		else if (c->key == KEY_TIME)
			s->to = t - (c->op == OP_LT) < s->to ? t - (c->op == OP_LT) : s->to;
		else if (c->key == KEY_DEVICE)
			s->devices = true;
		else
			s->whole = false;
	}
}

/* The rows of the window: [begin, end). */
static void window(const struct sieve *s, size_t *begin, size_t *end)
{
	const struct columns *c = &s->m->ev;

	*begin = s->m->n_initial;
	*end = c->n;
	while (*begin < *end && c->t_ns[*begin] < s->from)
		++*begin;
	while (*end > *begin && c->t_ns[*end - 1] > s->to)
		--*end;
}

/* Behind its end nothing is known, not even that what is live stays so. */
static void find_end(struct sieve *s)
{
	const struct model *m = s->m;
	int64_t last = m->ev.n ? m->ev.t_ns[m->ev.n - 1] : 0;

	s->last = last > m->duration_ns ? last : m->duration_ns;
	s->beyond = s->from > s->last;
}

static bool is_mapping(const struct columns *c, size_t row)
{
	enum gms_action a = GMS_OP_ACTION(c->op[row]);

	return a == GMS_A_MAP || a == GMS_A_UNMAP;
}

/* Which rows stay, and which only because they end a block that does (2). */
static uint8_t *choose(struct sieve *s, size_t begin, size_t end)
{
	const struct columns *c = &s->m->ev;
	uint8_t *stays = mem_zalloc(c->n, 1);
	size_t row;

	for (row = 0; row < end; row++) {
		uint32_t peer = c->peer[row];

		if (is_free(c, row) && peer != MODEL_NO_PEER)
			stays[row] = row >= begin && stays[peer];
		else if (row >= begin || is_mapping(c, row) ||
		         (GMS_OP_ACTION(c->op[row]) == GMS_A_ALLOC && peer >= begin))
			stays[row] = passes(s, row);
	}
	for (row = 0; row < end; row++)
		if (stays[row] == 1 && c->peer[row] < end && c->peer[row] > row && !stays[c->peer[row]])
			stays[c->peer[row]] = 2;
	return stays;
}

static void move_failures(struct model *m, const uint32_t *order, size_t n)
{
	size_t i, k = 0, kept = 0;

	for (i = 0; i < m->n_failures; i++) {
		while (k < n && order[k] < m->failures[i].event)
			k++;
		if (k == n || order[k] != m->failures[i].event)
			continue;
		m->failures[kept] = m->failures[i];
		m->failures[kept++].event = (uint32_t)k;
	}
	m->n_failures = kept;
}

static void narrow(struct model *m, const uint8_t *stays, size_t begin, size_t end)
{
	uint32_t *order = mem_alloc(m->ev.n * sizeof *order);
	size_t row, n = 0, initial = 0, i;

	for (row = 0; row < end; row++) {
		if (!stays[row])
			continue;
		initial += row < begin;
		order[n++] = (uint32_t)row;
	}
	move_failures(m, order, n);
	for (i = 0; i < n; i++)
		if (stays[order[i]] == 2)
			m->ev.op[order[i]] = (uint8_t)((m->ev.op[order[i]] & ~7) | GMS_A_FREE);
	model_reorder(m, order, n);
	m->n_initial = initial;
	free(order);
}

void filter_apply(const struct filter *f, struct model *m)
{
	struct sieve s;
	size_t begin, end, i;
	bool cut;
	uint8_t *stays;

	if (!f->n)
		return;
	prepare(&s, f, m);
	window(&s, &begin, &end);
	find_end(&s);
	begin = s.beyond ? 0 : begin;
	end = s.beyond ? 0 : end;
	cut = end < m->ev.n && !s.beyond;
	stays = choose(&s, begin, end);
	if (!memchr(stays, 1, m->ev.n))
		m->why_nothing = filter_why(&s);
	narrow(m, stays, begin, end);
	if (cut || m->why_nothing || !s.whole || s.devices)
		m->n_segments = m->n_blocks = 0;
	if (cut) {
		m->complete = false;
		free(m->why_incomplete);
		m->why_incomplete = mem_strdup("the time range asked for ends before it does");
	}
	if (!m->why_nothing)
		model_note(m, NOTE_INFO,
		           "Only a part of the recording is shown; event numbers count the events of that part.");
	for (i = 0; i < f->n; i++)
		free(s.by_stack[i]);
	free(s.by_stack);
	free(s.phase);
	free(stays);
	for (i = 0; i < 256; i++)
		m->device[i].present = false;
	m->linked = false;
	m->narrowed = true;
	model_link(m);
}
