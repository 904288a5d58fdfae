/* text.h: numbers and names to text and back. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growable text buffer; start with {0}. text_free when done. */
struct text {
	char *s;
	size_t n, cap;
};
void text_add(struct text *t, const char *s, size_t n);
void text_puts(struct text *t, const char *s);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_u64(struct text *t, uint64_t v);
void text_i64(struct text *t, int64_t v);
void text_json(struct text *t, const char *s); /* quoted and escaped; invalid UTF-8 becomes U+FFFD */
void text_free(struct text *t);

#define TEXT_SIZE_MAX 32
/* "512 B", "1.50 KiB", "12.00 GiB"; buf has TEXT_SIZE_MAX bytes and is returned. */
char *text_bytes(char *buf, uint64_t bytes);
/* "12 ns", "4.50 us", "12.30 ms", "1.234 s", "2m 03s" */
char *text_ns(char *buf, int64_t ns);
/* "1,234,567" */
char *text_count(char *buf, uint64_t n);
/* Decimal digits of v at p (at most 20, not terminated); returns the end. */
char *text_put_u64(char *p, uint64_t v);

/* "12GiB", "1.5G", "512", "20MB" (decimal) → bytes; false if it is not a size. */
bool text_parse_bytes(const char *s, uint64_t *out);
/* "250ms", "1.5s", "12us", "100" (ns) → ns */
bool text_parse_ns(const char *s, int64_t *out);
bool text_parse_u64(const char *s, uint64_t *out);

/* Length in bytes (1–4) of the valid UTF-8 sequence at s (n bytes left), 0 if invalid there. */
size_t text_utf8_len(const char *s, size_t n);

#endif
