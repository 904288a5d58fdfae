/* units.h: the DWARF half of symbol.c: which functions, inlined ones too, cover an address.
 *
 * The units' ranges are read at once, a unit's functions when an address in it is first asked for;
 * then a look-up is two binary searches. Only symbol.c includes this.
 */
#ifndef SYMBOL_UNITS_H
#define SYMBOL_UNITS_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_DEPTH 64 /* inlined calls within each other that are told apart */

struct units;
struct units *units_new(Dwarf *dwarf);
void units_free(struct units *u);

/* What was found at an address. */
struct units_hit {
	Dwarf_Die cu;		     /* for the line table */
	size_t n;		     /* 0: a unit was found, but no function */
	Dwarf_Die chain[UNITS_DEPTH]; /* the function, then what is inlined in it, outermost first */
};
int units_find(struct units *u, Dwarf_Addr pc, struct units_hit *hit); /* 0 if no unit covers it */

#endif
