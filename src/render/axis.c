/* axis.c: steps and labels of axes. */
#include "render/axis.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

uint64_t axis_bytes_step(uint64_t max, int n)
{
	uint64_t step = 1;

	while (step < UINT64_MAX / 4 && max / step > (uint64_t)n)
		step *= 2;
	return step;
}

char *axis_bytes(char *buf, size_t size, uint64_t v)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	int u = 0;
	double x = (double)v;

	while (x >= 1024 && u < 6)
		x /= 1024, u++;
	if (v)
		snprintf(buf, size, "%.4g %s", x, unit[u]);
	else
		snprintf(buf, size, "0");
	return buf;
}

/* 1, 2 or 5 times a power of ten. */
static int64_t decimal_step(int64_t range, int n)
{
	int64_t power = 1;

	while (power < INT64_MAX / 100 && range / (power * 10) >= n)
		power *= 10;
	for (int i = 0; i < 2; i++) {
		static const int64_t times[] = {1, 2, 5};
		for (int k = 0; k < 3; k++)
			if (range / (power * times[k]) <= n)
				return power * times[k];
		power *= 10;
	}
	return power;
}

int64_t axis_time_step(int64_t range, int n, bool has_time)
{
	static const int64_t long_step[] = {10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE,      2 * MINUTE,
	                                    5 * MINUTE,  10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,
	                                    2 * HOUR,    3 * HOUR,    6 * HOUR,    12 * HOUR,   24 * HOUR};
	int64_t step = decimal_step(range, n);

	if (!has_time || range <= 2 * MINUTE)
		return step;
	for (size_t i = 0; i < sizeof long_step / sizeof *long_step; i++)
		if (range / long_step[i] <= n)
			return long_step[i];
	return (range / (24 * HOUR) / n + 1) * 24 * HOUR;
}

/* Digits behind the point that tell neighbours apart. */
static int digits(int64_t step, int64_t unit)
{
	int n = 0;

	for (; unit > 1 && step % unit; n++)
		unit /= 10;
	return n;
}

char *axis_time(char *buf, size_t size, int64_t t, int64_t step, bool has_time)
{
	static const struct {
		const char *name;
		int64_t ns;
	} unit[] = {{"ns", 1}, {"\xc2\xb5s", 1000}, {"ms", 1000000}, {"s", SECOND}};
	int64_t left = t < 0 ? -t : t;
	const char *sign = t < 0 ? "\xe2\x88\x92" : "";
	int u = 3;

	if (!has_time) {
		char n[TEXT_SIZE_MAX];
		snprintf(buf, size, "%s%s", sign, text_count(n, (uint64_t)left));
	} else if (!t) {
		snprintf(buf, size, "0");
	} else if (left >= HOUR) {
		snprintf(buf, size, "%s%" PRId64 ":%02" PRId64 ":%02" PRId64 " h", sign, left / HOUR,
		         left % HOUR / MINUTE, left % MINUTE / SECOND);
	} else if (left >= 2 * MINUTE && step >= SECOND) {
		snprintf(buf, size, "%s%" PRId64 ":%02" PRId64 " min", sign, left / MINUTE,
		         left % MINUTE / SECOND);
	} else {
		while (u && left < unit[u].ns)
			u--;
		snprintf(buf, size, "%s%.*f %s", sign, digits(step, unit[u].ns),
		         (double)left / (double)unit[u].ns, unit[u].name);
	}
	return buf;
}
