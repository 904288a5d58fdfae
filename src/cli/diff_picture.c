/* diff_picture.c: two recordings as one flame: widths are the second's, colours the change. */
#include "cli/diff_picture.h"
#include "analyze/diff_tree.h"
#include "base/mem.h"
#include "render/flame.h"

static void write_title(struct text *t, const struct flame *f, bool end, bool count)
{
	char *(*amount)(char *, uint64_t) = count ? text_count : text_bytes;
	char now[TEXT_SIZE_MAX], by[TEXT_SIZE_MAX];
	uint64_t less = f->was > f->total ? f->was - f->total : 0,
	         more = f->total > f->was ? f->total - f->was : 0;

	text_printf(t, "%s%s of GPU memory live at the %s, ", amount(now, f->total), !count ? "" : f->total == 1 ? " block" : " blocks",
	            end ? "end" : "peak");
	if (!less && !more)
		text_puts(t, "as much as before");
	else
		text_printf(t, "%s %s than before", amount(by, more + less),
		            more    ? "more"
		            : count ? "fewer"
		                    : "less");
	if (f->was && (less || more))
		text_printf(t, " (%+.1f %%)", 100.0 * ((double)f->total - (double)f->was) / (double)f->was);
}

static void write_subtitle(struct text *t, const struct model *a, const struct model *b, uint8_t device,
                           const struct flame *f, bool count)
{
	const char *name = model_text(b, b->device[device].name);
	const char *unit = count ? "blocks" : "bytes";
	char was[TEXT_SIZE_MAX], now[TEXT_SIZE_MAX];

	text_printf(t, "A %s (%s %s) \xe2\x86\x92 B %s (%s %s) \xc2\xb7 GPU %u%s%s", a->file,
	            text_count(was, f->was), unit, b->file, text_count(now, f->total), unit, device,
	            *name ? " " : "", name);
}

int diff_picture(const struct drawing *d, const struct model *a, struct model *b, uint8_t device, bool end,
                 bool count, struct err *e)
{
	const struct model *const both[2] = {a, b};
	struct totals totals[2];
	const struct totals *const t[2] = {&totals[0], &totals[1]};
	struct text title = {0}, subtitle = {0};
	struct font *font = font_open(e);
	struct flame tree;
	struct picture p;
	struct diff diff;
	uint64_t digest[2] = {model_digest(a), model_digest(b)};

	if (!font)
		return -1;
	totals_all(&totals[0], a);
	totals_all(&totals[1], b);
	diff_make(&diff, both, t, device);
	flame_begin(&tree, b, &(struct flame_options){0});
	diff_tree_fill(&tree, b, a, &diff, end, count);
	write_title(&title, &tree, end, count);
	write_subtitle(&subtitle, a, b, device, &tree, count);
	flame_layout(&p,
	             &(struct flame_picture){.m = b,
	                                     .tree = &tree,
	                                     .change = &(struct flame_change){&diff, a, end},
	                                     .count = count,
	                                     .title = title.s,
	                                     .subtitle = subtitle.s},
	             &d->look, font);
	picture_meta(&p, "Title", "%s", d->title ? d->title : title.s);
	picture_meta(&p, "Description", "%s", subtitle.s);
	picture_meta(&p, "Before", "%s", a->file);
	picture_meta(&p, "DigestBefore", "%016llx", (unsigned long long)digest[DIFF_A]);
	drawing_source(&p, b, digest[DIFF_B]);
	picture_meta(&p, count ? "Blocks" : "Bytes", "%llu", (unsigned long long)tree.total);
	picture_meta(&p, count ? "BlocksBefore" : "BytesBefore", "%llu", (unsigned long long)tree.was);
	int rc = drawing_save(d, &p, e);
	picture_free(&p);
	text_free(&title);
	text_free(&subtitle);
	flame_free(&tree);
	diff_free(&diff);
	totals_free(&totals[0]);
	totals_free(&totals[1]);
	font_close(font);
	return rc;
}
