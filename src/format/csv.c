/* csv.c: one line per event (RFC 4180), for spreadsheets, SQL and data frames.
 *
 * What is not known is an empty field. Frees have the size of the allocation they end. function, file
 * and line are of the frame where the user's code asked for the memory.
 */
#include "format/export.h"
#include <string.h>

int export_csv(const struct export_view *v, struct output *o, struct err *e);

static void put_number(struct text *t, uint64_t n, bool known)
{
	text_puts(t, ",");
	if (known)
		text_u64(t, n);
}

static void put_text(struct text *t, const char *s)
{
	text_puts(t, ",");
	if (!s[strcspn(s, ",\"\r\n")] && s[0] != ' ') {
		text_puts(t, s);
		return;
	}
	text_puts(t, "\"");
	for (; *s; s++)
		text_add(t, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	text_puts(t, "\"");
}

static void put_place(struct text *t, const struct export_view *v, uint32_t stack)
{
	const struct model *m = v->m;
	size_t n, at;
	const uint32_t *frame = model_stack_frames(m, stack, &n);
	const struct frame *f;

	at = n ? v->start(m, stack) : 0;
	if (at >= n) {
		text_puts(t, ",,,");
		return;
	}
	f = &m->frames.v[frame[at]];
	put_text(t, model_text(m, f->function));
	put_text(t, model_text(m, f->file));
	put_number(t, f->line, f->line);
}

static void put_event(struct text *t, const struct export_view *v, size_t row)
{
	const struct model *m = v->m;
	struct event ev = model_event(m, row);
	uint32_t peer = m->ev.peer ? m->ev.peer[row] : MODEL_NO_PEER;
	enum gms_action action = GMS_OP_ACTION(ev.op);
	bool frees = action == GMS_A_FREE || action == GMS_A_FREE_REQUESTED;
	const char *kind = gms_kind_info[model_kind(m, row)].name;

	if (frees && peer != MODEL_NO_PEER) {
		ev.size = m->ev.size[peer];
		ev.block = model_block_size(m, peer);
	}
	if (row >= m->n_initial)
		text_u64(t, row - m->n_initial);
	put_number(t, 0, false);
	text_i64(t, ev.t_ns);
	text_printf(t, ",%s,%s", kind ? kind : "", gms_action_name[action]);
	put_number(t, ev.device, ev.device != MODEL_NO_DEVICE);
	text_printf(t, ",0x%llx", (unsigned long long)ev.addr);
	put_number(t, ev.size, ev.size != MODEL_UNKNOWN && !(frees && peer == MODEL_NO_PEER && !ev.size));
	put_number(t, ev.block, ev.block != MODEL_UNKNOWN);
	text_printf(t, ",0x%llx", (unsigned long long)m->streams[ev.stream].handle);
	put_number(t, m->threads[ev.thread].tid, ev.thread);
	put_number(t, ev.pool, ev.pool);
	put_number(t, ev.stack, ev.stack);
	put_place(t, v, ev.stack);
	text_puts(t, "\r\n");
}

int export_csv(const struct export_view *v, struct output *o, struct err *e)
{
	struct export_text x = {.o = o, .e = e};
	size_t row;

	text_puts(&x.t, "event,t_ns,kind,action,device,addr,size,block,stream,thread,pool,stack,function,file,line\r\n");
	for (row = 0; row < v->m->ev.n && !x.failed; row++) {
		put_event(&x.t, v, row);
		export_flush(&x);
	}
	return export_done(&x);
}
