/* json_tables.h: the names of a snapshot's keys and fields, once for reader and writer.
 *
 * JSON_TABLE(name, fields…): a table is an array of rows of integers, written in this order; a
 * row's place is its number, which other tables and the events refer to. Rows of later tables
 * may refer to earlier ones only. Only json_read.c, json_rows.c and json_write.c include this.
 */
#ifndef FORMAT_JSON_TABLES_H
#define FORMAT_JSON_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_VERSION 1

#define JSON_EVENT_FIELDS "t_ns", "op", "device", "addr", "size", "stream", "stack", "thread", "pool", "block"
#define JSON_N_EVENT_FIELDS 10 /* "block" is left out where no event has one */

#define JSON_TABLES                                                                                \
	JSON_TABLE(frames, "function", "file", "line", "module")                                   \
	JSON_TABLE(threads, "tid", "name")                                                         \
	JSON_TABLE(streams, "handle", "device")                                                    \
	JSON_TABLE(pools, "handle", "id0", "id1", "device", "size_class")                          \
	JSON_TABLE(phases, "name", "domain", "thread", "device", "begin_ns", "end_ns")             \
	JSON_TABLE(blocks, "addr", "size", "requested", "stack", "state")                          \
	JSON_TABLE(segments, "addr", "size", "requested", "stack", "stream", "pool", "device",     \
		   "size_class", "expandable", "first_block", "blocks")                            \
	JSON_TABLE(failures, "event", "error", "free", "total")

enum json_table_id {
#define JSON_TABLE(name, ...) JSON_T_##name,
	JSON_TABLES
#undef JSON_TABLE
	JSON_N_TABLES
};
#define JSON_MAX_FIELDS 11

struct json_table_names {
	const char *name;
	const char *field[JSON_MAX_FIELDS + 1]; /* ends with NULL */
};
static const struct json_table_names json_tables[JSON_N_TABLES] = {
#define JSON_TABLE(name, ...) {#name, {__VA_ARGS__}},
	JSON_TABLES
#undef JSON_TABLE
};

/* Signed columns; there null stands for JSON_SIGNED_UNKNOWN (a phase that is still open). */
#define JSON_SIGNED_UNKNOWN INT64_MAX
static inline bool json_is_signed(enum json_table_id t, size_t field)
{
	return (t == JSON_T_phases && field >= 4) || (t == JSON_T_failures && field == 1);
}

/* enum source, enum history and enum note_kind as words */
static const char *const json_sources[] = {"gpumemsnap", "torch", "rmm", "jax", NULL};
static const char *const json_histories[] = {"none", "partial", "complete", NULL};
static const char *const json_note_kinds[] = {"info", "warning", "inconsistent", NULL};

#endif
