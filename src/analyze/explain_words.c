/* explain_words.c: why a request failed, judged from the numbers in the message alone. */
#include "analyze/explain_words.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

#define KNOWN(v) ((v) != MODEL_UNKNOWN)
#define MIB      (1024ull * 1024)
#define GIB      (1024 * MIB)

static uint64_t known_or_none(uint64_t v)
{
	return KNOWN(v) ? v : 0;
}

/* Windows and managed memory: the driver went on in the host's memory, so the device's says little. */
static bool oversubscribed(const struct explanation *x)
{
	return KNOWN(x->allocated) && KNOWN(x->total) && x->allocated > x->total;
}

static bool fits_nowhere(const struct explanation *x)
{
	return KNOWN(x->allocated) && KNOWN(x->total) &&
	       (x->allocated > x->total || x->asked > x->total - x->allocated);
}

static enum oom_cause cause_of(const struct explanation *x)
{
	uint64_t have = known_or_none(x->free) + known_or_none(x->cached);
	uint64_t others = KNOWN(x->others)    ? x->others
	                  : KNOWN(x->process) ? 0
	                                      : known_or_none(x->other_memory);

	if (x->cause != OOM_UNKNOWN || !KNOWN(x->asked))
		return x->cause;
	if (KNOWN(x->allowed) && (!KNOWN(x->free) || x->free >= x->asked))
		return OOM_LIMIT;
	if (KNOWN(x->free) && x->free >= x->asked)
		return OOM_REFUSED;
	if (fits_nowhere(x))
		return OOM_SHORTAGE;
	if (KNOWN(x->cached) && have >= x->asked)
		return OOM_FRAGMENTATION;
	if (!KNOWN(x->free))
		return OOM_UNKNOWN;
	return others > GIB && others >= x->asked - have ? OOM_OTHERS : OOM_SHORTAGE;
}

static void say_asked(struct explanation *x)
{
	struct verdict *v = &x->verdict;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX], gpu[32] = "the device";

	if (x->device >= 0)
		snprintf(gpu, sizeof gpu, "GPU %d", x->device);
	if (x->host) {
		verdict_say(v, TONE_PLAIN, 90, "The message is from %s%s%s.", x->writer,
		            KNOWN(x->asked) ? "; it asked for " : "",
		            KNOWN(x->asked) ? text_bytes(a, x->asked) : "");
		return;
	}
	if (!KNOWN(x->asked)) {
		verdict_say(v, TONE_PLAIN, 90,
		            "The message is from %s; it does not say how much was asked for.", x->writer);
		return;
	}
	text_bytes(a, x->asked);
	if (KNOWN(x->total) && KNOWN(x->free))
		verdict_say(v, TONE_PLAIN, 90, "%s asked %s for %s; of its %s, %s were free.", x->writer, gpu,
		            a, text_bytes(b, x->total), text_bytes(c, x->free));
	else
		verdict_say(v, TONE_PLAIN, 90, "%s asked %s for %s.", x->writer, gpu, a);
	if (!strcmp(x->source, "pytorch") && KNOWN(x->cached) && x->asked >= 2 * MIB &&
	    x->asked % (2 * MIB) == 0)
		verdict_say(v, TONE_PLAIN, 10,
		            "The tensor itself may be smaller: PyTorch asks for whole segments.");
}

static void say_share(struct explanation *x)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	if (KNOWN(x->allocated) && KNOWN(x->cached))
		verdict_say(&x->verdict, TONE_PLAIN, 60, "The framework had %s in use and %s cached.",
		            text_bytes(a, x->allocated), text_bytes(b, x->cached));
	if (KNOWN(x->private_pools) && x->private_pools > 256 * MIB)
		verdict_say(
		    &x->verdict, TONE_WARNING, 55,
		    "%s belong to private pools (CUDA graphs): nothing else can use what is free in them.",
		    text_bytes(a, x->private_pools));
	if (x->own_by_other_name)
		verdict_say(
		    &x->verdict, TONE_PLAIN, 52,
		    "One of the processes named is this one, with the number it has outside its container.");
	if (KNOWN(x->other_memory) && x->other_memory > GIB && x->cause != OOM_OTHERS)
		verdict_say(&x->verdict, TONE_WARNING, 54,
		            KNOWN(x->process)
		                ? "%s of this process are not the framework's: CUDA context, NCCL, cuBLAS "
		                  "workspaces, other libraries."
		                : "%s are neither the framework's nor free: a context, libraries, other "
		                  "processes.",
		            text_bytes(a, x->other_memory));
	if (oversubscribed(x))
		verdict_say(
		    &x->verdict, TONE_WARNING, 58,
		    "%s in use are more than the device's %s: the driver had gone on in the host's memory, "
		    "which is slow.",
		    text_bytes(a, x->allocated), text_bytes(b, x->total));
	if (x->more)
		verdict_say(&x->verdict, TONE_PLAIN, 30,
		            "The text holds %u other message%s of this kind; this is the first.", x->more,
		            x->more == 1 ? "" : "s");
}

static void say_limit(struct explanation *x)
{
	struct verdict *v = &x->verdict;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	if (x->share && KNOWN(x->allowed))
		verdict_say(v, TONE_BAD, 95, "A limit: its share of the device leaves %s for this.",
		            text_bytes(a, x->allowed));
	else if (x->share)
		verdict_say(v, TONE_BAD, 95,
		            "A limit: of its share of the device too little is left when the model is loaded "
		            "and has been "
		            "tried.");
	else if (KNOWN(x->free))
		verdict_say(
		    v, TONE_BAD, 95,
		    "A limit was reached: this process may hold %s, although the device had room (%s free).",
		    text_bytes(a, x->allowed), text_bytes(b, x->free));
	else
		verdict_say(v, TONE_BAD, 95, "A limit was reached: this process may hold %s.",
		            text_bytes(a, x->allowed));
}

static void say_shortage(struct explanation *x)
{
	uint64_t have = known_or_none(x->free) + known_or_none(x->cached);
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	if (x->host)
		verdict_say(&x->verdict, TONE_BAD, 95, "That was memory of the host, none of a GPU.");
	else if (KNOWN(x->total) && x->asked > x->total)
		verdict_say(&x->verdict, TONE_BAD, 95,
		            "A real shortage: that is more than the whole device has (%s).",
		            text_bytes(b, x->total));
	else if (KNOWN(x->total) && have >= x->asked)
		verdict_say(&x->verdict, TONE_BAD, 95,
		            "A real shortage: with the %s in use that is %s more than the device has.",
		            text_bytes(a, x->allocated), text_bytes(b, x->allocated - x->total + x->asked));
	else if (!KNOWN(x->cached))
		verdict_say(&x->verdict, TONE_BAD, 95, "A real shortage: only %s were free; %s were missing.",
		            text_bytes(a, have), text_bytes(b, x->asked - have));
	else
		verdict_say(
		    &x->verdict, TONE_BAD, 95,
		    "A real shortage: even with the whole cache, only %s were to be had; %s were missing.",
		    text_bytes(a, have), text_bytes(b, x->asked - have));
}

static void say_others(struct explanation *x)
{
	char a[TEXT_SIZE_MAX];

	if (x->n_others)
		verdict_say(
		    &x->verdict, TONE_BAD, 95,
		    "Other processes hold %s of this device (%u named): without them the request would have "
		    "fitted.",
		    text_bytes(a, x->others), x->n_others);
	else
		verdict_say(
		    &x->verdict, TONE_BAD, 95,
		    "Something else holds %s of this device: other processes, or libraries of this one.",
		    text_bytes(a, x->other_memory));
}

static void say_cause(struct explanation *x)
{
	struct verdict *v = &x->verdict;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	switch (x->cause) {
	case OOM_LIMIT:
		say_limit(x);
		return;
	case OOM_FRAGMENTATION:
		if (x->cached >= x->asked)
			verdict_say(v, TONE_BAD, 95,
			            "Fragmentation: %s are cached, more than was asked for, but in pieces "
			            "none of which is "
			            "large enough (or in another stream's or pool's).",
			            text_bytes(a, x->cached));
		else
			verdict_say(v, TONE_BAD, 95,
			            "Fragmentation: what was free and the %s cached would have been enough "
			            "together (%s), "
			            "but not in one piece.",
			            text_bytes(a, x->cached), text_bytes(b, x->cached + x->free));
		return;
	case OOM_OTHERS:
		say_others(x);
		return;
	case OOM_SHORTAGE:
		say_shortage(x);
		return;
	case OOM_REFUSED:
		verdict_say(
		    v, TONE_BAD, 95,
		    "The device had more free than was asked for (%s), and yet the driver refused: by a "
		    "limit "
		    "outside the framework, memory too scattered, or a moment's use by another process.",
		    text_bytes(a, x->free));
		return;
	default:
		verdict_say(v, TONE_WARNING, 95, "%s",
		            !KNOWN(x->asked) && (KNOWN(x->free) || KNOWN(x->cached))
		                ? "Without the size that was asked for, the cause cannot be told."
		                : "The message does not say how much was free or cached, so the cause cannot be "
		                  "told from it.");
	}
}

/* How the setting is called where the message comes from. */
static const char *expandable_advice(const char *text)
{
	if (strstr(text, "XPU out of memory"))
		return NULL;
	return strstr(text, "PYTORCH_ALLOC_CONF")       ? "PYTORCH_ALLOC_CONF"
	       : strstr(text, "PYTORCH_HIP_ALLOC_CONF") ? "PYTORCH_HIP_ALLOC_CONF"
	                                                : "PYTORCH_CUDA_ALLOC_CONF";
}

static void say_advice(struct explanation *x, const char *text)
{
	struct verdict *v = &x->verdict;
	bool torch = !strcmp(x->source, "pytorch");
	const char *name = expandable_advice(text);
	char a[TEXT_SIZE_MAX];

	switch (x->cause) {
	case OOM_LIMIT:
		if (!x->share)
			verdict_say(
			    v, TONE_ADVICE, 80, "Raise or remove the limit%s, or lower the peak.",
			    torch ? " (set_per_process_memory_fraction, a container's or scheduler's share)"
			          : "");
		break;
	case OOM_FRAGMENTATION:
		if (torch && name)
			verdict_say(v, TONE_ADVICE, 80,
			            "Set %s=expandable_segments:True before the program starts.", name);
		break;
	case OOM_OTHERS:
		verdict_say(v, TONE_ADVICE, 80, "End or move the other processes; nvidia-smi lists them.");
		break;
	case OOM_SHORTAGE:
		verdict_say(v, TONE_ADVICE, 80, "%s",
		            x->host ? "free -h and the memory limit of the container or job say more; fewer "
		                      "workers, less "
		                      "pinned memory, or loading the model in pieces need less."
		                    : "The peak must come down: a smaller batch or sequence, activation "
		                      "checkpointing, lower "
		                      "precision, or sharding. Allocator settings will not help.");
		break;
	default:
		break;
	}
	if (x->advice)
		verdict_say(v, TONE_ADVICE, 70, "%s", x->advice);
	if (torch && KNOWN(x->allocated) && KNOWN(x->total) && x->allocated * 2 < x->total &&
	    x->cause == OOM_SHORTAGE && x->asked <= x->total)
		verdict_say(v, TONE_ADVICE, 75,
		            "Only %s are PyTorch's own: look at what else is on the device.",
		            text_bytes(a, x->allocated));
	if (!x->host)
		verdict_say(v, TONE_ADVICE, 40,
		            "To see who holds the memory, record the program: gpumemsnap record CMD, then "
		            "gpumemsnap report --oom.");
}

void explain_words(struct explanation *x, const char *text)
{
	x->cause = cause_of(x);
	say_asked(x);
	if (x->harmless)
		verdict_say(&x->verdict, TONE_GOOD, 92,
		            "The message itself says that this was no failure: something faster was tried, "
		            "and it went on "
		            "without.");
	say_cause(x);
	say_share(x);
	if (x->nonsense)
		verdict_say(
		    &x->verdict, TONE_WARNING, 50,
		    "A number in the message is impossible (PyTorch prints negative ones, and no limit, as "
		    "17179869184.00 GiB); it was left out.");
	say_advice(x, text);
}
