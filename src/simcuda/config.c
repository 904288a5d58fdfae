/* config.c: GPUMEMSNAP_SIM, what the simulated machine is like and which calls fail.
 *
 *     GPUMEMSNAP_SIM=devices=4,mem=1GiB,context=64MiB,driver=12040,name=Sim,fail=cuMemAlloc:7
 *
 *   devices=N       how many devices (2; 0: none, cuInit fails as on a machine without a GPU)
 *   mem=SIZE        memory of each (16GiB); KiB, MiB, GiB, TiB
 *   context=SIZE    what each context takes of it (a 64th)
 *   driver=VERSION  what cuDriverGetVersion says (13000); newer functions are not found
 *   name=TEXT       the devices' name
 *   fail=NAME:WHICH[:ERROR]   that call of NAME fails: N the Nth, N+ all from it on, N-M these;
 *                   ERROR is a name (OUT_OF_MEMORY, the default) or a number. May be repeated
 *
 * A setting that is not understood is an error of cuInit and one line on stderr: a test that asks
 * for a fault must not pass because of a typing mistake.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simcuda/sim.h"

static const struct {
	int code;
	const char *name;
} errors[] = {
#define SIM_ERROR(number, name, text) {number, #name},
#include "simcuda/errors.def"
#undef SIM_ERROR
};

static bool parse_u64(const char *text, const char *end, uint64_t *out)
{
	char *stop;

	if (text == end || *text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &stop, 10);
	return stop == end;
}

static bool parse_size(const char *text, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t bytes;
	} units[] = {{"", 1}, {"B", 1}, {"KiB", KIB}, {"MiB", MIB}, {"GiB", GIB}, {"TiB", 1024 * GIB}};
	char *stop;
	uint64_t n;

	if (*text < '0' || *text > '9')
		return false;
	n = strtoull(text, &stop, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(stop, units[i].unit) == 0)
			return !__builtin_mul_overflow(n, units[i].bytes, out);
	return false;
}

static bool parse_error(const char *text, CUresult *out)
{
	uint64_t n;

	if (parse_u64(text, text + strlen(text), &n)) {
		*out = (CUresult)n;
		return n > 0 && n <= CUDA_ERROR_UNKNOWN;
	}
	if (strncmp(text, "CUDA_ERROR_", 11) == 0)
		text += 11;
	for (size_t i = 1; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(errors[i].name + 11, text) == 0) {
			*out = (CUresult)errors[i].code;
			return true;
		}
	return false;
}

/* N, N+ or N-M */
static bool parse_which(const char *text, const char *end, struct fault *fault)
{
	const char *dash = memchr(text, '-', (size_t)(end - text));

	if (dash)
		return parse_u64(text, dash, &fault->from) && parse_u64(dash + 1, end, &fault->to) &&
		       fault->from >= 1 && fault->from <= fault->to;
	if (end > text && end[-1] == '+') {
		fault->to = UINT64_MAX;
		return parse_u64(text, end - 1, &fault->from) && fault->from >= 1;
	}
	if (!parse_u64(text, end, &fault->from))
		return false;
	fault->to = fault->from;
	return fault->from >= 1;
}

static bool base_exists(const char *base)
{
	return driver_lookup(base, INT32_MAX, 0) >= 0;
}

static bool parse_fault(struct config *config, const char *text)
{
	struct fault *fault = &config->faults[config->fault_count];
	const char *which = strchr(text, ':');
	const char *end, *error;

	if (!which || config->fault_count == SIM_FAULTS || (size_t)(which - text) >= sizeof(fault->base))
		return false;
	memcpy(fault->base, text, (size_t)(which - text));
	fault->base[which - text] = '\0';
	which++;
	error = strchr(which, ':');
	end = error ? error : which + strlen(which);
	fault->error = CUDA_ERROR_OUT_OF_MEMORY;
	if (!base_exists(fault->base) || !parse_which(which, end, fault))
		return false;
	if (error && !parse_error(error + 1, &fault->error))
		return false;
	config->fault_count++;
	return true;
}

static bool parse_setting(struct config *config, char *setting)
{
	char *value = strchr(setting, '=');
	uint64_t n = 0;

	if (!value)
		return false;
	*value++ = '\0';
	if (strcmp(setting, "mem") == 0)
		return parse_size(value, &config->memory) && config->memory >= SIM_PAGE;
	if (strcmp(setting, "context") == 0)
		return parse_size(value, &config->context);
	if (strcmp(setting, "fail") == 0)
		return parse_fault(config, value);
	if (strcmp(setting, "name") == 0) {
		config->name = value;
		return true;
	}
	if (!parse_u64(value, value + strlen(value), &n))
		return false;
	if (strcmp(setting, "devices") == 0) {
		config->devices = (int)n;
		return n <= SIM_DEVICES;
	}
	if (strcmp(setting, "driver") == 0) {
		config->driver_version = (int)n;
		return n >= 2000 && n <= CUDA_VERSION;
	}
	return false;
}

bool sim_configure(struct config *config)
{
	const char *text = getenv("GPUMEMSNAP_SIM");
	char *copy, *at = NULL;

	*config = (struct config){.devices = 2,
	                          .driver_version = CUDA_VERSION,
	                          .memory = 16 * GIB,
	                          .context = UINT64_MAX,
	                          .name = "gpumemsnap simulated GPU"};
	copy = text ? strdup(text) : NULL; /* kept: the name points into it */
	for (char *s = copy ? strtok_r(copy, ",", &at) : NULL; s; s = strtok_r(NULL, ",", &at))
		if (!parse_setting(config, s)) {
			fprintf(stderr,
			        "gpumemsnap: simulated driver: cannot read \"%s\" in GPUMEMSNAP_SIM=%s\n", s,
			        text);
			return false;
		}
	config->memory = config->memory / SIM_PAGE * SIM_PAGE;
	if (config->context == UINT64_MAX)
		config->context = config->memory / 64;
	config->context = sim_round(config->context, SIM_PAGE);
	return true;
}
