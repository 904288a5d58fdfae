/* drawing.c: checking a picture's options and sending it off. */
#include "cli/drawing.h"
#include "cli/together.h"
#include "render/canvas.h"
#include <string.h>
#include <time.h>
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

void drawing_source(struct picture *p, const struct model *m, uint64_t digest)
{
	time_t start = (time_t)(m->start_wall_ns / 1000000000);
	struct tm utc;
	int64_t from, to;

	picture_meta(p, "Source", "%s", m->file);
	if (m->command)
		picture_meta(p, "Command", "%s", m->command);
	picture_meta(p, "Digest", "%016llx", (unsigned long long)digest);
	together_span(m, &from, &to);
	if (m->ev.n > m->n_initial)
		picture_meta(p, "TimeRange", "%lld to %lld %s", (long long)from, (long long)to,
		             m->has_time ? "ns" : "events");
	if (m->start_wall_ns > 0 && gmtime_r(&start, &utc))
		picture_meta(p, "Began", "%04d-%02d-%02dT%02d:%02d:%02dZ", utc.tm_year + 1900, utc.tm_mon + 1,
		             utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
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
	return output_end(out, rc, e);
}
