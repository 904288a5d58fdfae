/* carry.c: what a new program's environment must hold to be recorded as this one is, also if it is given one of its
 * own (env -i) or an LD_PRELOAD of its own.
 *
 * Noted when the library is loaded: the program may change its environment later. Of a list of places, what is ours
 * are the entries in our own folder; they go in front of the program's. No memory but the caller's: it may be a child
 * of vfork.
 */
#include "record/carry.h"
#include "record/rec.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { VALUE, PLACE, PLACES /* separated by colons */ };
static struct carried {
	const char *name;
	enum kind kind;
	const char *ours; /* NULL: nothing */
} carried[] = {{"LD_PRELOAD", PLACES, NULL},	     {"GPUMEMSNAP_SPOOL", VALUE, NULL},
	       {"GPUMEMSNAP_OPTIONS", VALUE, NULL},  {"GPUMEMSNAP_ALLOCATOR", VALUE, NULL},
	       {"GPUMEMSNAP_TORCH", VALUE, NULL},    {"PYTHONPATH", PLACES, NULL},
	       {"LD_LIBRARY_PATH", PLACES, NULL},    {"NVTX_INJECTION64_PATH", PLACE, NULL}};
_Static_assert(sizeof carried / sizeof *carried == CARRIED, "carry.h knows how many");

/* --- what is ours ----------------------------------------------------------------------------------------- */
static const char *our_path(void)
{
	Dl_info self;

	return dladdr(carried, &self) && self.dli_fname && self.dli_fname[0] == '/' ? self.dli_fname : NULL;
}

static char room[4096]; /* of all that is ours */
static size_t used;

static const char *keep(const char *s, size_t n)
{
	char *to = room + used;

	if (n >= sizeof room - used)
		return NULL;
	memcpy(to, s, n);
	used += n + 1; /* the rest is 0 */
	return to;
}

/* The entries at the front of a list that lie in our folder. */
static const char *our_entries(const char *list, const char *folder, size_t n)
{
	const char *end = list;

	while (!strncmp(end, folder, n)) {
		end += strcspn(end, ":");
		if (!*end)
			return keep(list, (size_t)(end - list));
		end++;
	}
	return end > list ? keep(list, (size_t)(end - list - 1)) : NULL;
}

void rec_carry_init(void)
{
	const char *self = our_path(), *value;
	size_t i, folder = self ? (size_t)(strrchr(self, '/') + 1 - self) : 0;

	for (i = 0; self && rec_options.dir[0] && i < CARRIED; i++) {
		value = getenv(carried[i].name);
		if (value)
			carried[i].ours = carried[i].kind == VALUE ? keep(value, strlen(value)) :
								     our_entries(value, self, folder);
	}
	if (folder && rec_options.dir[0] && !carried[0].ours) /* loaded in another way */
		carried[0].ours = keep(self, strlen(self));
}

/* --- a new program's ---------------------------------------------------------------------------------------- */
static const char *value_in(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && line[n] == '=' ? line + n + 1 : NULL;
}

bool rec_carry_lacks(char *const envp[], struct rec_carry *c)
{
	const char *value;
	size_t i;

	*c = (struct rec_carry){0};
	for (; envp && envp[c->n]; c->n++)
		for (i = 0; i < CARRIED; i++)
			if (carried[i].ours && !c->at[i] && (value = value_in(envp[c->n], carried[i].name))) {
				c->at[i] = c->n + 1;
				c->has[i] = carried[i].kind != PLACES || strstr(value, carried[i].ours);
				c->bytes += strlen(envp[c->n]);
			}
	for (i = 0; i < CARRIED; i++)
		if (carried[i].ours && !c->has[i]) {
			c->lacks = true;
			c->bytes += strlen(carried[i].name) + strlen(carried[i].ours) + sizeof "=:";
		}
	return c->lacks;
}

char *const *rec_carry_mend(char *const envp[], const struct rec_carry *c, char **env, char *to)
{
	size_t i, n = c->n;
	const char *rest;

	if (n)
		memcpy(env, envp, n * sizeof *env);
	for (i = 0; i < CARRIED; i++) {
		if (!carried[i].ours || c->has[i])
			continue;
		*to = '\0';
		rec_cat(to, c->bytes, carried[i].name);
		rec_cat(to, c->bytes, "=");
		rec_cat(to, c->bytes, carried[i].ours);
		rest = c->at[i] ? value_in(envp[c->at[i] - 1], carried[i].name) : "";
		rec_cat(to, c->bytes, *rest ? ":" : "");
		rec_cat(to, c->bytes, rest);
		env[c->at[i] ? c->at[i] - 1 : n++] = to;
		to += strlen(to) + 1;
	}
	env[n] = NULL;
	return env;
}

/* --- a command for the shell, which libc starts by itself with the environment as it is ---------------------- */
#define COMMAND_MAX 8192 /* it is copied to the caller's stack */

size_t rec_carry_command_bytes(const char *command)
{
	struct rec_carry c;
	size_t i, bytes = command ? strnlen(command, COMMAND_MAX) : COMMAND_MAX;

	if (bytes == COMMAND_MAX || !rec_carry_lacks(environ, &c))
		return 0;
	for (i = 0; i < CARRIED; i++) {
		if (carried[i].ours && strchr(carried[i].ours, '\''))
			return 0;
		bytes += 3 * strlen(carried[i].name) + (carried[i].ours ? strlen(carried[i].ours) : 0) + 32;
	}
	return bytes + 1;
}

const char *rec_carry_command(const char *command, char *to, size_t bytes)
{
	struct rec_carry c;
	size_t i;

	rec_carry_lacks(environ, &c);
	*to = '\0';
	for (i = 0; i < CARRIED; i++) {
		if (!carried[i].ours || c.has[i])
			continue;
		rec_cat(to, bytes, "export ");
		rec_cat(to, bytes, carried[i].name);
		rec_cat(to, bytes, "='");
		rec_cat(to, bytes, carried[i].ours);
		rec_cat(to, bytes, "'");
		if (carried[i].kind == PLACES) {
			rec_cat(to, bytes, "\"${");
			rec_cat(to, bytes, carried[i].name);
			rec_cat(to, bytes, ":+:$");
			rec_cat(to, bytes, carried[i].name);
			rec_cat(to, bytes, "}\"");
		}
		rec_cat(to, bytes, "; ");
	}
	rec_cat(to, bytes, command);
	return to;
}
