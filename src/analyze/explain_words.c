/* explain_words.c: why a request failed, judged from the numbers in the message alone. */
#include "analyze/explain_words.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

#define KNOWN(v) ((v) != MODEL_UNKNOWN)
#define MIB      (1024ull * 1024)
#define GIB      (1024 * MIB)

static enum oom_cause cause_of(const struct explanation *x)
{
	if (KNOWN(x->allowed) && KNOWN(x->asked) && (!KNOWN(x->free) || x->free >= x->asked))
		return OOM_LIMIT;
	if (!KNOWN(x->asked))
		return OOM_UNKNOWN;
	if (KNOWN(x->cached) && x->cached >= x->asked)
		return OOM_FRAGMENTATION;
	if (!KNOWN(x->free))
		return OOM_UNKNOWN;
	if (x->free >= x->asked)
		return OOM_LIMIT;
	if (KNOWN(x->others) && x->others >= x->asked - x->free && x->others > GIB)
		return OOM_OTHERS;
	return OOM_SHORTAGE;
}

static void say_asked(struct explanation *x)
{
	struct verdict *v = &x->verdict;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], c[TEXT_SIZE_MAX], gpu[32] = "the device";

	if (x->device >= 0)
		snprintf(gpu, sizeof gpu, "GPU %d", x->device);
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
	if (x->source == EXPLAIN_PYTORCH && x->asked >= 2 * MIB && x->asked % (2 * MIB) == 0)
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
	if (KNOWN(x->other_memory) && x->other_memory > GIB)
		verdict_say(&x->verdict, TONE_WARNING, 54,
		            KNOWN(x->process)
		                ? "%s of this process are not the framework's: CUDA context, NCCL, cuBLAS "
		                  "workspaces, other libraries."
		                : "%s are neither the framework's nor free: CUDA context, libraries, other "
		                  "processes.",
		            text_bytes(a, x->other_memory));
}

static void say_cause(struct explanation *x)
{
	struct verdict *v = &x->verdict;
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];
	uint64_t have = (KNOWN(x->free) ? x->free : 0) + (KNOWN(x->cached) ? x->cached : 0);

	switch (x->cause) {
	case OOM_LIMIT:
		if (KNOWN(x->allowed))
			verdict_say(
			    v, TONE_BAD, 95,
			    "A limit was reached: this process may hold %s, although the device had room.",
			    text_bytes(a, x->allowed));
		else
			verdict_say(v, TONE_BAD, 95,
			            "The device had more free than was asked for, so a limit on this process "
			            "(a memory fraction) or a moment's use by another one stood in the way.");
		return;
	case OOM_FRAGMENTATION:
		verdict_say(v, TONE_BAD, 95,
		            "Fragmentation: %s are cached, more than was asked for, but in pieces none of "
		            "which is large enough (or in another stream's or pool's).",
		            text_bytes(a, x->cached));
		return;
	case OOM_OTHERS:
		verdict_say(v, TONE_BAD, 95,
		            "Other processes hold %s of this device (%u named): without them the request "
		            "would have fitted.",
		            text_bytes(a, x->others), x->n_others);
		return;
	case OOM_SHORTAGE:
		if (have >= x->asked)
			verdict_say(
			    v, TONE_BAD, 95,
			    "Free and cached memory together (%s) would have been just enough, but not "
			    "in one piece.",
			    text_bytes(a, have));
		else
			verdict_say(v, TONE_BAD, 95,
			            "A real shortage: even with the whole cache, only %s were to be had; %s "
			            "were missing.",
			            text_bytes(a, have), text_bytes(b, x->asked - have));
		return;
	default:
		verdict_say(v, TONE_WARNING, 95,
		            "The message does not say how much was free or cached, so the cause cannot be "
		            "told from it.");
	}
}

static void say_advice(struct explanation *x, const char *text)
{
	struct verdict *v = &x->verdict;
	bool expandable = strstr(text, "expandable_segments: True") != NULL;
	char a[TEXT_SIZE_MAX];

	switch (x->cause) {
	case OOM_LIMIT:
		verdict_say(v, TONE_ADVICE, 80,
		            "Raise or remove the limit (torch.cuda.set_per_process_memory_fraction, a "
		            "container's or scheduler's share), or lower the peak.");
		break;
	case OOM_FRAGMENTATION:
		if (!expandable)
			verdict_say(v, TONE_ADVICE, 80,
			            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the program "
			            "starts.");
		break;
	case OOM_OTHERS:
		verdict_say(v, TONE_ADVICE, 80, "End or move the other processes; nvidia-smi lists them.");
		break;
	case OOM_SHORTAGE:
		verdict_say(v, TONE_ADVICE, 80,
		            "The peak must come down: a smaller batch or sequence, activation "
		            "checkpointing, lower precision, or sharding. Allocator settings will not help.");
		break;
	default:
		break;
	}
	if (x->source == EXPLAIN_XLA)
		verdict_say(v, TONE_ADVICE, 70,
		            "JAX takes 75 %% of the device at start (XLA_PYTHON_CLIENT_PREALLOCATE, "
		            "XLA_PYTHON_CLIENT_MEM_FRACTION); what it could not get is inside that share.");
	if (x->source == EXPLAIN_TENSORFLOW)
		verdict_say(v, TONE_ADVICE, 70,
		            "TensorFlow takes nearly the whole device at start; set_memory_growth makes it "
		            "grow instead. The log lines above the error list what was in use.");
	if (x->source == EXPLAIN_RMM)
		verdict_say(v, TONE_ADVICE, 70,
		            "If the pool resource has a maximum size, raise it; RMM's log (RMM_LOG_FILE) can "
		            "be read with gpumemsnap report.");
	if (x->source == EXPLAIN_CUDA)
		verdict_say(v, TONE_ADVICE, 70,
		            "It came from a direct CUDA call (a context, a library, a kernel's stack), not "
		            "from a caching allocator: see how much of the device was free then.");
	if (x->source == EXPLAIN_PYTORCH && KNOWN(x->allocated) && KNOWN(x->total) &&
	    x->allocated * 2 < x->total && x->cause == OOM_SHORTAGE)
		verdict_say(v, TONE_ADVICE, 75,
		            "Only %s are PyTorch's own: look at what else is on the device.",
		            text_bytes(a, x->allocated));
	verdict_say(v, TONE_ADVICE, 40,
	            "To see who holds the memory, record the program: gpumemsnap record CMD, then "
	            "gpumemsnap report --oom.");
}

void explain_words(struct explanation *x, const char *text)
{
	x->cause = cause_of(x);
	say_asked(x);
	say_cause(x);
	say_share(x);
	if (x->nonsense)
		verdict_say(&x->verdict, TONE_WARNING, 50,
		            "A number in the message is impossible (PyTorch prints negative "
		            "ones as 17179869184.00 GiB); it was left out.");
	say_advice(x, text);
}
