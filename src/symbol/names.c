/* names.c: see names.h. */
#include "symbol/names.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

struct name {
	GElf_Addr begin, end;
	const char *name;
	int rank; /* of several at one address the highest is taken */
};
struct names {
	struct name *v;
	size_t n, cap;
};

/* Global names before weak before local, known sizes before unknown, fewer leading underscores. */
static int rank_of(const GElf_Sym *sym, const char *name)
{
	int bind = GELF_ST_BIND(sym->st_info);
	int rank = bind == STB_GLOBAL ? 40 : bind == STB_WEAK ? 20 : 0;

	return rank + (sym->st_size ? 8 : 0) - (name[0] == '_') - (name[0] == '_' && name[1] == '_');
}

static int by_address(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A symbol without a size (assembler code) reaches to the next symbol, at most to its section's end. */
static GElf_Addr section_end(Elf *elf, GElf_Word section)
{
	GElf_Shdr header;

	return gelf_getshdr(elf_getscn(elf, section), &header) ? header.sh_addr + header.sh_size : 0;
}

static void add(struct names *t, Dwfl_Module *module, int i)
{
	GElf_Sym sym;
	GElf_Addr at, end;
	GElf_Word section;
	Elf *elf;
	const char *name = dwfl_module_getsym_info(module, i, &sym, &at, &section, &elf, NULL);
	int type = GELF_ST_TYPE(sym.st_info);

	if (!name || !name[0] || section == SHN_UNDEF || section == SHN_ABS)
		return;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && !(type == STT_NOTYPE && GELF_ST_BIND(sym.st_info) != STB_LOCAL))
		return;
	end = sym.st_size ? at + sym.st_size : section_end(elf, section) + (at - sym.st_value);
	*VEC_PUSH(t->v, t->n, t->cap) = (struct name){at, end, name, rank_of(&sym, name)};
}

struct names *names_new(Dwfl_Module *module)
{
	struct names *t = mem_zalloc(1, sizeof *t);
	int i, n = dwfl_module_getsymtab(module);
	size_t k, kept = 0;

	for (i = 1; i < n; i++)
		add(t, module, i);
	if (t->n)
		qsort(t->v, t->n, sizeof *t->v, by_address);
	for (k = 0; k < t->n; k++)
		if (!kept || t->v[kept - 1].begin != t->v[k].begin)
			t->v[kept++] = t->v[k];
	t->n = kept;
	return t;
}

void names_free(struct names *t)
{
	if (!t)
		return;
	free(t->v);
	free(t);
}

const char *names_find(const struct names *t, GElf_Addr address)
{
	size_t low = 0, high = t ? t->n : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->v[mid].begin <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low && address < t->v[low - 1].end ? t->v[low - 1].name : NULL;
}
