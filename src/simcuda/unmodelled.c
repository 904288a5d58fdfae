/* unmodelled.c: every function of driver.def: those that no other file here defines, and where all are.
 *
 * Weak symbols: a function of the same name elsewhere takes its place, so that modelling one more
 * needs no second list. cuda.h is not included: these do not care what they are called with, and an
 * older one lacks the newest functions.
 */
#include "driver/driver.h"

enum { NOT_SUPPORTED = 801 /* CUDA_ERROR_NOT_SUPPORTED */ };

#define DRIVER_FN(base, symbol, since, variant, hooked)                                                      \
	__attribute__((weak, visibility("default"))) int symbol(void);                                       \
	int symbol(void)                                                                                     \
	{                                                                                                    \
		return NOT_SUPPORTED;                                                                        \
	}
#include "driver/driver.def"
#undef DRIVER_FN

extern void *const sim_functions[DRIVER_ROWS];
void *const sim_functions[DRIVER_ROWS] = {
#define DRIVER_FN(base, symbol, since, variant, hooked) (void *)symbol,
#include "driver/driver.def"
#undef DRIVER_FN
};
