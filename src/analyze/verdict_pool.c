/* verdict_pool.c: one allocation that is most of a device: a framework took its pool at the start.
 *
 * JAX takes three quarters of the device when it comes to it, TensorFlow nearly all; what happens inside
 * such a pool the driver does not see, and neither do we. Not said where a framework's own history shows it.
 */
#include "analyze/verdict.h"
#include <string.h>

#define LEAST_SHARE 0.4 /* of the device, from which on one allocation is taken for a pool */

#define JAX_ADVICE                                                                                            \
	"XLA_PYTHON_CLIENT_PREALLOCATE=false makes JAX's pool grow as needed, XLA_PYTHON_CLIENT_MEM_FRACTION=.5 " \
	"takes half of the device; jax.profiler.save_device_memory_profile() tells what is inside, and this "    \
	"program reads its file."
#define TENSORFLOW_ADVICE "TF_FORCE_GPU_ALLOW_GROWTH=true makes TensorFlow's pool grow as needed."
#define RMM_ADVICE                                                                                            \
	"rmm.reinitialize(pool_allocator=True, initial_pool_size=...) takes less at the start; with "            \
	"logging=True, RMM writes a log of what is inside, which this program reads."

static const struct maker {
	const char *sign; /* in the path of a program file on the stack */
	const char *name, *advice;
} makers[] = {
	{"/jaxlib/", "JAX", JAX_ADVICE},
	{"xla_cuda_plugin", "JAX", JAX_ADVICE},
	{"xla_extension", "JAX", JAX_ADVICE},
	{"libtensorflow", "TensorFlow", TENSORFLOW_ADVICE},
	{"/tensorflow/python/", "TensorFlow", TENSORFLOW_ADVICE},
	{"librmm", "RMM", RMM_ADVICE},
};

static const struct maker *maker_of(const struct model *m, uint32_t stack)
{
	size_t i, k, n;
	const uint32_t *frame = model_stack_frames(m, stack, &n);

	for (k = 0; k < sizeof makers / sizeof *makers; k++)
		for (i = 0; i < n; i++)
			if (strstr(model_text(m, m->frames.v[frame[i]].module), makers[k].sign) ||
			    strstr(model_text(m, m->frames.v[frame[i]].file), makers[k].sign))
				return &makers[k];
	return NULL;
}

/* The row of the device's largest allocation, if that is a large part of the device; else m->ev.n. */
static size_t find_pool(const struct model *m, uint8_t device, uint64_t total)
{
	const struct columns *c = &m->ev;
	uint64_t most = (uint64_t)((double)total * LEAST_SHARE);
	size_t row, found = c->n;

	for (row = 0; row < c->n; row++)
		if (c->size[row] >= most && c->device[row] == device && GMS_OP_ACTION(c->op[row]) == GMS_A_ALLOC &&
		    gms_kind_info[GMS_OP_KIND(c->op[row])].flags & GMS_ON_DEVICE) {
			most = c->size[row] + 1;
			found = row;
		}
	return found;
}

void verdict_pool(struct verdict *v, const struct report *r, const struct report_device *d)
{
	const struct model *m = r->m;
	uint64_t total = m->device[d->device].total;
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];
	const struct maker *maker;
	size_t row;

	if (total == MODEL_UNKNOWN || !total || d->t->level == GMS_FRAMEWORK)
		return;
	row = find_pool(m, d->device, total);
	maker = row < m->ev.n ? maker_of(m, m->ev.stack[row]) : NULL;
	if (!maker)
		return;
	verdict_say(v, TONE_PLAIN, 88,
		    "%s reserved %s, %.0f %% of GPU %u, in one allocation (%s in): a pool that it divides itself, unseen by "
		    "the driver.",
		    maker->name, text_bytes(size, m->ev.size[row]), 100.0 * (double)m->ev.size[row] / (double)total, d->device,
		    m->has_time ? text_ns(time, m->ev.t_ns[row]) : "at the start");
	verdict_say(v, TONE_ADVICE, 60, "%s", maker->advice);
}
