/* gpumemsnap.h: what a program may tell `gpumemsnap record` while it runs.
 *
 * Nothing needs to be linked (with a C library older than glibc 2.34: -ldl). In a program that is not
 * being recorded every function here is a test of one pointer. Usable from C and C++, in any thread,
 * also before the first CUDA call.
 *
 *     gms_phase_begin("load");
 *     …
 *     gms_phase_end();
 *     gms_mark("first batch");
 *     gms_snapshot("after-warmup");     // as of now; record writes it to its own file
 *     gms_record(false);                // from here on nothing is recorded …
 *     gms_record(true);                 // … and now again
 */
#ifndef GPUMEMSNAP_H
#define GPUMEMSNAP_H

#include <dlfcn.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gms_request {
	GMS_REQUEST_MARK,
	GMS_REQUEST_PHASE_BEGIN,
	GMS_REQUEST_PHASE_END,
	GMS_REQUEST_SNAPSHOT,
	GMS_REQUEST_RECORD_ON,
	GMS_REQUEST_RECORD_OFF,
	GMS_REQUEST_IS_RECORDING, /* 1 if this process is being recorded now */
};

typedef int gms_request_fn(enum gms_request what, const char *name);

static inline int gms_no_request(enum gms_request what, const char *name)
{
	(void)what;
	(void)name;
	return 0;
}

/* Ask the recorder, if there is one. Looked up by name the first time: a weak symbol would be bound to
 * nothing for ever in a program that is not position independent. */
static inline int gms_ask(enum gms_request what, const char *name)
{
	static gms_request_fn *recorder;
	gms_request_fn *fn = __atomic_load_n(&recorder, __ATOMIC_ACQUIRE);

	if (!fn) {
		*(void **)&fn = dlsym((void *)0 /* RTLD_DEFAULT */, "gms_request");
		if (!fn)
			fn = gms_no_request;
		__atomic_store_n(&recorder, fn, __ATOMIC_RELEASE);
	}
	return fn(what, name);
}

/* A moment with a name. */
static inline void gms_mark(const char *name)
{
	gms_ask(GMS_REQUEST_MARK, name);
}

/* Phases nest within a thread: each end closes the latest begin. */
static inline void gms_phase_begin(const char *name)
{
	gms_ask(GMS_REQUEST_PHASE_BEGIN, name);
}

static inline void gms_phase_end(void)
{
	gms_ask(GMS_REQUEST_PHASE_END, 0);
}

/* Ask for a snapshot as of this moment. The name (may be null) goes into the file's name. */
static inline void gms_snapshot(const char *name)
{
	gms_ask(GMS_REQUEST_SNAPSHOT, name);
}

/* Switch recording off and on. While it is off, only the ends of allocations recorded before are. */
static inline void gms_record(bool on)
{
	gms_ask(on ? GMS_REQUEST_RECORD_ON : GMS_REQUEST_RECORD_OFF, 0);
}

static inline bool gms_is_recording(void)
{
	return gms_ask(GMS_REQUEST_IS_RECORDING, 0) != 0;
}

#ifdef __cplusplus
}
#endif

#endif
