/* outname.c: see outname.h. */
#include "cli/outname.h"
#include "base/mem.h"
#include "base/text.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int add_variable(struct text *t, const char *p, size_t *used, struct err *e)
{
	const char *end = p[0] == '{' ? strchr(p, '}') : NULL;
	const char *value;
	char *name;

	if (!end)
		return err_set(e, ERR_USAGE, NULL, -1, "--output: %%q needs a variable: %%q{NAME}");
	name = mem_strndup(p + 1, (size_t)(end - p) - 1);
	value = getenv(name);
	if (!value)
		err_set(e, ERR_USAGE, NULL, -1, "--output: %%q{%s}: no such environment variable", name);
	else
		text_puts(t, value);
	free(name);
	*used = (size_t)(end - p) + 1;
	return value ? 0 : -1;
}

static void add_host(struct text *t, const char *host)
{
	char name[HOST_NAME_MAX + 1] = "";

	if (!host && !gethostname(name, sizeof name))
		host = name;
	text_puts(t, host && host[0] ? host : "host");
}

char *outname_expand(const char *pattern, const struct outname *who, struct err *e)
{
	struct text t = {0};
	const char *p;
	size_t used = 0;

	for (p = pattern; *p; p++) {
		if (*p != '%') {
			text_add(&t, p, 1);
			continue;
		}
		switch (*++p) {
		case 'p':
			text_i64(&t, who->pid);
			break;
		case 'h':
			add_host(&t, who->host);
			break;
		case 'r':
			text_i64(&t, who->rank < 0 ? 0 : who->rank);
			break;
		case 'q':
			if (add_variable(&t, p + 1, &used, e))
				goto bad;
			p += used;
			break;
		case '%':
			text_add(&t, "%", 1);
			break;
		default:
			err_set(e, ERR_USAGE, NULL, -1,
				"--output: '%%%.1s' means nothing; there are %%p, %%h, %%r, %%q{NAME} and %%%%", p);
			goto bad;
		}
	}
	return t.s ? t.s : mem_strdup("");
bad:
	text_free(&t);
	return NULL;
}

bool outname_is_pattern(const char *pattern)
{
	const char *p;

	for (p = strchr(pattern, '%'); p && p[1] == '%'; p = strchr(p + 2, '%'))
		;
	return p != NULL;
}

char *outname_with(const char *path, const char *word)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(path);
	const char *dot;

	if (n > 3 && !strcmp(path + n - 3, ".gz"))
		n -= 3;
	for (dot = path + n; dot > name && *dot != '.'; dot--)
		;
	if (dot == name)
		dot = path + n; /* no extension, or nothing before it */
	return mem_printf("%.*s.%s%s", (int)(dot - path), path, word, dot);
}

int outname_rank(void)
{
	static const char *const variable[][2] = {{"RANK", "WORLD_SIZE"},
						  {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
						  {"PMI_RANK", "PMI_SIZE"},
						  {"SLURM_PROCID", "SLURM_NTASKS"}};
	size_t i;

	for (i = 0; i < sizeof variable / sizeof *variable; i++) {
		const char *s = getenv(variable[i][0]), *size = getenv(variable[i][1]);
		uint64_t rank;

		if (s && text_parse_u64(s, &rank) && rank <= INT_MAX && !(size && !strcmp(size, "1")))
			return (int)rank;
	}
	return -1;
}
