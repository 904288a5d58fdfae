/* face_error.c: the last error of each thread, as a sentence. */
#include "alloc/face.h"
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[640];

int gma_fail(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return error;
}

GMA_EXPORT const char *gma_error_text(void)
{
	return text;
}
