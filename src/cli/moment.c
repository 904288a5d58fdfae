/* moment.c: see moment.h. */
#include "cli/moment.h"
#include "base/mem.h"
#include "cli/snapshot.h"
#include <string.h>

/* Everything allocated in the window, by stack, in the shape of live rows. */
static void all_allocated(const struct model *m, uint8_t device, struct live *out)
{
	struct live_row *by_stack = mem_zalloc(m->stacks.n + 1, sizeof *by_stack);
	struct live_walk w;

	*out = (struct live){0};
	for (live_begin(&w, m, device); live_next(&w);) {
		if (w.begins == MODEL_NO_PEER || w.row < m->n_initial)
			continue;
		struct live_row *r = &by_stack[m->ev.stack[w.row]];
		r->bytes += m->ev.size[w.row];
		r->count++;
		out->bytes += m->ev.size[w.row];
		out->count++;
	}
	live_end(&w);
	for (size_t s = 0; s < m->stacks.n; s++)
		if (by_stack[s].count) {
			by_stack[out->n] = by_stack[s];
			by_stack[out->n++].stack = (uint32_t)s;
		}
	out->rows = by_stack;
}

int moment_find(struct moment *at, const struct model *m, uint8_t device, const char *word, struct err *e)
{
	*at = (struct moment){.row = m->ev.n - 1, .word = "at the end"};
	if (word && !strcmp(word, "total")) {
		at->total = true;
		all_allocated(m, device, &at->live);
		return 0;
	}
	if (word && strcmp(word, "peak") && strcmp(word, "end")) {
		if (!snapshot_time(m, "at", word, &at->t_ns, e))
			return -1;
		at->row = snapshot_row_at(m, device, at->t_ns);
		at->known_time = true;
		at->word = "then";
	} else if (m->history == HISTORY_NONE) {
		at->word = "in the snapshot";
	} else if (!word || !strcmp(word, "peak")) {
		at->row = live_peak_row(m, device);
		at->word = "at the peak";
		at->known_time = at->row < m->ev.n;
		at->t_ns = at->known_time ? m->ev.t_ns[at->row] : 0;
	}
	live_at(m, device, at->row, &at->live);
	return 0;
}
