/* names.h: the symbol-table half of symbol.c: the function symbol that covers an address.
 *
 * The table is sorted when it is made: libraries with 300,000 symbols are common. Only symbol.c includes this.
 */
#ifndef SYMBOL_NAMES_H
#define SYMBOL_NAMES_H

#include <elfutils/libdwfl.h>

struct names;
struct names *names_new(Dwfl_Module *module);
void names_free(struct names *t);
const char *names_find(const struct names *t, GElf_Addr address); /* NULL if there is none */

#endif
