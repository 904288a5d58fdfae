/* term.c: a process whose Python keeps PyTorch's history, and that SIGTERM is about to kill, gets a moment to save it.
 *
 * What always holds: it ends as it would have, by that signal: once Python's thread has saved the history, when the
 * signal comes again, when it exits or becomes another program meanwhile, or after LIMIT_S, whatever it is doing. A wait
 * that the signal would have cut short (pause, sleep, poll) does not return before. The handler stands only where the
 * program left the signal to its default, is unknown to Python's signal module, and is gone as soon as the program
 * sets one of its own; after exec, and in a fork's child, the signal kills at once, as ever.
 */
#include "record/rec.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
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

/* Did the signal come into a system call that will now return EINTR, and is not begun anew? */
static bool cut_short(const ucontext_t *u)
{
#if defined __x86_64__
	static const uint8_t call[] = {0x0f, 0x05};

	return u->uc_mcontext.gregs[REG_RAX] == -EINTR &&
	       !memcmp((const uint8_t *)u->uc_mcontext.gregs[REG_RIP] - sizeof call, call, sizeof call);
#elif defined __aarch64__
	static const uint32_t call = 0xd4000001; /* svc #0 */

	return (int64_t)u->uc_mcontext.regs[0] == -EINTR &&
	       !memcmp((const uint8_t *)u->uc_mcontext.pc - sizeof call, &call, sizeof call);
#else
	(void)u;
	return false;
#endif
}

static void die(int sig)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	sigaction(sig, &plain, NULL);
	raise(sig); /* from a handler of it: once that has returned */
}

static void on_term(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	int saved = errno;

	(void)info;
	if (!ask())
		die(sig);
	else
		while (cut_short(u)) /* for ever: the signal comes again */
			sigsuspend(&u->uc_sigmask);
	errno = saved;
}

void rec_term_due(void)
{
	struct sigaction now;
	sigset_t term;

	if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE) || getpid() != process || sigaction(SIGTERM, NULL, &now) ||
	    now.sa_sigaction != on_term)
		return;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &term, NULL); /* of this thread */
	die(SIGTERM);
}

/* Called by sitecustomize.py, once. */
void gms_before_term(int fd);
REC_EXPORT void gms_before_term(int fd)
{
	struct sigaction act = {.sa_sigaction = on_term, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK}, old;
	struct sigevent again = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};

	if (process || sigaction(SIGTERM, NULL, &old) || old.sa_handler != SIG_DFL || fstat(fd, &pipe_at_start) ||
	    timer_create(CLOCK_MONOTONIC, &again, &limit))
		return;
	request = fd;
	process = getpid();
	sigaction(SIGTERM, &act, NULL);
}
