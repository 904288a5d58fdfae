/* err.c: filling struct err. */
#include "base/err.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_kind kind, const char *file, int64_t offset, const char *fmt, ...)
{
	va_list ap;

	if (e->kind != ERR_NONE)
		return -1;
	e->kind = kind;
	e->offset = offset;
	snprintf(e->file, sizeof e->file, "%s", file ? file : "");
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *e, const char *file, const char *call)
{
	return err_set(e, ERR_SYSTEM, file, -1, "%s: %s", call, strerror(errno));
}
