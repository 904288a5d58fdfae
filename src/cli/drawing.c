/* drawing.c: checking a picture's options and sending it off. */
#include "cli/drawing.h"
#include "render/canvas.h"
#include <string.h>
#include <unistd.h>

int drawing_check(struct drawing *d, const char *command, struct err *e)
{
	if (d->scale && !(d->scale >= 0.5 && d->scale <= 10))
		return err_set(e, ERR_USAGE, NULL, -1, "--scale must be 0.5 to 10");
	d->look = (struct look_options){.width = d->width, .height = d->height, .title = d->title};
	d->look.scale = (uint64_t)(d->scale * 100 + 0.5);
	d->look.dark = d->theme && !strcmp(d->theme, "dark");
	if (!look_check(&d->look, e))
		return -1;
	if (!d->layout && (!d->output || !strcmp(d->output, "-")) && isatty(1))
		return err_set(e, ERR_USAGE, NULL, -1,
		               "a PNG is not for a terminal; type 'gpumemsnap %s > %s.png' or give -o FILE",
		               command, command);
	return 0;
}

int drawing_save(const struct drawing *d, struct picture *p, struct err *e)
{
	struct output *out = output_open(d->output ? d->output : "-", e);
	struct text t = {0};
	int rc;

	if (!out)
		return -1;
	picture_meta(p, "Software", "gpumemsnap %s", GPUMEMSNAP_VERSION);
	if (d->layout) {
		picture_print(p, &t);
		rc = output_write(out, t.s, t.n, e);
		text_free(&t);
	} else {
		rc = canvas_save(p, out, e);
	}
	if (!rc)
		return output_close(out, e);
	output_abandon(out);
	return -1;
}
