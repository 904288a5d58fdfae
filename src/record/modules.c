/* modules.c: which program files are in memory where, so that addresses of code can be named later,
 * perhaps on another machine and long after a library was unloaded.
 *
 * An epoch is a time in which nothing was unloaded: within one, an address means one thing. Stacks
 * belong to an epoch. New modules are noticed when a new stack is seen, gone ones at dlclose.
 */
#include "record/pyframes.h"
#include "record/rec.h"
#include <elf.h>
#include <link.h>
#include <string.h>

#define MODULES 8192

struct module {
	uint64_t begin, end, bias, name_hash;
	uint32_t id;
	bool there, seen;
};
static struct module *modules;
static uint32_t n_modules, last_id;
static uint32_t epoch = 1, stale = 1; /* stale: a scan is due before the next stack */
static unsigned long long known_adds, known_subs;
static struct rec_lock scanning;

struct scan {
	struct rec_lane *lane;
	bool first;
};

static uint64_t hash_name(const char *s)
{
	uint64_t h = 1469598103934665603ull;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3ull;
	return h;
}

static void range_of(const struct dl_phdr_info *info, struct module *m)
{
	int i;

	*m = (struct module){.begin = UINT64_MAX, .bias = info->dlpi_addr, .name_hash = hash_name(info->dlpi_name)};
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		if (at < m->begin)
			m->begin = at;
		if (at + p->p_memsz > m->end)
			m->end = at + p->p_memsz;
	}
}

static void build_id_of(const struct dl_phdr_info *info, struct spool_module *record)
{
	int i;

	for (i = 0; i < info->dlpi_phnum && !record->build_id_bytes; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at = (const void *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;

		if (p->p_type != PT_NOTE)
			continue;
		while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			size_t name = (note->n_namesz + 3u) & ~3u, desc = (note->n_descsz + 3u) & ~3u;
			const uint8_t *text = at + sizeof *note;

			if ((size_t)(end - text) < name + desc)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(text, "GNU", 4) &&
			    note->n_descsz <= sizeof record->build_id) {
				memcpy(record->build_id, text + name, note->n_descsz);
				record->build_id_bytes = note->n_descsz;
				break;
			}
			at = text + name + desc;
		}
	}
}

static void write_module(struct rec_lane *lane, const struct dl_phdr_info *info, struct module *m, bool first)
{
	struct spool_module record = {.w = {.kind = SPOOL_MODULE}, .begin = m->begin, .end = m->end, .bias = m->bias};
	const char *path = info->dlpi_name;

	if (first && !*path)
		path = rec_head->exe;
	else if (!*path || !strncmp(path, "linux-vdso", 10))
		path = "[vdso]";
	record.epoch = epoch;
	record.t_ns = rec_now();
	build_id_of(info, &record);
	record.path_bytes = (uint32_t)strnlen(path, 4096);
	record.id = last_id + 1;
	if (!rec_tables_lock(lane))
		return;
	if (rec_table_put(lane, &record, offsetof(struct spool_module, path), path, record.path_bytes))
		m->id = ++last_id;
	rec_tables_unlock();
}

static struct module *known(const struct module *m)
{
	uint32_t i;

	for (i = 0; i < n_modules; i++) {
		struct module *k = &modules[i];

		if (k->there && k->begin == m->begin && k->bias == m->bias && k->name_hash == m->name_hash)
			return k;
	}
	return NULL;
}

static struct module *free_module(void)
{
	uint32_t i;

	for (i = 0; i < n_modules; i++)
		if (!modules[i].there)
			return &modules[i];
	return n_modules < MODULES ? &modules[n_modules++] : NULL;
}

static int mark_seen(struct dl_phdr_info *info, size_t size, void *p)
{
	struct module m, *k;

	(void)p;
	range_of(info, &m);
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
		__atomic_store_n(&known_adds, info->dlpi_adds, __ATOMIC_RELAXED);
		__atomic_store_n(&known_subs, info->dlpi_subs, __ATOMIC_RELAXED);
	}
	if ((k = known(&m)))
		k->seen = true;
	return 0;
}

static int add_new(struct dl_phdr_info *info, size_t size, void *p)
{
	struct scan *s = p;
	struct module m, *k;

	(void)size;
	range_of(info, &m);
	if (!known(&m) && m.end > m.begin && (k = free_module())) {
		*k = m;
		k->there = true;
		write_module(s->lane, info, k, s->first);
	}
	s->first = false;
	return 0;
}

/* Whatever the scan did not see is gone; the address may mean something else from now on. */
static void tell_gone(struct rec_lane *lane)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < n_modules; i++) {
		struct spool_module_gone record = {.w = {.kind = SPOOL_MODULE_GONE}, .t_ns = rec_now()};

		if (!modules[i].there || modules[i].seen)
			continue;
		record.id = modules[i].id;
		record.epoch = epoch + 1;
		modules[i].there = false;
		any = true;
		if (!rec_tables_lock(lane))
			continue;
		rec_table_put(lane, &record, sizeof record, NULL, 0);
		rec_tables_unlock();
	}
	if (any) {
		__atomic_store_n(&epoch, epoch + 1, __ATOMIC_RELEASE);
		rec_unwinder_flush();
	}
}

static void scan(struct rec_lane *lane)
{
	struct scan s = {lane, true};
	uint32_t i;

	if (!modules && !(modules = rec_memory(MODULES * sizeof *modules)))
		return;
	__atomic_store_n(&stale, 0, __ATOMIC_RELAXED);
	for (i = 0; i < n_modules; i++)
		modules[i].seen = false;
	dl_iterate_phdr(mark_seen, NULL);
	tell_gone(lane); /* first: what is new may lie where something was */
	dl_iterate_phdr(add_new, &s);
	rec_python_look();
}

static int counts_changed(struct dl_phdr_info *info, size_t size, void *p)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
		*(bool *)p = info->dlpi_adds != __atomic_load_n(&known_adds, __ATOMIC_RELAXED) ||
			     info->dlpi_subs != __atomic_load_n(&known_subs, __ATOMIC_RELAXED);
	return 1; /* the first tells it */
}

void rec_modules_stale(void)
{
	__atomic_store_n(&stale, 1, __ATOMIC_RELEASE);
}

uint32_t rec_modules_epoch(struct rec_lane *lane, bool new_stack)
{
	bool due = __atomic_load_n(&stale, __ATOMIC_RELAXED) != 0;

	if (__builtin_expect(!due && !new_stack, 1))
		return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
	if (!due)
		dl_iterate_phdr(counts_changed, &due);
	if (due && rec_lock(&scanning, lane)) {
		scan(lane);
		rec_unlock(&scanning);
	}
	return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
}

void rec_modules_forked(void)
{
	if (modules)
		memset(modules, 0, n_modules * sizeof *modules);
	n_modules = last_id = 0;
	epoch = 1;
	stale = 1;
	scanning.owner = 0;
}
