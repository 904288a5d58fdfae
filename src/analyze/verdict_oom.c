/* verdict_oom.c: the sentences about failed allocations: which, why, what would have helped.
 *
 * Figures add up to the device's memory wherever that is known. verdict.c calls it.
 */
#include "analyze/oom.h"
#include "analyze/verdict.h"
#include "base/text.h"

/* "of its 4.00 GiB 1.89 GiB were held by this program's allocations, 457.00 MiB by …, and 1.66 GiB were free" */
static void device_divided(struct text *t, const struct oom *o)
{
	char total[TEXT_SIZE_MAX], held[TEXT_SIZE_MAX], rest[TEXT_SIZE_MAX], others[TEXT_SIZE_MAX],
	    left[TEXT_SIZE_MAX];

	if (o->others == MODEL_UNKNOWN) {
		text_printf(t, "%s were in use and only %s free", text_bytes(held, o->live), text_bytes(left, o->free));
		return;
	}
	text_printf(t, "of the device's %s this program's allocations held %s, ", text_bytes(total, o->total),
	            text_bytes(held, o->reserved));
	if (o->processes != MODEL_UNKNOWN && o->processes <= o->others)
		text_printf(t, "other processes %s, the context and code %s, ", text_bytes(others, o->processes),
		            text_bytes(rest, o->others - o->processes));
	else
		text_printf(t, "other things %s (context, code, other processes), ",
		            text_bytes(rest, o->others));
	text_printf(t, "and %s were free", text_bytes(left, o->free));
}

static void shortage(struct text *t, const struct oom *o)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], missing[TEXT_SIZE_MAX];

	text_puts(t, "a real shortage: ");
	if (o->framework)
		text_printf(t, "%s were in use and only %s free on the device and in the cache together",
		            text_bytes(a, o->reserved - o->cached), text_bytes(b, o->free + o->cached));
	else
		device_divided(t, o);
	text_printf(t, "; %s were missing", text_bytes(missing, o->missing));
}

static void fragmentation(struct text *t, const struct oom *o)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];

	text_puts(t, "fragmentation: ");
	if (!o->framework)
		text_printf(t, "%s of the device are neither free nor in use; small allocations sit in pages that they only partly fill",
		            text_bytes(a, o->stranded));
	else if (o->holes == MODEL_UNKNOWN)
		text_printf(t, "%s were cached, but not in one piece", text_bytes(a, o->cached));
	else
		text_printf(t, "%s were cached in %s hole%s, the largest that this request could use %s",
		            text_bytes(a, o->cached), text_count(count, o->holes), o->holes == 1 ? "" : "s",
		            text_bytes(b, o->largest));
}

static void refused(struct text *t, const struct model *m, const struct oom *o)
{
	enum gms_kind kind = GMS_OP_KIND(m->ev.op[o->row]);
	char a[TEXT_SIZE_MAX];

	text_printf(t, "refused by the driver (error %d)", o->error);
	if (gms_kind_info[kind].flags & GMS_HOST)
		text_puts(t, ": this is memory of the host, none of the device");
	else if (!(gms_kind_info[kind].flags & GMS_ON_DEVICE))
		text_printf(t, ": it was a request of the kind \"%s\", which takes no memory of the device by itself",
		            gms_kind_info[kind].name);
	else if (o->free != MODEL_UNKNOWN && o->free >= o->need)
		text_printf(t, " although %s of the device were free", text_bytes(a, o->free));
}

static void others(struct text *t, const struct oom *o)
{
	char a[TEXT_SIZE_MAX], missing[TEXT_SIZE_MAX];

	text_puts(t, "other users of the device: ");
	if (o->framework)
		text_printf(t, "%s of it are used by what is not in this recording",
		            text_bytes(a, o->processes != MODEL_UNKNOWN ? o->processes : o->others));
	else
		device_divided(t, o);
	text_printf(t, "; %s were missing", text_bytes(missing, o->missing));
}

static void reason(struct text *t, const struct model *m, const struct oom *o)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX];

	switch (o->cause) {
	case OOM_SHORTAGE:
		shortage(t, o);
		return;
	case OOM_FRAGMENTATION:
		fragmentation(t, o);
		return;
	case OOM_LIMIT:
		text_printf(t, "a limit: the device had %s free", text_bytes(a, o->free));
		if (o->reserved != MODEL_UNKNOWN)
			text_printf(t, ", but this process holds %s and may not hold %s", text_bytes(b, o->reserved),
			            text_bytes(c, o->reserved + o->need));
		if (o->help & OOM_HELP_EXPANDABLE)
			text_printf(t, "; %s of that are cached, in holes of at most %s", text_bytes(a, o->cached),
			            text_bytes(b, o->largest));
		return;
	case OOM_OTHERS:
		others(t, o);
		return;
	case OOM_REFUSED:
		refused(t, m, o);
		return;
	default:
		text_printf(t, "for a reason the recording does not tell: it does not say how much %s",
		            o->free == MODEL_UNKNOWN ? "was free" : "the allocator held and used");
	}
}

/* Real shortage: what could have been less. */
static void advise_less(struct verdict *v, const struct report *r, const struct report_device *d, const struct oom *o)
{
	char bytes[TEXT_SIZE_MAX];

	if (oom_too_large(o))
		verdict_say(v, TONE_ADVICE, 80,
		            "Ask for less at once there: even with nothing else allocated this program could have had no "
		            "more than %s of this device.",
		            text_bytes(bytes, o->free + o->reserved));
	else if (r->m->has_time && o->live < d->t->amount[TOTAL_REQUESTED].peak / 10 * 9)
		verdict_say(v, TONE_ADVICE, 80,
		            "Hold at least %s less at that moment: flame --at %.10gms draws what was live then.",
		            text_bytes(bytes, o->missing), (double)o->t_ns / 1e6);
	else
		verdict_say(v, TONE_ADVICE, 80, "Lower the peak by at least %s: start with the largest stacks below.",
		            text_bytes(bytes, o->missing));
}

static void advise(struct verdict *v, const struct report *r, const struct report_device *d, const struct oom *o)
{
	char bytes[TEXT_SIZE_MAX];

	if (o->help & OOM_HELP_FRACTION) {
		if (o->reserved == MODEL_UNKNOWN)
			verdict_say(v, TONE_ADVICE, 80, "Raise the limit of this process, or free memory before this point.");
		else
			verdict_say(v, TONE_ADVICE, 80,
			            "Raise the limit (the memory fraction of this process) to at least %s, or free memory "
			            "before this point.",
			            text_bytes(bytes, o->reserved + o->need));
	}
	if (o->help & OOM_HELP_EXPANDABLE)
		verdict_say(v, TONE_ADVICE, 80,
		            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: segments then grow in place and "
		            "their free pages serve any request.");
	if (o->help & OOM_HELP_OTHERS)
		verdict_say(v, TONE_ADVICE, 80, "End or move what else uses this GPU: nvidia-smi names it.");
	if (o->help & OOM_HELP_POOL)
		verdict_say(v, TONE_ADVICE, 80,
		            "Allocate the large buffers first and keep them, or take memory from a pool "
		            "(cudaMallocAsync): freed pieces then join again.");
	if (o->help & OOM_HELP_LESS)
		advise_less(v, r, d, o);
	if (o->help & OOM_HELP_RELEASE)
		verdict_say(v, TONE_ADVICE, 75,
		            "%s of the cache were in unused segments: empty_cache() before this point would have "
		            "returned them.",
		            text_bytes(bytes, o->whole));
}

/* The one to be told: where a framework allocates, a request that the driver refused is tried again. */
static const struct oom *first_of(const struct report_device *d)
{
	size_t i;

	for (i = 0; d->t->level == GMS_FRAMEWORK && i < d->ooms.n; i++)
		if (d->ooms.v[i].framework)
			return &d->ooms.v[i];
	return &d->ooms.v[0];
}

void verdict_oom(struct verdict *v, const struct report *r, const struct report_device *d)
{
	char size[TEXT_SIZE_MAX], event[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	struct text why = {0}, place = {0}, more = {0}, who = {0};
	const struct oom *o;
	size_t alike;

	if (!d->ooms.n)
		return;
	o = first_of(d);
	alike = d->ooms.v[o->group].alike;
	reason(&why, r->m, o);
	if (o->stack)
		verdict_place(&place, r->m, o->stack);
	text_puts(&more, "");
	if (alike > 1)
		text_printf(&more, ", and %s more like it", text_count(count, alike - 1));
	if (d->ooms.n > alike)
		text_printf(&more, ", %s%s other failure%s", alike > 1 ? "" : "and ", text_count(count, d->ooms.n - alike),
		            d->ooms.n - alike == 1 ? "" : "s");
	if (d->device == MODEL_NO_DEVICE)
		text_puts(&who, "Host");
	else
		text_printf(&who, "GPU %u", d->device);
	verdict_say(v, TONE_BAD, 100, "%s: a request of %s failed at event %s%s%s%s. It was %s.", who.s,
	            text_bytes(size, o->size), text_count(event, (uint64_t)o->event), place.n ? ", in " : "",
	            place.n ? place.s : "", more.s, why.s);
	advise(v, r, d, o);
	text_free(&why);
	text_free(&place);
	text_free(&more);
	text_free(&who);
}
