/* explain_scan.h: numbers and phrases of a message that stands on one line. Only explain*.c uses it. */
#ifndef ANALYZE_EXPLAIN_SCAN_H
#define ANALYZE_EXPLAIN_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define SCAN_IMPOSSIBLE (1ull << 50) /* no device has a PiB */

/* One space for every run of white space, as logs wrap lines; to be freed. */
char *scan_one_line(const char *text);
/* A size at s such as "734.00 MiB", "378.60M", "17,179 bytes"; without a unit these are bytes. Every writer
 * that we know means 1024 by K, whether an i follows or not. *end is behind it. */
bool scan_size(const char *s, uint64_t *out, const char **end);
/* The size right behind the first place where the phrase is followed by one; MODEL_UNKNOWN. */
uint64_t scan_after(const char *text, const char *phrase);
/* The size right before the phrase; MODEL_UNKNOWN. */
uint64_t scan_before(const char *text, const char *phrase);
/* The number right behind a phrase, -1 if there is none. */
int scan_number(const char *text, const char *phrase);

/* a - b, at least 0, if both are known. */
uint64_t scan_minus(uint64_t a, uint64_t b);

#endif
