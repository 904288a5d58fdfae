/* format.c: which reader a file is for. See format.h. */
#include "format/format.h"

const struct format format_table[] = {
#define FORMAT(name, probe, read) {#name, probe, read},
#include "format/formats.def"
#undef FORMAT
	{NULL, NULL, NULL},
};

static int read_input(struct model *m, const struct input *in, struct err *e)
{
	const struct format *f;

	if (!in->n)
		return err_set(e, ERR_INPUT, in->name, -1, "is empty");
	for (f = format_table; f->name; f++)
		if (f->probe(in))
			return f->read(in, m, e);
	return err_set(e, ERR_INPUT, in->name, -1,
		       "is no recording this program knows: a gpumemsnap snapshot or spool, a PyTorch memory "
		       "snapshot (pickle), an RMM log or a JAX memory profile (pprof), each also gzipped");
}

int format_read(struct model *m, const char *path, struct err *e)
{
	struct input in;

	if (input_open(&in, path, e))
		return -1;
	model_init(m, in.name);
	if (read_input(m, &in, e)) {
		model_free(m);
		input_close(&in);
		return -1;
	}
	input_close(&in);
	model_link(m);
	return 0;
}
