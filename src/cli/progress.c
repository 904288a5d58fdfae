/* progress.c: see progress.h. A thread of its own tells the time, so that the work need not. */
#include "cli/progress.h"
#include "base/mem.h"
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct progress {
	char *what;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool end;
};

static void *tell(void *arg)
{
	struct progress *p = arg;
	struct timespec next;
	unsigned seconds = 0;

	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&p->lock);
	while (!p->end) {
		next.tv_sec++;
		while (!p->end && !pthread_cond_timedwait(&p->ended, &p->lock, &next))
			;
		if (!p->end)
			fprintf(stderr, "\rgpumemsnap: %s: %u s\033[K", p->what, ++seconds);
	}
	if (seconds)
		fprintf(stderr, "\r\033[K");
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct progress *progress_begin(const char *fmt, ...)
{
	struct progress *p;
	pthread_condattr_t monotonic;
	sigset_t all, before;
	va_list ap;

	if (!isatty(2))
		return NULL;
	p = mem_zalloc(1, sizeof *p);
	va_start(ap, fmt);
	if (vasprintf(&p->what, fmt, ap) < 0)
		p->what = NULL;
	va_end(ap);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the thread that works */
	if (!p->what || pthread_create(&p->thread, NULL, tell, p)) {
		free(p->what);
		free(p);
		p = NULL;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return p;
}

void progress_end(struct progress *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->end = true;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->ended);
	pthread_mutex_destroy(&p->lock);
	free(p->what);
	free(p);
}
