/* page.c: width, colour and characters of text output. */
#include "render/page.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool locale_is_utf8(void)
{
	const char *name = getenv("LC_ALL");

	if (!name || !*name)
		name = getenv("LC_CTYPE");
	if (!name || !*name)
		name = getenv("LANG");
	return name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8"));
}

void page_open(struct page *p, FILE *f, size_t width)
{
	struct winsize size;
	bool terminal = isatty(fileno(f));
	const char *no_color = getenv("NO_COLOR");

	*p = (struct page){.f = f, .width = width ? width : 100};
	if (!width && terminal && !ioctl(fileno(f), TIOCGWINSZ, &size) && size.ws_col)
		p->width = size.ws_col;
	if (p->width < 40)
		p->width = 40;
	p->color = terminal && !(no_color && *no_color);
	p->unicode = locale_is_utf8();
}

void page_ink(struct page *p, enum ink ink)
{
	static const char *const code[] = {"0", "1", "2", "31", "32", "33", "34"};

	if (p->color)
		fprintf(p->f, "\033[%sm", code[ink]);
}

void page_heading(struct page *p, const char *fmt, ...)
{
	va_list ap;

	fputc('\n', p->f);
	page_ink(p, INK_BOLD);
	va_start(ap, fmt);
	vfprintf(p->f, fmt, ap);
	va_end(ap);
	page_ink(p, INK_PLAIN);
	fputc('\n', p->f);
}

void page_line(struct page *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(p->f, fmt, ap);
	va_end(ap);
	fputc('\n', p->f);
}

/* Code points that terminals draw two columns wide: CJK, Hangul, full-width forms, emoji. */
static size_t columns_of(uint32_t c)
{
	if (c >= 0x300 && c < 0x370)
		return 0; /* combining marks */
	return (c >= 0x1100 && c < 0x1160) || (c >= 0x2e80 && c < 0xa4d0) || (c >= 0xac00 && c < 0xd7a4) ||
	               (c >= 0xf900 && c < 0xfb00) || (c >= 0xfe30 && c < 0xfe70) ||
	               (c >= 0xff00 && c < 0xff61) || (c >= 0x1f300 && c < 0x1fa00) ||
	               (c >= 0x20000 && c < 0x30000)
	           ? 2
	           : 1;
}

/* One character: its bytes and columns. An invalid byte is one column (a replacement is printed). */
static size_t step(const char *s, size_t left, size_t *columns)
{
	size_t len = text_utf8_len(s, left), i;
	uint32_t c;

	*columns = 1;
	if (len < 2)
		return 1;
	c = (unsigned char)s[0] & (0xffu >> (len + 1));
	for (i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	*columns = columns_of(c);
	return len;
}

size_t page_columns(const char *s)
{
	size_t left = strlen(s), total = 0, columns, len;

	for (; left; s += len, left -= len) {
		len = step(s, left, &columns);
		total += columns;
	}
	return total;
}

/* Bytes that fit into `columns` from the start. */
static size_t prefix(const char *s, size_t n, size_t columns)
{
	size_t at = 0, used = 0, width, len;

	while (at < n) {
		len = step(s + at, n - at, &width);
		if (used + width > columns)
			break;
		used += width;
		at += len;
	}
	return at;
}

/* Where the text must start so that what follows fits into `columns`. */
static size_t suffix(const char *s, size_t n, size_t columns)
{
	size_t at = 0, total = page_columns(s), width;

	while (at < n && total > columns) {
		at += step(s + at, n - at, &width);
		total -= width;
	}
	return at;
}

/* Printable text: control characters and invalid bytes must not reach a terminal. */
static void add_clean(struct text *t, const struct page *p, const char *s, size_t n)
{
	size_t at, len, width;

	for (at = 0; at < n; at += len) {
		len = step(s + at, n - at, &width);
		if (!text_utf8_len(s + at, n - at))
			text_puts(t, p->unicode ? "\xef\xbf\xbd" : "?");
		else if ((unsigned char)s[at] < 0x20 || s[at] == 0x7f)
			text_puts(t, " ");
		else if (len > 1 && !p->unicode)
			text_puts(t, width == 2 ? "??" : "?");
		else
			text_add(t, s + at, len);
	}
}

void page_elide(struct text *t, const struct page *p, const char *s, size_t columns)
{
	const char *dots = p->unicode ? "\xe2\x80\xa6" : "...";
	size_t n = strlen(s), mark = p->unicode ? 1 : 3, head, tail;

	if (page_columns(s) <= columns) {
		add_clean(t, p, s, n);
		return;
	}
	if (columns <= mark) {
		add_clean(t, p, s, prefix(s, n, columns));
		return;
	}
	head = prefix(s, n, (columns - mark + 1) / 2);
	tail = suffix(s, n, (columns - mark) / 2);
	add_clean(t, p, s, head);
	text_puts(t, dots);
	add_clean(t, p, s + tail, n - tail);
}

const char *page_arrow(const struct page *p)
{
	return p->unicode ? " \xe2\x86\x90 " : " <- ";
}

void page_elide_steps(struct text *t, const struct page *p, const char *s, size_t columns)
{
	const char *arrow = page_arrow(p), *dots = p->unicode ? "\xe2\x80\xa6" : "...";
	size_t more = page_columns(arrow) + page_columns(dots);
	const char *end = s + strlen(s), *at;
	struct text part = {0};

	if (page_columns(s) <= columns) {
		page_elide(t, p, s, columns);
		return;
	}
	/* The longest run of whole steps that leaves room for the dots; the first step in any case. */
	for (at = s; (at = strstr(at, arrow)); at += strlen(arrow)) {
		part.n = 0;
		text_add(&part, s, (size_t)(at - s));
		if (page_columns(part.s) + more > columns && end != s + strlen(s))
			break;
		end = at;
	}
	part.n = 0;
	text_add(&part, s, (size_t)(end - s));
	if (end == s + strlen(s) || page_columns(part.s) + more > columns) {
		page_elide(t, p, part.s, columns);
	} else {
		page_elide(t, p, part.s, columns - more);
		text_puts(t, arrow);
		text_puts(t, dots);
	}
	text_free(&part);
}

void page_paragraph(struct page *p, enum ink ink, const char *mark, const char *text)
{
	struct text clean = {0};
	size_t indent = page_columns(mark), at = 0, room = p->width - indent;
	bool first = true;

	text_puts(&clean, "");
	add_clean(&clean, p, text, strlen(text));
	while (at < clean.n || first) {
		const char *rest = clean.s + at;
		size_t fits = prefix(rest, clean.n - at, room), end = fits;

		if (fits < clean.n - at) {
			/* A number stays with its unit. */
			while (end && (rest[end] != ' ' || (rest[end - 1] >= '0' && rest[end - 1] <= '9')))
				end--;
			if (!end)
				end = fits;
		}
		if (first)
			page_ink(p, ink);
		fprintf(p->f, "%*s", first ? 0 : (int)indent, "");
		if (first)
			fputs(mark, p->f);
		if (first && ink != INK_BOLD)
			page_ink(p, INK_PLAIN);
		fprintf(p->f, "%.*s\n", (int)end, rest);
		at += end;
		while (at < clean.n && clean.s[at] == ' ')
			at++;
		first = false;
	}
	page_ink(p, INK_PLAIN);
	text_free(&clean);
}
