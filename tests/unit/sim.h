/* sim.h: test cases against the simulated driver, each in a process of its own, because a driver is
 * configured once and never forgets. CHECK ends the process; the case fails with it. */
#ifndef TESTS_UNIT_SIM_H
#define TESTS_UNIT_SIM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The form that takes no parameters, in whatever version cuda.h is. */
CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice device);

#define KIB ((size_t)1024)
#define MIB ((size_t)1024 * 1024)

#define CHECK(truth)                                                                                         \
	do {                                                                                                 \
		if (!(truth)) {                                                                              \
			fprintf(stderr, "# %s:%d: not so: %s\n", __FILE__, __LINE__, #truth);                \
			_exit(1);                                                                            \
		}                                                                                            \
	} while (0)
#define GIVES(result, call)                                                                                  \
	do {                                                                                                 \
		CUresult got_ = (call);                                                                      \
		if (got_ != (result)) {                                                                      \
			fprintf(stderr, "# %s:%d: %s gave %d, not %s\n", __FILE__, __LINE__, #call, got_,    \
			        #result);                                                                    \
			_exit(1);                                                                            \
		}                                                                                            \
	} while (0)
#define OK(call) GIVES(CUDA_SUCCESS, call)

/* SIM_CASE(name, "settings") { body } defines the cmocka test `name`. */
#define SIM_CASE(name, settings)                                                                             \
	static void name##_body(void);                                                                       \
	static void name(void **state)                                                                       \
	{                                                                                                    \
		(void)state;                                                                                 \
		assert_int_equal(sim_case(settings, name##_body), 0);                                        \
	}                                                                                                    \
	static void name##_body(void)

static inline int sim_case(const char *settings, void (*body)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* not cmocka's handler, which would run the rest of the group */
		signal(SIGABRT, SIG_DFL);
		setenv("GPUMEMSNAP_SIM", settings, 1);
		body();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static inline CUcontext sim_use(int device)
{
	CUcontext ctx;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, device));
	OK(cuCtxSetCurrent(ctx));
	return ctx;
}

static inline size_t sim_free(void)
{
	size_t available, total;

	OK(cuMemGetInfo_v2(&available, &total));
	return available;
}

#endif
