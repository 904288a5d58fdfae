/* resolve.h: where the real functions are. Only src/record includes this. */
#ifndef RECORD_RESOLVE_H
#define RECORD_RESOLVE_H

/* cuda.h as it is for its own implementation: every symbol under its real name. */
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h> /* clang-format: before driver.h */
#include "driver/driver.h"
#include <stdbool.h>

void rec_resolve_init(void);

/* What a call of this row must go on to: never one of our own functions. A function that says
 * CUDA_ERROR_NOT_SUPPORTED if the driver has none. */
extern void *rec_reals[DRIVER_ROWS]; /* NULL = not looked up yet */
void *rec_find_real(enum driver_row row);
static inline void *rec_real(enum driver_row row)
{
	void *p = __atomic_load_n(&rec_reals[row], __ATOMIC_RELAXED);

	return __builtin_expect(p != NULL, 1) ? p : rec_find_real(row);
}
bool rec_real_exists(enum driver_row row);
#define REAL(symbol) ((__typeof__(&symbol))rec_real(DRIVER_FN_##symbol))

/* Our function for a row; NULL for rows that pass through. */
void *rec_wrapper(enum driver_row row);

/* The driver's own function of a row, whoever else wraps it; NULL if no driver is loaded or it has none. */
void *rec_driver_own(enum driver_row row);

/* The next definition of a function after this library, for our wrappers of libc's. */
void *rec_next(const char *name);
void *rec_symbol(void *handle, const char *name); /* the real dlsym */
/* A symbol of the first module whose file name begins so, whatever scope it is in; *size may be NULL. */
void *rec_module_symbol(const char *file, const char *name, uint64_t *size);
/* What a dynamic section's entry points to: libc leaves some as they are in the file. */
const void *rec_dynamic_address(uintptr_t base, uintptr_t p);

void rec_bind(void); /* bind.c: libraries opened with RTLD_DEEPBIND since the last look */

/* A call that hands the caller's own return address on. */
#ifdef __clang__
#define JUMP(call) __attribute__((musttail)) return call
#define JUMPS
#else
#define JUMP(call) return call
#define JUMPS	   __attribute__((optimize("O2")))
#endif

#endif
