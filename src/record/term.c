/* term.c: a process whose Python keeps PyTorch's history, and that SIGTERM is about to kill, gets a moment to save it.
 *
 * What always holds: a program that runs on ends as it would have, by the same signal: once Python's thread has saved
 * the history, when the signal comes again, or after LIMIT_S, whatever it is doing. (One that exits or execs meanwhile
 * is gone before it, and a pause(2) or sleep(3) returns.) The handler stands only where the
 * program left the signal to its default, is unknown to Python's signal module, and is gone as soon as the program
 * sets one of its own; after exec, and in a fork's child, the signal kills at once, as ever.
 */
#include "record/rec.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 9 /* what manages services often kills after ten */

static int request = -1; /* who reads a 't' there saves the history, and sends the signal again */
static struct stat pipe_at_start;
static pid_t process;
static timer_t limit; /* sends the signal again, too */
static bool asked;

static bool ask(void)
{
	static const struct itimerspec once = {.it_value = {LIMIT_S, 0}};
	struct stat now;

	return getpid() == process && !__atomic_exchange_n(&asked, true, __ATOMIC_ACQ_REL) && !fstat(request, &now) &&
	       now.st_ino == pipe_at_start.st_ino && now.st_dev == pipe_at_start.st_dev &&
	       !timer_settime(limit, 0, &once, NULL) && write(request, "t", 1) == 1;
}

static void on_term(int sig)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	int saved = errno;

	if (!ask()) {
		sigaction(sig, &plain, NULL);
		raise(sig); /* once this handler has returned */
	}
	errno = saved;
}

/* Called by sitecustomize.py, once. */
void gms_before_term(int fd);
REC_EXPORT void gms_before_term(int fd)
{
	struct sigaction act = {.sa_handler = on_term, .sa_flags = SA_RESTART | SA_ONSTACK}, old;
	struct sigevent again = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};

	if (process || sigaction(SIGTERM, NULL, &old) || old.sa_handler != SIG_DFL || fstat(fd, &pipe_at_start) ||
	    timer_create(CLOCK_MONOTONIC, &again, &limit))
		return;
	request = fd;
	process = getpid();
	sigaction(SIGTERM, &act, NULL);
}
