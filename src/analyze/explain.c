/* explain.c: finds the numbers of PyTorch's out-of-memory messages, and the message in the text.
 *
 * Other programs' messages are rows in explain_known.c; what the numbers mean is in explain_words.c.
 */
#include "analyze/explain.h"
#include "analyze/explain_known.h"
#include "analyze/explain_scan.h"
#include "analyze/explain_words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static uint64_t or_none(uint64_t v)
{
	return v == MODEL_UNKNOWN ? 0 : v;
}

/* "Process 1234 has 20.00 GiB memory in use." as often as it stands there. In a container this process is
 * one of them, by the number that the host gave it: the one that holds what PyTorch holds here. */
static void other_processes(struct explanation *x, const char *text)
{
	uint64_t own = or_none(x->allocated) + or_none(x->cached), room = scan_minus(x->total, x->free), v,
	         best = 0;
	const char *at = text, *end;

	x->others = 0;
	while ((at = strstr(at, "Process ")) != NULL) {
		at += strlen("Process ");
		while (isdigit((unsigned char)*at))
			at++;
		if (strncmp(at, " has ", 5) || !scan_size(at + 5, &v, &end) || v >= SCAN_IMPOSSIBLE)
			continue;
		x->others += v;
		x->n_others++;
		if (v >= own && (!best || v < best))
			best = v;
	}
	if (x->process == MODEL_UNKNOWN && best && room != MODEL_UNKNOWN && x->others + own > room) {
		x->own_by_other_name = true;
		x->process = best;
		x->others -= best;
		x->n_others--;
	}
	if (!x->n_others)
		x->others = MODEL_UNKNOWN;
}

/* PyTorch 2.1 and later: sentences. 2.1 wrote "capacty". */
static bool pytorch_new(struct explanation *x, const char *text)
{
	const char *capacity = strstr(text, "has a total capac");

	if (!capacity)
		return false;
	x->writer = "PyTorch 2.1 or later";
	x->device = scan_number(text, "GPU ");
	x->total = scan_after(capacity, "ty of ");
	x->free = scan_after(capacity, "of which ");
	x->process = scan_after(text, "this process has ");
	x->allowed = scan_before(text, " allowed;");
	x->allocated = scan_after(text, "Of the allocated memory ");
	x->private_pools = scan_before(text, " allocated in private pools");
	x->cached = scan_before(text, " is reserved by PyTorch but unallocated");
	return true;
}

/* Before 2.1: one parenthesis. "cached" became "reserved in total by PyTorch" in 1.4. */
static bool pytorch_old(struct explanation *x, const char *text)
{
	uint64_t reserved;

	if (!strstr(text, " total capacity;"))
		return false;
	x->writer = "PyTorch before 2.1";
	x->device = scan_number(text, "(GPU ");
	x->total = scan_before(text, " total capacity;");
	x->allocated = scan_before(text, " already allocated;");
	x->free = scan_before(text, " free;");
	x->allowed = scan_before(text, " allowed;");
	reserved = scan_before(text, " reserved in total by PyTorch");
	x->cached =
	    reserved != MODEL_UNKNOWN ? scan_minus(reserved, x->allocated) : scan_before(text, " cached");
	return true;
}

/* Numbers that cannot be are dropped. */
static void only_plausible(struct explanation *x)
{
	uint64_t *const v[] = {&x->asked,   &x->total,     &x->free,   &x->process,
	                       &x->allowed, &x->allocated, &x->cached, &x->private_pools};
	size_t i;

	for (i = 0; i < sizeof v / sizeof *v; i++)
		if (*v[i] != MODEL_UNKNOWN && *v[i] >= SCAN_IMPOSSIBLE) {
			*v[i] = MODEL_UNKNOWN;
			x->nonsense = true;
		}
}

static void pytorch(struct explanation *x, const char *text)
{
	uint64_t used;

	x->source = "pytorch";
	x->writer = "PyTorch";
	x->asked = scan_after(text, "ried to allocate ");
	if (!pytorch_new(x, text))
		pytorch_old(x, text);
	only_plausible(x);
	other_processes(x, text);
	used = x->process != MODEL_UNKNOWN ? x->process
	                                   : scan_minus(scan_minus(x->total, x->free), or_none(x->others));
	x->other_memory = scan_minus(scan_minus(used, x->allocated), x->cached);
}

static void begin(struct explanation *x)
{
	*x = (struct explanation){.device = -1,
	                          .asked = MODEL_UNKNOWN,
	                          .total = MODEL_UNKNOWN,
	                          .free = MODEL_UNKNOWN,
	                          .process = MODEL_UNKNOWN,
	                          .others = MODEL_UNKNOWN,
	                          .allowed = MODEL_UNKNOWN,
	                          .allocated = MODEL_UNKNOWN,
	                          .cached = MODEL_UNKNOWN,
	                          .private_pools = MODEL_UNKNOWN,
	                          .other_memory = MODEL_UNKNOWN,
	                          .cause = OOM_UNKNOWN};
}

/* One search for both spellings: a log may hold very many messages. */
static char *next_pytorch(char *text)
{
	static const char sign[] = "out of memory. ";
	char *at = text;

	for (; (at = strstr(at, sign)) != NULL; at++)
		if (!strncasecmp(at + sizeof sign - 1, "tried to allocate", 17))
			return at;
	return NULL;
}

/* Each of PyTorch's messages alone: a log of several ranks or attempts must not mix their numbers. */
static bool pytorch_first(struct explanation *x, char *text)
{
	char *at = next_pytorch(text), *next, *cut, kept = 0;
	struct explanation other;

	if (!at)
		return false;
	for (bool first = true; at; at = next, first = false) {
		next = next_pytorch(at + 1);
		cut = next ? next : strchr(at, 0);
		kept = *cut;
		*cut = 0;
		begin(&other);
		pytorch(first ? x : &other, at);
		if (!first && (other.asked != x->asked || other.device != x->device ||
		               other.free != x->free || other.allocated != x->allocated))
			x->more++;
		*cut = kept;
	}
	return true;
}

bool explain(const char *text, struct explanation *out)
{
	char *line = scan_one_line(text);
	bool found;

	begin(out);
	found = pytorch_first(out, line);
	if (!found && explain_known(out, line)) {
		only_plausible(out);
		if (out->asked == MODEL_UNKNOWN && !out->host && !out->share)
			out->cause = OOM_UNKNOWN; /* it was judged by a number that cannot be */
		found = true;
	}
	if (found)
		explain_words(out, line);
	free(line);
	return found;
}

void explain_free(struct explanation *x)
{
	verdict_free(&x->verdict);
}
