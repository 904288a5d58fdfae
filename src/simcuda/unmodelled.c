/* unmodelled.c: every function of driver.def that no other file here defines.
 *
 * Weak symbols: a function of the same name elsewhere takes its place, so that modelling one more
 * needs no second list. cuda.h is not included, as these do not care what they are called with.
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
