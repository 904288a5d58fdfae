/* term.c: see term.h. */
#include "cli/term.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void say(const char *s, size_t n)
{
	ssize_t put;

	for (; n; s += put, n -= (size_t)put)
		if ((put = write(STDOUT_FILENO, s, n)) < 0) {
			put = 0;
			if (errno != EINTR && errno != EAGAIN)
				return;
		}
}
#define SAY(s) say((s), sizeof(s) - 1)

int term_begin(struct term *t, struct err *e)
{
	struct termios raw;
	sigset_t mask;

	if (tcgetattr(STDIN_FILENO, &t->saved))
		return err_sys(e, "terminal", "tcgetattr");
	sigemptyset(&mask);
	sigaddset(&mask, SIGWINCH);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGINT);
	sigprocmask(SIG_BLOCK, &mask, &t->old_mask);
	t->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signals < 0) {
		sigprocmask(SIG_SETMASK, &t->old_mask, NULL);
		return err_sys(e, NULL, "signalfd");
	}
	raw = t->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	SAY("\033[?1049h\033[?25l"); /* another screen, no cursor */
	return 0;
}

void term_end(struct term *t)
{
	SAY("\033[?25h\033[?1049l");
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &t->saved);
	close(t->signals);
	sigprocmask(SIG_SETMASK, &t->old_mask, NULL);
}

void term_size(size_t *width, size_t *height)
{
	struct winsize w;
	bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);

	*width = known && w.ws_col ? w.ws_col : 80;
	*height = known && w.ws_row ? w.ws_row : 24;
}

void term_show(const struct text *screen)
{
	SAY("\033[H");
	say(screen->s, screen->n);
	SAY("\033[J");
}

static int signal_key(const struct term *t)
{
	struct signalfd_siginfo s;

	if (read(t->signals, &s, sizeof s) != (ssize_t)sizeof s)
		return TERM_NOTHING;
	return s.ssi_signo == SIGWINCH ? TERM_RESIZED : TERM_END;
}

/* "\033[A" or "\033OA": an arrow; other sequences are no key of ours. */
static int sequence_key(const char *s)
{
	switch (s[2]) {
	case 'A':
		return TERM_UP;
	case 'B':
		return TERM_DOWN;
	case '5':
		return TERM_PAGE_UP;
	case '6':
		return TERM_PAGE_DOWN;
	default:
		return TERM_NOTHING;
	}
}

/* What follows an escape, up to the letter or ~ that ends it: keys held down come several in a row. */
static int escape_key(struct pollfd *in)
{
	char s[16] = "\033";
	size_t n = 1;

	while (n < sizeof s && poll(in, 1, 20) > 0 && read(in->fd, s + n, 1) == 1) {
		n++;
		if (n == 2 && s[1] != '[' && s[1] != 'O')
			return TERM_NOTHING;
		if (n > 2 && s[n - 1] >= '@' && s[n - 1] <= '~')
			return sequence_key(s);
	}
	return TERM_NOTHING;
}

int term_key(struct term *t, int ms)
{
	struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = t->signals, .events = POLLIN}};
	char c;

	if (poll(p, 2, ms) <= 0)
		return TERM_NOTHING;
	if (p[1].revents)
		return signal_key(t);
	if (read(STDIN_FILENO, &c, 1) != 1)
		return TERM_END;
	if (c == 27)
		return escape_key(p);
	return c == 3 || c == 4 ? TERM_END : (unsigned char)c;
}
