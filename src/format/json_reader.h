/* json_reader.h: what json_read.c (header) and json_rows.c (tables) and json_events.c share. Nobody else's. */
#ifndef FORMAT_JSON_READER_H
#define FORMAT_JSON_READER_H

#include "format/json.h"
#include "format/json_scan.h"
#include "format/json_tables.h"

/* The file's numbers of a table's rows → the model's. The same, in a file that we wrote. */
struct ids {
	uint32_t *v;
	size_t n, cap;
};

enum json_event_field { F_T, F_OP, F_DEVICE, F_ADDR, F_SIZE, F_STREAM, F_STACK, F_THREAD, F_POOL, F_BLOCK };
#define FIELD_UNKNOWN (-1) /* a field of a newer writer */
#define FIELDS_MAX    32   /* fields of a row that are looked at */

/* Which of our fields stand in a row, in the row's order. */
struct row_shape {
	int field[FIELDS_MAX];
	size_t n;
};

struct json_reader {
	const struct input *in;
	struct model *m;
	struct err *e;
	struct json_scan s;
	bool cut;
	const unsigned char *shapes; /* the value of "table_fields", NULL if there is none */
	struct row_shape events;
	uint8_t op[256];	/* the file's number of an op → ours */
	bool op_known[256];
	size_t n_ops;
	struct ids strings, frames, stacks, threads, streams, pools;
};

/* The file is damaged at p. Returns false. */
bool json_bad(struct json_reader *r, const unsigned char *p, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What the scanner stumbled over, if it did: a cut sets r->cut and is no failure. */
bool json_settle(struct json_reader *r);

bool json_read_shape(struct json_reader *r, const char *const *known, size_t n_known, struct row_shape *out);
/* One row of integers, put in the order of our fields; what is not there is null. */
bool json_read_row(struct json_reader *r, const struct row_shape *shape, struct json_cell *cells, size_t n);
bool json_read_strings(struct json_reader *r);
bool json_read_stacks(struct json_reader *r);
bool json_read_table(struct json_reader *r, enum json_table_id t);
bool json_read_events(struct json_reader *r);

#endif
