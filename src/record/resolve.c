/* resolve.c: the three routes by which a program finds the driver, and where the real functions are.
 *
 *  - linked with -lcuda: our exported functions of the same names come first;
 *  - dlsym/dlvsym after dlopen: wrapped here;
 *  - cuGetProcAddress: wrapped here, answering per version and flags.
 * Only what the real lookup found is replaced by a wrapper, so a program never finds a function that
 * its driver lacks.
 *
 * dlsym(RTLD_NEXT, …) means "next after the caller", which libc tells by the return address. So our
 * dlsym passes on by a jump, not a call: the real one sees the program's own return address.
 */
#include "record/rec.h"
#include "record/resolve.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

typedef void *dlsym_fn(void *, const char *);
typedef void *dlvsym_fn(void *, const char *, const char *);

static dlsym_fn *next_dlsym;
static dlvsym_fn *next_dlvsym;
void *rec_reals[DRIVER_ROWS];
static void *libcuda; /* handle, NULL = not seen yet */

/* --- libc's dlsym, which cannot be had by name: the first of that name is ours ------------------- */
struct image {
	const char *strings;
	const ElfW(Sym) *symbols;
	const uint32_t *gnu_hash;
	const ElfW(Half) *versions;
};

const void *rec_dynamic_address(uintptr_t base, uintptr_t p)
{
	return (const void *)(p < base ? base + p : p);
}

static bool image_of(const struct dl_phdr_info *info, struct image *im)
{
	const ElfW(Dyn) *d = NULL;
	int i;

	*im = (struct image){0};
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		const void *p = rec_dynamic_address(info->dlpi_addr, d->d_un.d_ptr);

		if (d->d_tag == DT_STRTAB)
			im->strings = p;
		else if (d->d_tag == DT_SYMTAB)
			im->symbols = p;
		else if (d->d_tag == DT_GNU_HASH)
			im->gnu_hash = p;
		else if (d->d_tag == DT_VERSYM)
			im->versions = p;
	}
	return im->strings && im->symbols && im->gnu_hash;
}

/* The symbol's default version, by the GNU hash table. */
static const ElfW(Sym) *image_find(const struct image *im, const char *name)
{
	const uint32_t *h = im->gnu_hash, *buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + h[0];
	uint32_t hash = 5381, i;
	const char *s;

	for (s = name; *s; s++)
		hash = hash * 33 + (unsigned char)*s;
	i = buckets[hash % h[0]];
	for (; i >= h[1]; i++) {
		const ElfW(Sym) *sym = &im->symbols[i];
		bool hidden = im->versions && (im->versions[i] & 0x8000);

		if ((chain[i - h[1]] | 1) == (hash | 1) && !hidden && sym->st_shndx != SHN_UNDEF &&
		    !strcmp(im->strings + sym->st_name, name))
			return sym;
		if (chain[i - h[1]] & 1)
			return NULL;
	}
	return NULL;
}

struct search {
	const char *file, *name;
	void *found;
	uint64_t size;
};

static int search_module(struct dl_phdr_info *info, size_t size, void *p)
{
	struct search *s = p;
	const char *base = strrchr(info->dlpi_name, '/');
	const ElfW(Sym) *sym;
	struct image im;

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, s->file, strlen(s->file)) != 0 || !image_of(info, &im) || !(sym = image_find(&im, s->name)))
		return 0;
	s->found = (void *)(info->dlpi_addr + sym->st_value);
	s->size = sym->st_size;
	return 1;
}

void *rec_module_symbol(const char *file, const char *name, uint64_t *size)
{
	struct search s = {file, name, NULL, 0};

	dl_iterate_phdr(search_module, &s);
	if (size)
		*size = s.size;
	return s.found;
}

static void *libc_symbol(const char *name)
{
	void *p = rec_module_symbol("libc.so", name, NULL);

	return p ? p : rec_module_symbol("libdl", name, NULL);
}

void rec_resolve_init(void)
{
	dlsym_fn *libc_dlsym = (dlsym_fn *)libc_symbol("dlsym");
	void *next;

	if (next_dlsym || !libc_dlsym)
		return;
	/* Another library may wrap dlsym too: pass on to it, as if we were not there. */
	next = libc_dlsym(RTLD_NEXT, "dlvsym");
	next_dlvsym = next ? (dlvsym_fn *)next : (dlvsym_fn *)libc_symbol("dlvsym");
	next = libc_dlsym(RTLD_NEXT, "dlsym");
	next_dlsym = next ? (dlsym_fn *)next : libc_dlsym;
}

void *rec_next(const char *name)
{
	rec_resolve_init();
	return next_dlsym ? next_dlsym(RTLD_NEXT, name) : NULL;
}

void *rec_symbol(void *handle, const char *name)
{
	rec_resolve_init();
	return next_dlsym ? next_dlsym(handle, name) : NULL;
}

/* --- the real driver ---------------------------------------------------------------------------------- */
static CUresult missing(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void *driver_handle(bool load)
{
	void *h = __atomic_load_n(&libcuda, __ATOMIC_ACQUIRE);

	if (h)
		return h;
	h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	if (!h && load)
		h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (h)
		__atomic_store_n(&libcuda, h, __ATOMIC_RELEASE);
	return h;
}

static void *driver_symbol(const char *symbol, bool load)
{
	void *h = driver_handle(load);

	return h && next_dlsym ? next_dlsym(h, symbol) : NULL;
}

void *rec_driver_own(enum driver_row row)
{
	return driver_symbol(driver_fns[row].symbol, false);
}

/* Whoever comes after us in the global scope goes first: it may wrap the driver too. */
static void *find_real(enum driver_row row, bool load)
{
	const char *symbol = driver_fns[row].symbol;
	void *p;

	rec_resolve_init();
	p = rec_wrapper(row) ? rec_next(symbol) : NULL;
	return p ? p : driver_symbol(symbol, load);
}

void *rec_find_real(enum driver_row row)
{
	void *p = find_real(row, true);

	if (!p)
		p = (void *)missing;
	__atomic_store_n(&rec_reals[row], p, __ATOMIC_RELAXED);
	return p;
}

bool rec_real_exists(enum driver_row row)
{
	return rec_real(row) != (void *)missing;
}

/* --- dlsym and dlvsym ------------------------------------------------------------------------------------ */
static char pass_on; /* its address means: let the real function answer */

static bool same_object(const void *a, const void *b)
{
	Dl_info x, y;

	return dladdr(a, &x) && dladdr(b, &y) && x.dli_fbase == y.dli_fbase;
}

/* Does the caller wrap this function itself, and comes after us? It gets the driver's own: ours would
 * only come back to it. */
static bool wraps_too(enum driver_row row, const void *found, const void *caller)
{
	const void *next = find_real(row, false);

	return next && next != found && same_object(next, caller);
}

static void *answer(void *handle, const char *name, const char *version, const void *caller)
{
	int row;
	void *p;

	rec_resolve_init();
	rec_bind();
	if (handle == RTLD_NEXT || !name || name[0] != 'c' || name[1] != 'u')
		return &pass_on;
	row = driver_by_symbol(name);
	if (row < 0 || !rec_wrapper((enum driver_row)row))
		return &pass_on;
	/* RTLD_DEFAULT finds our own function, whether there is a driver or not. */
	if (handle == RTLD_DEFAULT)
		return find_real((enum driver_row)row, false) ? rec_wrapper((enum driver_row)row) : rec_next(name);
	p = version ? next_dlvsym(handle, name, version) : next_dlsym(handle, name);
	if (p && wraps_too((enum driver_row)row, p, caller))
		return p;
	if (p && (p == driver_symbol(name, false) || p == find_real((enum driver_row)row, false)))
		return rec_wrapper((enum driver_row)row);
	if (p && p == rec_wrapper((enum driver_row)row) && !find_real((enum driver_row)row, false))
		return rec_next(name); /* dlopen(NULL): as RTLD_DEFAULT */
	return p;
}

REC_EXPORT JUMPS void *dlsym(void *restrict handle, const char *restrict name)
{
	void *p = answer(handle, name, NULL, __builtin_return_address(0));

	if (p != &pass_on)
		return p;
	JUMP(next_dlsym(handle, name));
}

REC_EXPORT JUMPS void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version)
{
	void *p = answer(handle, name, version, __builtin_return_address(0));

	if (p != &pass_on)
		return p;
	JUMP(next_dlvsym(handle, name, version));
}

/* --- cuGetProcAddress -------------------------------------------------------------------------------------- */
static const int newest = 13000; /* the version driver.def goes up to */

static void unknown_version(void)
{
	__atomic_fetch_add(&rec_head->unknown_versions, 1, __ATOMIC_RELAXED);
}

/* Does the driver mean the same function by the name at a version we do not know as at the newest we
 * know? Then our wrapper fits; else it is a newer form of it. */
static bool same_at_newest(const char *name, const void *found, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	void *p = NULL;

	if (rec_real_exists(DRIVER_FN_cuGetProcAddress_v2))
		return REAL(cuGetProcAddress_v2)(name, &p, newest, flags, &status) == CUDA_SUCCESS && p == found;
	return REAL(cuGetProcAddress)(name, &p, newest, flags) == CUDA_SUCCESS && p == found;
}

static void replace(const char *name, void **found, int version, cuuint64_t flags)
{
	int row = driver_lookup(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);

	if (row < 0 || !rec_wrapper((enum driver_row)row) || !*found)
		return;
	if (version > newest && !same_at_newest(name, *found, flags)) {
		unknown_version();
		return;
	}
	*found = rec_wrapper((enum driver_row)row);
}

REC_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUresult r = REAL(cuGetProcAddress)(symbol, pfn, version, flags);

	if (r == CUDA_SUCCESS && symbol && pfn)
		replace(symbol, pfn, version, flags);
	return r;
}

REC_EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
						CUdriverProcAddressQueryResult *status)
{
	CUresult r = REAL(cuGetProcAddress_v2)(symbol, pfn, version, flags, status);

	if (r == CUDA_SUCCESS && symbol && pfn)
		replace(symbol, pfn, version, flags);
	return r;
}
