/* top_text.c: top as lines of text, for a terminal of any size or for a file.
 *
 * A line is composed in full and then cut to the width; nothing wraps. With height 0 everything is
 * printed. Plain ANSI sequences mark what is bold or selected, and only if asked for.
 */
#include "render/top.h"
#include <math.h>
#include <string.h>
#include <time.h>

#define DETAIL_LINES 8 /* what the selected process's detail gets of a small screen */
#define SITES_ONCE   5 /* stacks shown per process where everything is printed */

enum style { PLAIN, BOLD, SOFT, SELECTED };

struct page {
	struct text *out;
	const struct top_look *look;
	struct text row;
	size_t lines;
};

/* --- lines -------------------------------------------------------------------------------- */

/* Append at most `width` characters of s, the last one a mark of omission if something is left out.
 * Returns how many. Control characters become '?': names come from other programs. */
static size_t put_clipped(struct page *p, struct text *out, const char *s, size_t n, size_t width)
{
	size_t used = 0, at = 0, len;

	while (at < n && used < width) {
		len = text_utf8_len(s + at, n - at);
		if (used + 1 == width && at + (len ? len : 1) < n) {
			text_puts(out, p->look->utf8 ? "\xe2\x80\xa6" : "~");
			return width;
		}
		if (!len || (unsigned char)s[at] < ' ' || s[at] == 127 || (len > 1 && !p->look->utf8))
			text_puts(out, "?");
		else
			text_add(out, s + at, len);
		at += len ? len : 1;
		used++;
	}
	return used;
}

static void pad(struct text *out, size_t n)
{
	while (n--)
		text_puts(out, " ");
}

/* A column of the row being composed. */
static void left(struct page *p, const char *s, size_t width)
{
	pad(&p->row, width - put_clipped(p, &p->row, s, strlen(s), width) + 1);
}
static void right(struct page *p, const char *s, size_t width)
{
	struct text cell = {0};
	size_t used = put_clipped(p, &cell, s, strlen(s), width);

	pad(&p->row, width - used);
	text_add(&p->row, cell.s ? cell.s : "", cell.n);
	text_puts(&p->row, " ");
	text_free(&cell);
}

static void end_line(struct page *p, enum style style)
{
	static const char *const on[] = {"", "\033[1m", "\033[2m", "\033[7m"};
	bool ansi = p->look->ansi;
	size_t used;

	while (p->row.n && p->row.s[p->row.n - 1] == ' ')
		p->row.n--;
	if (ansi)
		text_puts(p->out, on[style]);
	used = put_clipped(p, p->out, p->row.s ? p->row.s : "", p->row.n, p->look->width);
	if (ansi && style == SELECTED)
		pad(p->out, p->look->width - used);
	text_puts(p->out, ansi ? "\033[0m\033[K\n" : "\n");
	p->row.n = 0;
	p->lines++;
}

static bool full(const struct page *p, size_t keep)
{
	return p->look->height && p->lines + keep >= p->look->height;
}

/* --- numbers ------------------------------------------------------------------------------- */

static const char *bytes(char *buf, uint64_t v)
{
	return v == MODEL_UNKNOWN ? "-" : text_bytes(buf, v);
}

static const char *change(char *buf, int64_t v)
{
	if (v == TOP_UNKNOWN)
		return "-";
	if (!v)
		return "0";
	buf[0] = v < 0 ? '-' : '+';
	text_bytes(buf + 1, v < 0 ? -(uint64_t)v : (uint64_t)v);
	return buf;
}

static const char *percent(char *buf, size_t n, double ratio)
{
	if (!isfinite(ratio))
		return "-";
	snprintf(buf, n, "%.0f%%", ratio * 100);
	return buf;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return part == MODEL_UNKNOWN || whole == MODEL_UNKNOWN || !whole ? NAN : (double)part / (double)whole;
}

/* --- parts ---------------------------------------------------------------------------------- */

static void title(struct page *p, const struct top *t)
{
	time_t now = (time_t)(t->wall_ns / 1000000000);
	struct tm tm;
	char clock[16];

	localtime_r(&now, &tm);
	strftime(clock, sizeof clock, "%H:%M:%S", &tm);
	text_printf(&p->row, "gpumemsnap top %s", clock);
	if (t->driver)
		text_printf(&p->row, "  driver %s", t->driver);
	text_printf(&p->row, "  %zu GPU%s, %zu recorded process%s, by %s", t->n_gpus, t->n_gpus == 1 ? "" : "s",
	            t->n_recorded, t->n_recorded == 1 ? "" : "es", top_order_name(p->look->order));
	end_line(p, BOLD);
	if (t->no_nvml || t->unlisted) {
		text_printf(&p->row, "%s: only recorded processes are known",
			    t->no_nvml ? t->no_nvml : "NVML does not list every GPU's processes");
		end_line(p, SOFT);
	}
}

static void bar(struct page *p, double part, size_t width)
{
	size_t i, filled = isfinite(part) ? (size_t)(fmin(fmax(part, 0), 1) * (double)width + 0.5) : 0;

	for (i = 0; i < width; i++)
		text_puts(&p->row, !p->look->utf8 ? (i < filled ? "#" : ".") : i < filled ? "\xe2\x96\x88" : "\xe2\x96\x91");
	text_puts(&p->row, " ");
}

static void gpu_lines(struct page *p, const struct top *t)
{
	size_t i, name = p->look->width > 100 ? 30 : 22, fill = p->look->width > 120 ? 30 : 9;
	char buf[TEXT_SIZE_MAX];

	left(p, "GPU", 3);
	left(p, "NAME", name);
	right(p, "USED", 10);
	right(p, "FREE", 10);
	right(p, "TOTAL", 10);
	left(p, "", fill);
	right(p, "", 4);
	right(p, "BUSY", 4);
	end_line(p, BOLD);
	for (i = 0; i < t->n_gpus && !full(p, 4); i++) {
		const struct top_gpu *g = &t->gpus[i];

		snprintf(buf, sizeof buf, "%d", g->number);
		left(p, buf, 3);
		left(p, g->name, name);
		right(p, bytes(buf, g->used), 10);
		right(p, bytes(buf, g->free), 10);
		right(p, bytes(buf, g->total), 10);
		bar(p, ratio(g->used, g->total), fill);
		right(p, percent(buf, sizeof buf, ratio(g->used, g->total)), 4);
		right(p, percent(buf, sizeof buf, g->busy < 0 ? NAN : g->busy / 100.0), 4);
		end_line(p, PLAIN);
	}
	end_line(p, PLAIN);
}

#define WIDE 92 /* columns, from which on the peak has one */

static void process_heading(struct page *p)
{
	right(p, "PID", 7);
	right(p, "GPU", 3);
	right(p, "USED", 10);
	right(p, "LIVE", 10);
	if (p->look->width >= WIDE)
		right(p, "PEAK", 10);
	right(p, "GROWTH/MIN", 11);
	right(p, "UTIL", 4);
	right(p, "FAIL", 4);
	left(p, "COMMAND", 7);
	end_line(p, BOLD);
}

/* "/usr/bin/python3 train.py" → "python3 train.py" */
static const char *without_folder(const char *command)
{
	const char *slash, *end = command + strcspn(command, " ");

	for (slash = end; slash > command && slash[-1] != '/'; slash--)
		;
	return slash;
}

static void process_line(struct page *p, const struct top *t, const struct top_process *row, bool selected)
{
	char buf[TEXT_SIZE_MAX + 1];

	snprintf(buf, sizeof buf, "%d", row->pid);
	right(p, buf, 7);
	snprintf(buf, sizeof buf, "%d", row->gpu < 0 ? 0 : t->gpus[row->gpu].number);
	right(p, row->gpu < 0 ? "-" : buf, 3);
	right(p, bytes(buf, row->used), 10);
	right(p, bytes(buf, row->live), 10);
	if (p->look->width >= WIDE)
		right(p, bytes(buf, row->peak), 10);
	right(p, change(buf, row->per_minute), 11);
	right(p, percent(buf, sizeof buf, row->recorded ? ratio(row->active, row->reserved) : NAN), 4);
	right(p, row->recorded ? text_count(buf, row->failed) : "-", 4);
	text_puts(&p->row, row->command ? without_folder(row->command) : "(not in this /proc)");
	end_line(p, selected ? SELECTED : PLAIN);
}

static void detail_heading(struct page *p, const struct top_process *row)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX], d[TEXT_SIZE_MAX];

	text_printf(&p->row, "%d %s", row->pid, row->command ? row->command : "");
	end_line(p, BOLD);
	text_printf(&p->row, "  %s blocks, %s events (%s/s) in %s", text_count(a, row->blocks),
	            text_count(b, row->events), text_count(c, row->events_per_second), text_ns(d, row->running_ns));
	if (isfinite(row->external))
		text_printf(&p->row, ", external fragmentation %s", percent(a, sizeof a, row->external));
	if (row->age_ns >= 2000000000)
		text_printf(&p->row, ", as of %s ago", text_ns(a, row->age_ns));
	end_line(p, PLAIN);
	if (row->trouble) {
		text_printf(&p->row, "  %s", row->trouble);
		end_line(p, PLAIN);
	}
}

static void site_lines(struct page *p, const struct top_process *row, size_t most)
{
	char buf[TEXT_SIZE_MAX + 1];
	size_t i;

	right(p, "LIVE", 12);
	right(p, "BLOCKS", 9);
	right(p, "GROWTH/MIN", 11);
	text_puts(&p->row, "STACK");
	end_line(p, BOLD);
	for (i = 0; i < row->n_sites && i < most && !full(p, 2); i++) {
		const struct top_site *s = &row->sites[i];

		right(p, bytes(buf, s->bytes), 12);
		right(p, text_count(buf, s->count), 9);
		right(p, change(buf, s->per_minute), 11);
		text_puts(&p->row, s->name);
		end_line(p, PLAIN);
	}
}

static void failure_lines(struct page *p, const struct top_process *row)
{
	char ago[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], left_over[TEXT_SIZE_MAX];
	size_t i;

	for (i = 0; i < row->n_failures && i < 3 && !full(p, 2); i++) {
		const struct top_failure *f = &row->failures[i];

		text_printf(&p->row, "  failed %s ago: %s asked for", text_ns(ago, f->ago_ns), bytes(size, f->size));
		if (f->free != MODEL_UNKNOWN)
			text_printf(&p->row, ", %s free", bytes(left_over, f->free));
		text_printf(&p->row, ": %s", f->site);
		end_line(p, PLAIN);
	}
}

static void detail(struct page *p, const struct top_process *row, size_t most)
{
	if (!row->recorded || full(p, 5))
		return;
	end_line(p, PLAIN);
	detail_heading(p, row);
	failure_lines(p, row);
	if (!full(p, 3))
		site_lines(p, row, most);
}

/* --- all of it ------------------------------------------------------------------------------- */

size_t top_rows(const struct top *t, const struct top_look *look)
{
	size_t above = 1 + (t->no_nvml || t->unlisted) + 1 + t->n_gpus + 1 + 1, room;

	if (!look->height)
		return t->n_processes;
	room = look->height > above + 1 ? look->height - above - 1 : 1;
	if (look->selected < t->n_processes && t->processes[look->selected].recorded && room > DETAIL_LINES + 3)
		room -= t->n_processes < room - DETAIL_LINES ? room - t->n_processes : DETAIL_LINES;
	return room < t->n_processes ? room : t->n_processes;
}

static void last_line(struct page *p)
{
	static const char keys[] = "q quit  \xe2\x86\x91\xe2\x86\x93 select  s snapshot  sort: u used  l live  g growth  "
				   "f failures  p pid";
	static const char ascii[] = "q quit  j/k select  s snapshot  sort: u used  l live  g growth  f failures  p pid";

	while (p->lines + 1 < p->look->height)
		end_line(p, PLAIN);
	text_puts(&p->row, p->look->message ? p->look->message : p->look->utf8 ? keys : ascii);
	end_line(p, SOFT);
	p->out->n--; /* no newline: the screen would scroll */
}

void top_text(struct text *out, const struct top *t, const struct top_look *look)
{
	struct page p = {.out = out, .look = look};
	size_t i, rows = top_rows(t, look), first = look->height ? look->scroll : 0;

	title(&p, t);
	gpu_lines(&p, t);
	process_heading(&p);
	for (i = first; i < t->n_processes && i < first + rows && !full(&p, 1); i++)
		process_line(&p, t, &t->processes[i], look->height && i == look->selected);
	if (!t->n_processes && !full(&p, 1)) {
		text_printf(&p.row, "      no %sprocess uses a GPU", t->no_nvml || t->unlisted ? "recorded " : "");
		end_line(&p, PLAIN);
	}
	if (look->height && look->selected < t->n_processes)
		detail(&p, &t->processes[look->selected], SIZE_MAX);
	for (i = 0; !look->height && i < t->n_processes; i++)
		detail(&p, &t->processes[i], SITES_ONCE);
	if (look->height)
		last_line(&p);
	text_free(&p.row);
}
