/* bind.c: libraries opened with RTLD_DEEPBIND. They look for the driver's functions, and for dlsym, among
 * their own dependencies first, and so past ours.
 *
 * What their relocations found is replaced in their own tables, but only where it is the driver's or libc's
 * own function: another tool's wrapper stays. That is done as soon as dlopen has returned; where it is passed on by
 * a jump (see resolve.c), because libc looks for libraries by who asks, it does not come back here, and it is done
 * at the next dlsym. What a constructor of such a library does, before that, is not seen.
 */
#include "record/rec.h"
#include "record/resolve.h"
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void *dlopen_fn(const char *, int);

static dlopen_fn *next_dlopen;
static bool pending; /* something was opened so since the last look */

static void *driver_own[DRIVER_ROWS]; /* the driver's own functions; NULL where it has none */
static struct own {
	const char *name;
	void *libc, *ours;
} own[] = {{"dlopen", NULL, dlopen}, {"dlsym", NULL, dlsym}, {"dlvsym", NULL, dlvsym}, {"dlclose", NULL, dlclose}};

struct object {
	ElfW(Addr) base, end, relro, relro_end; /* addresses */
	const char *strings;
	const ElfW(Sym) *symbols;
	const ElfW(Rela) *table[2]; /* data; functions */
	size_t bytes[2];
};

static void take_dynamic(struct object *o, const struct dl_phdr_info *info, const ElfW(Dyn) *d)
{
	for (; d->d_tag != DT_NULL; d++) {
		const void *p = rec_dynamic_address(info->dlpi_addr, d->d_un.d_ptr);

		if (d->d_tag == DT_STRTAB)
			o->strings = p;
		else if (d->d_tag == DT_SYMTAB)
			o->symbols = p;
		else if (d->d_tag == DT_RELA)
			o->table[0] = p;
		else if (d->d_tag == DT_RELASZ)
			o->bytes[0] = d->d_un.d_val;
		else if (d->d_tag == DT_JMPREL)
			o->table[1] = p;
		else if (d->d_tag == DT_PLTRELSZ)
			o->bytes[1] = d->d_un.d_val;
	}
}

static bool object_of(struct object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;
	ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
	int i;

	*o = (struct object){.base = info->dlpi_addr};
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) end = o->base + p->p_vaddr + p->p_memsz;

		if (p->p_type == PT_LOAD && end > o->end)
			o->end = end;
		else if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)(o->base + p->p_vaddr);
		else if (p->p_type == PT_GNU_RELRO) {
			o->relro = (o->base + p->p_vaddr) & -page;
			o->relro_end = end & -page;
		}
	}
	if (dynamic)
		take_dynamic(o, info, dynamic);
	return o->strings && o->symbols;
}

static void store(const struct object *o, void **slot, void *value)
{
	ElfW(Addr) at = (ElfW(Addr))slot, page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
	bool sealed = at >= o->relro && at < o->relro_end;

	if (sealed && mprotect((void *)(at & -page), page, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (sealed)
		mprotect((void *)(at & -page), page, PROT_READ);
}

/* Our function of that name, and the one it stands for in *real; NULL if there is none. */
static void *ours_for(const char *name, void **real)
{
	size_t i;
	int row;

	if (name[0] == 'c' && name[1] == 'u') {
		row = driver_by_symbol(name);
		*real = row < 0 ? NULL : __atomic_load_n(&driver_own[row], __ATOMIC_RELAXED);
		return *real ? rec_wrapper((enum driver_row)row) : NULL;
	}
	for (i = 0; name[0] == 'd' && i < sizeof own / sizeof *own; i++)
		if (!strcmp(name, own[i].name)) {
			*real = own[i].libc;
			return *real ? own[i].ours : NULL;
		}
	return NULL;
}

#ifdef __aarch64__
#define R_SLOT R_AARCH64_JUMP_SLOT
#define R_DATA R_AARCH64_GLOB_DAT
#define R_WORD R_AARCH64_ABS64
#else
#define R_SLOT R_X86_64_JUMP_SLOT
#define R_DATA R_X86_64_GLOB_DAT
#define R_WORD R_X86_64_64
#endif

static void rebind(const struct object *o, const ElfW(Rela) *r)
{
	unsigned type = ELF64_R_TYPE(r->r_info);
	const ElfW(Sym) *s = &o->symbols[ELF64_R_SYM(r->r_info)];
	void **slot = (void **)(o->base + r->r_offset), *now, *real, *ours;
	bool unbound; /* a lazy one leads back into the object until its first call */

	if ((type != R_SLOT && type != R_DATA && type != R_WORD) || s->st_shndx != SHN_UNDEF ||
	    !(ours = ours_for(o->strings + s->st_name, &real)))
		return;
	now = __atomic_load_n(slot, __ATOMIC_RELAXED);
	unbound = type == R_SLOT && (ElfW(Addr))now >= o->base && (ElfW(Addr))now < o->end;
	if (now == real || unbound)
		store(o, slot, ours);
}

/* No lock of libc's may be asked for in here: the list of objects is locked. */
static int rebind_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct object o;
	size_t t, i;

	(void)size;
	(void)unused;
	if (!object_of(&o, info) || (o.base <= (ElfW(Addr))&pending && (ElfW(Addr))&pending < o.end))
		return 0;
	for (t = 0; t < 2; t++)
		for (i = 0; o.table[t] && i < o.bytes[t] / sizeof *o.table[t]; i++)
			rebind(&o, &o.table[t][i]);
	return 0;
}

void rec_bind(void)
{
	size_t i;

	if (!__atomic_load_n(&pending, __ATOMIC_RELAXED) || !__atomic_exchange_n(&pending, false, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; i < DRIVER_ROWS; i++)
		if (rec_wrapper((enum driver_row)i))
			__atomic_store_n(&driver_own[i], rec_driver_own((enum driver_row)i), __ATOMIC_RELAXED);
	for (i = 0; i < sizeof own / sizeof *own; i++)
		__atomic_store_n(&own[i].libc, rec_next(own[i].name), __ATOMIC_RELAXED);
	dl_iterate_phdr(rebind_object, NULL);
}

/* Is it the same file whoever asks? */
static bool is_path(const char *file)
{
	return file && strchr(file, '/') && !strchr(file, '$');
}

static __attribute__((noinline)) void *open_and_bind(const char *file, int mode)
{
	void *h = next_dlopen(file, mode);

	if (h)
		rec_bind();
	return h;
}

REC_EXPORT JUMPS void *dlopen(const char *file, int mode)
{
	if (!next_dlopen)
		next_dlopen = (dlopen_fn *)rec_next("dlopen");
	if (mode & RTLD_DEEPBIND) {
		__atomic_store_n(&pending, true, __ATOMIC_RELEASE);
		if (is_path(file))
			return open_and_bind(file, mode);
	}
	JUMP(next_dlopen(file, mode));
}
