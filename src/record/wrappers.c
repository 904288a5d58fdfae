/* wrappers.c: the table from rows of driver.def to the functions here that wrap them.
 *
 * cuda.h is left out on purpose: an older one knows fewer functions than driver.def, and the hooks of those are
 * then left out, too. Weak names without a hook are NULL: such a function passes through.
 */
#include "driver/driver.h"

#define HAVE_HOOKED(symbol) __attribute__((weak, visibility("default"))) int symbol(void);
#define HAVE_PLAIN(symbol)
#define WRAP_HOOKED(symbol) (void *)symbol
#define WRAP_PLAIN(symbol)  NULL

#define DRIVER_FN(base, symbol, since, variant, hooked) HAVE_##hooked(symbol)
#include "driver/driver.def"
#undef DRIVER_FN

static void *const wrappers[DRIVER_ROWS] = {
#define DRIVER_FN(base, symbol, since, variant, hooked) WRAP_##hooked(symbol),
#include "driver/driver.def"
#undef DRIVER_FN
};

void *rec_wrapper(enum driver_row row); /* resolve.h */
void *rec_wrapper(enum driver_row row)
{
	return wrappers[row];
}
