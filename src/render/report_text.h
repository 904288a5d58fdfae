/* report_text.h: the report for people: verdict, tables, details on request. */
#ifndef RENDER_REPORT_TEXT_H
#define RENDER_REPORT_TEXT_H

#include "analyze/report.h"
#include "render/page.h"

enum report_section { /* bits; 0: the usual choice */
	              SECTION_PEAK = 1 << 0,
	              SECTION_LEAKS = 1 << 1,
	              SECTION_GROWTH = 1 << 2,
	              SECTION_FRAG = 1 << 3,
	              SECTION_OOM = 1 << 4,
	              SECTION_POOLS = 1 << 5,
	              SECTION_STREAMS = 1 << 6,
	              SECTION_THREADS = 1 << 7,
	              SECTION_PHASES = 1 << 8,
	              SECTION_STACKS = 1 << 9,
	              SECTION_SIZES = 1 << 10,
	              SECTION_CHURN = 1 << 11,
	              SECTION_ACCOUNTING = 1 << 12,
};

struct report_text_options {
	unsigned sections;
	size_t top; /* rows per table; 0: all */
	bool charts;
	bool brief;       /* title and verdict only */
	enum group_by by; /* of the peak table */
};
void report_text(struct page *p, const struct report *r, const struct report_text_options *o);

/* The sections (report_sections.c); each prints nothing but a word if there is nothing to tell. */
struct section {
	struct page *p;
	const struct report *r;
	const struct report_device *d;
	const struct report_text_options *o;
	bool asked; /* by name: also say that there is nothing */
};
void section_peak(const struct section *s);
void section_leaks(const struct section *s);
void section_leaks_apart(const struct section *s);
void section_growth(const struct section *s);
void section_frag(const struct section *s);
void section_oom(const struct section *s);
void section_groups(const struct section *s, enum group_by by, const char *title);
void section_stacks(const struct section *s);
void section_anomalies(const struct section *s);
void section_churn(const struct section *s);
void section_accounting(const struct section *s); /* accounting_out.c */

#endif
