/* wrappers.c: the table from rows of driver.def to the functions here that wrap them. */
#include "record/rec.h"
#include "record/resolve.h"

#define WRAP_HOOKED(symbol) (void *)symbol
#define WRAP_PLAIN(symbol)  NULL

static void *const wrappers[DRIVER_ROWS] = {
#define DRIVER_FN(base, symbol, since, variant, hooked) WRAP_##hooked(symbol),
#include "driver/driver.def"
#undef DRIVER_FN
};

void *rec_wrapper(enum driver_row row)
{
	return wrappers[row];
}
