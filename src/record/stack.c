/* stack.c: the call stack of an event as a number: walk, look up, write down once.
 *
 * Stacks are walked by their call frame information (cfi.c); a lane remembers its last walks, and where
 * a walk would be the same again it is not done again. What cannot be walked so is left to libunwind's
 * unw_backtrace, loaded from beside this library with RTLD_LOCAL so that the program's own unwinding is
 * untouched; else to libgcc's. Stacks are known by a 96-bit hash of their words; the table is read
 * without a lock and replaced, never changed, when it grows.
 */
#include "record/pyframes.h"
#include "record/rec.h"
#include "record/resolve.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#define SKIP_MAX 12 /* frames of our own above the program's */

/* --- unwinding -------------------------------------------------------------------------------------- */
typedef int backtrace_fn(void **buffer, int size);
typedef int unwind_callback(void *context, void *arg);
typedef int unwind_backtrace_fn(unwind_callback *, void *);
typedef uintptr_t get_ip_fn(void *context);

static backtrace_fn *unw_backtrace;
static void (*unw_flush)(void *space, uintptr_t lo, uintptr_t hi);
static void **unw_space;
static unwind_backtrace_fn *gcc_backtrace;
static get_ip_fn *gcc_get_ip;

struct gcc_walk {
	uint64_t *word;
	int n, max;
};

static int gcc_step(void *context, void *p)
{
	struct gcc_walk *w = p;

	if (w->n == w->max)
		return 5; /* _URC_END_OF_STACK */
	w->word[w->n++] = gcc_get_ip(context);
	return 0;
}

static int backtrace_into(uint64_t *word, int max)
{
	struct gcc_walk w = {word, 0, max};

	if (unw_backtrace)
		return unw_backtrace((void **)word, max);
	if (gcc_backtrace)
		gcc_backtrace(gcc_step, &w);
	return w.n;
}

/* dlopen a file that lies beside this library. */
static void *open_beside(const char *name)
{
	char path[1024] = "";
	Dl_info self;
	char *slash;

	if (!dladdr(&unw_backtrace, &self) || !self.dli_fname)
		return NULL;
	rec_cat(path, sizeof path, self.dli_fname);
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	rec_cat(path, sizeof path, name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *symbol(void *handle, const char *name)
{
	return handle ? rec_symbol(handle, name) : NULL;
}

/* libunwind has the machine's name in its symbols. */
#ifdef __aarch64__
#define UNW_TARGET "aarch64"
#else
#define UNW_TARGET "x86_64"
#endif

static void find_unwinder(void)
{
	void *h;

	open_beside("liblzma.so.5"); /* or the system's: libunwind asks for it by this name */
	h = open_beside("libunwind.so.8");
	unw_backtrace = (backtrace_fn *)symbol(h, "unw_backtrace");
	unw_flush = (void (*)(void *, uintptr_t, uintptr_t))symbol(h, "_U" UNW_TARGET "_flush_cache");
	unw_space = symbol(h, "_UL" UNW_TARGET "_local_addr_space");
	if (unw_backtrace)
		return;
	h = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	gcc_get_ip = (get_ip_fn *)symbol(h, "_Unwind_GetIP");
	if (gcc_get_ip)
		gcc_backtrace = (unwind_backtrace_fn *)symbol(h, "_Unwind_Backtrace");
}

uint32_t rec_unwinder(void)
{
	return unw_backtrace ? 1 : gcc_backtrace ? 3 : 0;
}

void rec_unwinder_flush(void)
{
	rec_cfi_flush();
	if (unw_flush && unw_space)
		unw_flush(*unw_space, 0, 0);
}

/* The program's frames by libunwind, leaf first, at lane->word; ours are left out. */
static uint32_t unwind_slowly(struct rec_lane *lane, struct rec_site site, bool *cut)
{
	uint64_t *word = lane->word;
	int max = (int)rec_options.depth + SKIP_MAX, n, skip;

	lane->steps = NULL;
	lane->unwinding = true;
	n = backtrace_into(word, max);
	lane->unwinding = false;
	for (skip = 0; skip < n && skip < SKIP_MAX; skip++)
		if (word[skip] == (uint64_t)(uintptr_t)site.pc)
			break;
	if (skip == n || skip == SKIP_MAX) {
		/* It did not get out of here: the caller is all we know. */
		word[0] = (uint64_t)(uintptr_t)site.pc;
		*cut = true;
		return 1;
	}
	*cut = word[n - 1] && !rec_cfi_root(word[n - 1]);
	n -= skip;
	if (n > (int)rec_options.depth) {
		n = (int)rec_options.depth;
		*cut = true;
	}
	if (n > 1 && !word[skip + n - 1]) /* the end of a thread's stack */
		n--;
	memmove(word, word + skip, (size_t)n * sizeof *word);
	return (uint32_t)n;
}

static struct rec_registers registers(struct rec_site site)
{
	return (struct rec_registers){(uintptr_t)site.pc, (uintptr_t)site.frame + 16, (uintptr_t)site.bp};
}

static bool same_registers(const struct rec_registers *a, const struct rec_registers *b)
{
	return a->pc == b->pc && a->sp == b->sp && a->bp == b->bp;
}

static uint32_t words_of(struct rec_lane *lane, uint64_t pc, const struct rec_step *s, uint32_t n)
{
	uint32_t i;

	lane->steps = s;
	lane->word[0] = pc;
	for (i = 0; i < n; i++)
		lane->word[i + 1] = s[i].pc;
	return n + 1;
}

/* Walk, and remember the walk in w. 0 if this stack cannot be walked by its call frame information. */
static uint32_t walk(struct rec_lane *lane, struct rec_walk *w, struct rec_registers start, uint32_t epoch, bool *cut)
{
	int max = (int)rec_options.depth - 1, n;
	bool ended;

	w->n = 0;
	n = rec_cfi_walk(start, lane->step, max, &ended);
	if (n < 0)
		return 0;
	*cut = !ended;
	if (n > 0 && n <= REC_WALK_MAX) {
		w->start = start;
		w->epoch = epoch;
		w->id = 0;
		w->ended = ended;
		memcpy(w->step, lane->step, (size_t)n * sizeof *w->step);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		w->n = (uint32_t)n;
	}
	return words_of(lane, start.pc, lane->step, (uint32_t)n);
}

/* --- the table -------------------------------------------------------------------------------------- */
struct entry {
	uint64_t hash; /* 0 = empty */
	uint32_t check, id;
};
struct table {
	uint64_t mask, count;
	struct entry entry[];
};
static struct table *table;
static uint32_t last_id;

struct key {
	uint64_t hash;
	uint32_t check;
};

static inline uint64_t rotate(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

/* Two independent multiply-xor chains over alternate words. */
static struct key key_of(const uint64_t *word, uint32_t n, uint32_t epoch)
{
	uint64_t a = 0x243f6a8885a308d3ull ^ n, b = 0x13198a2e03707344ull ^ epoch;
	uint32_t i;

	for (i = 0; i + 1 < n; i += 2) {
		a = (rotate(a, 29) ^ word[i]) * 0x9fb21c651e98df25ull;
		b = (rotate(b, 31) ^ word[i + 1]) * 0xd6e8feb86659fd93ull;
	}
	if (i < n)
		a = (rotate(a, 29) ^ word[i]) * 0x9fb21c651e98df25ull;
	a ^= a >> 32;
	b ^= b >> 29;
	return (struct key){((a + rotate(b, 17)) * 0x9e3779b97f4a7c15ull) | 1,
			    (uint32_t)((rotate(a, 41) ^ b) * 0xc2b2ae3d27d4eb4full >> 32)};
}

static uint32_t find(const struct table *t, struct key k)
{
	uint64_t i = k.hash >> 20;

	for (;; i++) {
		const struct entry *e = &t->entry[i & t->mask];
		uint64_t h = __atomic_load_n(&e->hash, __ATOMIC_ACQUIRE);

		if (h == k.hash && e->check == k.check)
			return e->id;
		if (!h)
			return 0;
	}
}

static void insert(struct table *t, struct key k, uint32_t id)
{
	uint64_t i = k.hash >> 20;

	while (t->entry[i & t->mask].hash)
		i++;
	t->entry[i & t->mask].check = k.check;
	t->entry[i & t->mask].id = id;
	__atomic_store_n(&t->entry[i & t->mask].hash, k.hash, __ATOMIC_RELEASE);
	t->count++;
}

static struct table *table_new(uint64_t slots)
{
	struct table *t = rec_memory(sizeof *t + slots * sizeof t->entry[0]);

	if (t)
		t->mask = slots - 1;
	return t;
}

/* Room for one more. The old table stays readable for whoever is in it. */
static bool make_room(void)
{
	struct table *t;
	uint64_t i;

	if (table && table->count * 2 < table->mask)
		return true;
	t = table_new(table ? (table->mask + 1) * 4 : 4096);
	if (!t)
		return table && table->count < table->mask;
	for (i = 0; table && i <= table->mask; i++) {
		const struct entry *e = &table->entry[i];

		if (e->hash)
			insert(t, (struct key){e->hash, e->check}, e->id);
	}
	__atomic_store_n(&table, t, __ATOMIC_RELEASE);
	return true;
}

/* The words as they are written down: addresses in the interpreter's loop marked, and of each Python
 * frame what it is instead of where it was. */
static uint32_t final_words(struct rec_lane *lane, uint32_t n, uint32_t python)
{
	uint64_t *word = lane->word;
	struct rec_pyframe f;
	uint32_t i;

	if (python)
		rec_python_mark(word, n, lane->steps, lane->sp);
	for (i = 0; i < python; i++) {
		memcpy(&f, &word[n + 3 * i], sizeof f);
		word[n + i] = rec_python_word(lane, &f);
	}
	return n + python;
}

static uint32_t add(struct rec_lane *lane, struct key k, uint32_t n, uint32_t epoch, bool cut)
{
	struct spool_stack record = {.w = {.kind = SPOOL_STACK, .flags = cut ? SPOOL_STACK_CUT : 0}, .epoch = epoch};
	uint32_t id = 0;

	if (!rec_tables_lock(lane))
		return 0;
	if (table)
		id = find(table, k);
	if (!id && make_room()) {
		record.id = last_id + 1;
		if (rec_table_put(lane, &record, sizeof record, lane->word, n * sizeof *lane->word)) {
			id = ++last_id;
			insert(table, k, id);
		}
	}
	rec_tables_unlock();
	return id;
}

static void lost(void)
{
	__atomic_fetch_add(&rec_head->dropped_stacks, 1, __ATOMIC_RELAXED);
}

static uint32_t python_depth(void)
{
	return rec_options.depth < REC_PY_DEPTH ? rec_options.depth : REC_PY_DEPTH;
}

/* The number of the stack whose n native and then Python words are at lane->word. */
static uint32_t look_up(struct rec_lane *lane, uint32_t n, uint32_t python, uint32_t epoch, bool cut)
{
	const struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	struct key k = key_of(lane->word, n + 3 * python, epoch);
	uint32_t id;

	if (t && (id = find(t, k)))
		return id;
	if (rec_modules_epoch(lane, true) != epoch) {
		epoch = rec_modules_epoch(lane, false);
		k = key_of(lane->word, n + 3 * python, epoch);
	}
	n = final_words(lane, n, python);
	return add(lane, k, n, epoch, cut);
}

uint32_t rec_stack(struct rec_lane *lane, struct rec_site site)
{
	struct rec_registers start = registers(site);
	struct rec_walk *w = &lane->walk[(start.pc * 0x9e3779b97f4a7c15ull) >> 61];
	uint32_t epoch = rec_modules_epoch(lane, false), n, python, id;
	bool cut = false;

	lane->sp = start.sp;
	if (w->n && w->epoch == epoch && same_registers(&w->start, &start) && rec_walk_same(w->step, (int)w->n)) {
		if (w->id)
			return w->id;
		cut = !w->ended;
		n = words_of(lane, start.pc, w->step, w->n);
	} else if (!(n = walk(lane, w, start, epoch, &cut))) {
		/* A signal handler must not enter the unwinder that its thread was just in. */
		if (lane->nested && lane[-1].unwinding) {
			lost();
			return 0;
		}
		n = unwind_slowly(lane, site, &cut);
	}
	python = rec_python_walk((struct rec_pyframe *)&lane->word[n], python_depth(), &cut);
	id = look_up(lane, n, python, epoch, cut);
	if (!id)
		lost();
	if (w->n && !python && !rec_python_here())
		w->id = id;
	return id;
}

/* Load the unwinder and let it take what memory and locks it takes the first time. */
void rec_stacks_init(void)
{
	static uint64_t word[64];

	find_unwinder();
	backtrace_into(word, 64);
}

void rec_stacks_forked(void)
{
	if (table)
		munmap(table, sizeof *table + (table->mask + 1) * sizeof table->entry[0]);
	table = NULL;
	last_id = 0;
	rec_python_forked();
}
