/* axis.h: round numbers for axes: bytes in IEC steps, times in steps people count in. */
#ifndef RENDER_AXIS_H
#define RENDER_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The smallest round step that divides max into at most n parts. */
uint64_t axis_bytes_step(uint64_t max, int n);
/* "512 MiB", "1.5 GiB": shorter than text_bytes, exact for multiples of a step. */
char *axis_bytes(char *buf, size_t size, uint64_t v);

/* The same for times (nanoseconds), or plain counts if has_time is false. */
int64_t axis_time_step(int64_t range, int n, bool has_time);
/* "0", "250 ms", "1.5 s", "2:30 min"; the step tells how many digits are worth writing. */
char *axis_time(char *buf, size_t size, int64_t t, int64_t step, bool has_time);

#endif
