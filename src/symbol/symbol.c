/* symbol.c: see symbol.h. Finds the files; asks units.c (DWARF) and names.c (symbol tables). */
#include "symbol/symbol.h"
#include "base/mem.h"
#include "symbol/names.h"
#include "symbol/units.h"
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *__cxa_demangle(const char *mangled, char *buf, size_t *n, int *status); /* libstdc++ */

struct symbol_file {
	char *path;
	unsigned char build_id[64];
	size_t build_id_n;
	bool opened, changed;
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: nothing is known of this file */
	Dwarf_Addr bias;     /* the module's addresses minus the file's */
	Dwarf_Addr debug_bias;
	struct units *units; /* NULL: no DWARF */
	struct names *names;
	char *text[2 * UNITS_DEPTH + 4]; /* what the last answer points to */
	size_t n_text;
};

struct symbol_file *symbol_open(const char *path, const unsigned char *build_id, size_t n)
{
	struct symbol_file *f = mem_zalloc(1, sizeof *f);

	f->path = mem_strdup(path);
	f->build_id_n = n < sizeof f->build_id ? n : 0;
	if (f->build_id_n)
		memcpy(f->build_id, build_id, f->build_id_n);
	return f;
}

static void forget_texts(struct symbol_file *f)
{
	while (f->n_text)
		free(f->text[--f->n_text]);
}

void symbol_close(struct symbol_file *f)
{
	if (!f)
		return;
	forget_texts(f);
	units_free(f->units);
	names_free(f->names);
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free(f->path);
	free(f);
}

int symbol_changed(const struct symbol_file *f)
{
	return f->changed;
}

/* --- finding and opening --- */

static bool is_recorded(const struct symbol_file *f, Dwfl_Module *module)
{
	const unsigned char *bits;
	GElf_Addr at;
	int n = dwfl_module_build_id(module, &bits, &at);

	return !f->build_id_n || ((size_t)n == f->build_id_n && !memcmp(bits, f->build_id, f->build_id_n));
}

static bool report(struct symbol_file *f, const char *path)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .section_address = dwfl_offline_section_address};
	Dwfl_Module *module;
	GElf_Addr bias;

	f->dwfl = dwfl_begin(&callbacks);
	if (!f->dwfl)
		return false;
	module = dwfl_report_offline(f->dwfl, "", path, -1);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (module && dwfl_module_getelf(module, &bias) && is_recorded(f, module)) {
		f->module = module;
		f->bias = bias;
		return true;
	}
	f->changed |= module != NULL;
	dwfl_end(f->dwfl);
	f->dwfl = NULL;
	return false;
}

/* The file is gone or another one: its debug file may still be filed under its build-id. */
static bool report_by_build_id(struct symbol_file *f)
{
	char path[64 * 2 + 64], *p = path;
	size_t i;

	if (f->build_id_n < 2)
		return false;
	p += sprintf(p, "/usr/lib/debug/.build-id/");
	for (i = 0; i < f->build_id_n; i++)
		p += sprintf(p, i ? "%02x" : "%02x/", f->build_id[i]);
	sprintf(p, ".debug");
	return access(path, R_OK) == 0 && report(f, path);
}

static void open_now(struct symbol_file *f)
{
	Dwarf *dwarf;

	f->opened = true;
	if (f->path[0] != '/' || (!(access(f->path, R_OK) == 0 && report(f, f->path)) && !report_by_build_id(f)))
		return;
	dwarf = dwfl_module_getdwarf(f->module, &f->debug_bias);
	if (dwarf)
		f->units = units_new(dwarf);
	f->names = names_new(f->module);
}

/* --- answering --- */

/* Keep a text until the next question. */
static const char *keep(struct symbol_file *f, char *text)
{
	f->text[f->n_text++] = text;
	return text;
}

static const char *demangled(struct symbol_file *f, const char *name)
{
	char *plain = !strncmp(name, "_Z", 2) ? __cxa_demangle(name, NULL, NULL, &(int){0}) : NULL;

	return plain ? keep(f, plain) : name;
}

static const char *die_name(struct symbol_file *f, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		name = dwarf_diename(die);
	return name ? demangled(f, name) : NULL;
}

/* A source file's name; a relative one starts at the directory of the compilation, which libdw has put
 * before it or not. */
static const char *full_path(struct symbol_file *f, Dwarf_Die *cu, const char *file)
{
	Dwarf_Attribute attr;
	const char *dir;
	size_t n;

	if (!file || file[0] == '/')
		return file;
	dir = dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &attr));
	n = dir ? strlen(dir) : 0;
	if (!n || (!strncmp(file, dir, n) && file[n] == '/'))
		return file;
	return keep(f, mem_printf("%s/%s", dir, !strncmp(file, "./", 2) ? file + 2 : file));
}

static void line_at(struct symbol_file *f, Dwarf_Die *cu, Dwarf_Addr pc, struct symbol_place *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, pc);
	int number;

	if (!line)
		return;
	out->file = full_path(f, cu, dwarf_linesrc(line, NULL, NULL));
	if (out->file && dwarf_lineno(line, &number) == 0 && number > 0)
		out->line = (uint32_t)number;
}

/* Where an inlined function was called. */
static void call_place(struct symbol_file *f, Dwarf_Die *cu, Dwarf_Die *inlined, struct symbol_place *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t n;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file) ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line) ||
	    dwarf_getsrcfiles(cu, &files, &n) || file >= n)
		return;
	out->file = full_path(f, cu, dwarf_filesrc(files, file, NULL, NULL));
	if (out->file && line <= UINT32_MAX)
		out->line = (uint32_t)line;
}

static size_t from_units(struct symbol_file *f, Dwarf_Addr pc, struct symbol_place *out, size_t max)
{
	struct units_hit hit;
	size_t n = 0;

	if (!f->units || !units_find(f->units, pc, &hit))
		return 0;
	out[0] = (struct symbol_place){0};
	line_at(f, &hit.cu, pc, &out[0]);
	if (!hit.n)
		return out[0].file ? 1 : 0;
	while (hit.n && n < max) {
		Dwarf_Die *die = &hit.chain[--hit.n];

		out[n++].function = die_name(f, die);
		if (hit.n && n < max) {
			out[n] = (struct symbol_place){0};
			call_place(f, &hit.cu, die, &out[n]);
		}
	}
	return n;
}

size_t symbol_find(struct symbol_file *f, uint64_t vaddr, struct symbol_place *out, size_t max)
{
	Dwarf_Addr address;
	const char *name;
	size_t n;

	if (!f->opened)
		open_now(f);
	forget_texts(f);
	if (!f->module || !max)
		return 0;
	if (max > UNITS_DEPTH)
		max = UNITS_DEPTH;
	address = vaddr + f->bias;
	n = from_units(f, address - f->debug_bias, out, max);
	if (n && out[n - 1].function)
		return n;
	name = names_find(f->names, address);
	if (!name)
		return n && out[0].function ? n : 0;
	if (!n)
		out[n++] = (struct symbol_place){0};
	out[n - 1].function = demangled(f, name);
	return n;
}
