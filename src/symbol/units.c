/* units.c: see units.h. */
#include "symbol/units.h"
#include "base/mem.h"
#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

struct inlined {
	Dwarf_Addr low, high;
	Dwarf_Die die;
};
struct function {
	Dwarf_Addr low, high;
	Dwarf_Die die;
	uint32_t first, n; /* its inlined calls, an outer one before those in it */
};
struct unit {
	Dwarf_Die cu; /* of a split unit: the part in the .dwo file */
	bool read;
	struct function *functions; /* by address */
	size_t n_functions, cap_functions;
	struct inlined *inlined;
	size_t n_inlined, cap_inlined;
};
struct range {
	Dwarf_Addr low, high;
	uint32_t unit;
};
struct units {
	struct unit *unit;
	size_t n_units, cap_units;
	struct range *ranges; /* by address */
	size_t n_ranges, cap_ranges;
};

/* All three kinds of range begin with low, high. */
static int by_address(const void *a, const void *b)
{
	const Dwarf_Addr *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] < y[1] ? -1 : x[1] > y[1];
}

/* The last of n sorted ranges that begins at or before pc, if pc is in it. */
static const void *in_range(const void *base, size_t n, size_t each, Dwarf_Addr pc)
{
	const char *p = base;
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (*(const Dwarf_Addr *)(p + mid * each) <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	p += (low - 1) * each;
	return pc < ((const Dwarf_Addr *)p)[1] ? p : NULL;
}

struct units *units_new(Dwarf *dwarf)
{
	struct units *u = mem_zalloc(1, sizeof *u);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;

	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &sub) == 0) {
		Dwarf_Addr base, low, high;
		ptrdiff_t at = 0;
		struct unit *unit;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		unit = VEC_PUSH(u->unit, u->n_units, u->cap_units);
		*unit = (struct unit){.cu = type == DW_UT_skeleton && sub.addr ? sub : die};
		while ((at = dwarf_ranges(&die, at, &base, &low, &high)) > 0)
			if (low < high)
				*VEC_PUSH(u->ranges, u->n_ranges, u->cap_ranges) =
					(struct range){low, high, (uint32_t)u->n_units - 1};
	}
	if (u->n_ranges)
		qsort(u->ranges, u->n_ranges, sizeof *u->ranges, by_address);
	return u;
}

void units_free(struct units *u)
{
	size_t i;

	if (!u)
		return;
	for (i = 0; i < u->n_units; i++) {
		free(u->unit[i].functions);
		free(u->unit[i].inlined);
	}
	free(u->unit);
	free(u->ranges);
	free(u);
}

struct walk {
	struct unit *unit;
	bool types; /* functions may be within types, too (Rust) */
	int depth;
};
#define WALK_DEPTH 256 /* of DIEs in each other; deeper ones are not looked at */

static void walk(struct walk w, Dwarf_Die *die);

static void enter_function(struct walk w, Dwarf_Die *die)
{
	struct unit *unit = w.unit;
	Dwarf_Addr base, low, high;
	size_t first = unit->n_inlined, function = unit->n_functions, i, n;
	ptrdiff_t at = 0;
	Dwarf_Die child;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low < high)
			*VEC_PUSH(unit->functions, unit->n_functions, unit->cap_functions) = (struct function){
				.low = low, .high = high, .die = *die, .first = (uint32_t)first};
	n = unit->n_functions - function;
	if (dwarf_child(die, &child) == 0)
		walk(w, &child);
	for (i = function; i < function + n; i++)
		unit->functions[i].n = (uint32_t)(unit->n_inlined - first);
}

static void enter_inlined(struct walk w, Dwarf_Die *die)
{
	struct unit *unit = w.unit;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	Dwarf_Die child;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low < high)
			*VEC_PUSH(unit->inlined, unit->n_inlined, unit->cap_inlined) =
				(struct inlined){low, high, *die};
	if (dwarf_child(die, &child) == 0)
		walk(w, &child);
}

/* This DIE, its siblings and what is in them. */
static void walk(struct walk w, Dwarf_Die *die)
{
	Dwarf_Die child;

	if (++w.depth > WALK_DEPTH)
		return;
	do {
		switch (dwarf_tag(die)) {
		case DW_TAG_subprogram:
			enter_function(w, die);
			break;
		case DW_TAG_inlined_subroutine:
			enter_inlined(w, die);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			if (w.types && dwarf_child(die, &child) == 0)
				walk(w, &child);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_lexical_block:
			if (dwarf_child(die, &child) == 0)
				walk(w, &child);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(die, die) == 0);
}

static void read_unit(struct unit *unit)
{
	struct walk w = {.unit = unit};
	Dwarf_Die child;

	unit->read = true;
	w.types = dwarf_srclang(&unit->cu) == DW_LANG_Rust;
	if (dwarf_child(&unit->cu, &child) == 0)
		walk(w, &child);
	if (unit->n_functions)
		qsort(unit->functions, unit->n_functions, sizeof *unit->functions, by_address);
}

int units_find(struct units *u, Dwarf_Addr pc, struct units_hit *hit)
{
	const struct range *r = in_range(u->ranges, u->n_ranges, sizeof *u->ranges, pc);
	const struct function *f;
	struct unit *unit;
	uint32_t i;

	if (!r)
		return 0;
	unit = &u->unit[r->unit];
	if (!unit->read)
		read_unit(unit);
	hit->cu = unit->cu;
	hit->n = 0;
	f = in_range(unit->functions, unit->n_functions, sizeof *unit->functions, pc);
	if (!f)
		return 1;
	hit->chain[hit->n++] = f->die;
	for (i = f->first; i < f->first + f->n && hit->n < UNITS_DEPTH; i++)
		if (unit->inlined[i].low <= pc && pc < unit->inlined[i].high)
			hit->chain[hit->n++] = unit->inlined[i].die;
	return 1;
}
