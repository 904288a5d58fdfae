/* cfi.c: walk the stack by the call frame information (.eh_frame) of the code on it.
 *
 * For nearly all code that compilers make, a frame's end is the stack or frame pointer plus a constant,
 * the return address stands just below it, and the caller's frame pointer is unchanged or stands at a
 * constant distance: a rule of 64 bits. Rules are found once per address and kept in a small table; so
 * a step is one look into the table and two loads. Anything else (signal frames, expressions, code
 * without information) is left to libunwind.
 *
 * No locks, no memory but the table. x86-64 only; elsewhere every walk is left to libunwind.
 */
#include "record/cfi.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__

/* --- rules ------------------------------------------------------------------------------------------- */
enum { RULE_STEP = 1, RULE_END = 2, RULE_NONE = 3 };

/* kind | from_bp << 2 | bp_saved << 3 | bp offset / 8 << 4 (20 bits, signed) | end offset << 24 */
static uint64_t rule_of(int kind, bool from_bp, int64_t offset, bool bp_saved, int64_t bp_offset)
{
	return (uint64_t)kind | (uint64_t)from_bp << 2 | (uint64_t)bp_saved << 3 |
	       ((uint64_t)(bp_offset / 8) & 0xfffff) << 4 | (uint64_t)offset << 24;
}

static inline int rule_kind(uint64_t r)
{
	return r & 3;
}

static inline int64_t rule_offset(uint64_t r)
{
	return (int64_t)r >> 24;
}

static inline int64_t rule_bp_offset(uint64_t r)
{
	return ((int64_t)(r << 40) >> 44) * 8;
}

/* --- reading .eh_frame --------------------------------------------------------------------------------- */
struct bytes {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t fixed(struct bytes *b, unsigned n)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->at) < n) {
		b->bad = true;
		b->at = b->end;
		return 0;
	}
	memcpy(&v, b->at, n);
	b->at += n;
	return v;
}

static uint64_t leb(struct bytes *b, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0, byte;

	do {
		byte = (unsigned)fixed(b, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 127) << shift;
		shift += 7;
	} while (byte & 128);
	if (is_signed && shift < 64 && (byte & 64))
		v |= ~0ull << shift;
	return v;
}

static uint64_t uleb(struct bytes *b)
{
	return leb(b, false);
}

static int64_t sleb(struct bytes *b)
{
	return (int64_t)leb(b, true);
}

/* A pointer in one of the encodings that code uses: absolute or relative to itself. */
static uint64_t pointer(struct bytes *b, unsigned encoding)
{
	uint64_t here = (uintptr_t)b->at, v;

	switch (encoding & 15) {
	case 0: /* as an address */
	case 4:
	case 12:
		v = fixed(b, 8);
		break;
	case 3:
		v = fixed(b, 4);
		break;
	case 11:
		v = (uint64_t)(int64_t)(int32_t)fixed(b, 4);
		break;
	default:
		b->bad = true;
		return 0;
	}
	if ((encoding & 0x70) == 0x10)
		v += here;
	else if (encoding & 0x70)
		b->bad = true;
	return v;
}

struct cie {
	uint64_t code_align;
	int64_t data_align;
	unsigned encoding;
	bool augmented, signal_frame;
	struct bytes program;
};

/* One entry, length first. */
static struct bytes entry_at(const uint8_t *p)
{
	uint32_t n;

	memcpy(&n, p, 4);
	if (n >= 0xfffffff0u)
		return (struct bytes){p, p, true};
	return (struct bytes){p + 4, p + 4 + n, false};
}

static bool read_cie(const uint8_t *p, struct cie *c)
{
	struct bytes b = entry_at(p);
	const char *augmentation;
	unsigned version;

	*c = (struct cie){0};
	if (b.bad || fixed(&b, 4) != 0)
		return false;
	version = (unsigned)fixed(&b, 1);
	augmentation = (const char *)b.at;
	while (!b.bad && fixed(&b, 1))
		;
	c->code_align = uleb(&b);
	c->data_align = sleb(&b);
	if ((version != 1 && version != 3) || (version == 1 ? fixed(&b, 1) : uleb(&b)) != 16)
		return false;
	if (*augmentation == 'z') {
		uint64_t n = uleb(&b);
		const uint8_t *after = b.at + n;

		if (b.bad || n > (size_t)(b.end - b.at))
			return false;
		for (augmentation++; *augmentation; augmentation++) {
			if (*augmentation == 'R')
				c->encoding = (unsigned)fixed(&b, 1);
			else if (*augmentation == 'L')
				fixed(&b, 1);
			else if (*augmentation == 'P') {
				pointer(&b, (unsigned)fixed(&b, 1) & 15); /* only its size matters */
			} else if (*augmentation == 'S')
				c->signal_frame = true;
			else if (*augmentation != 'B')
				return false;
		}
		b.at = after;
		c->augmented = true;
	} else if (*augmentation) {
		return false;
	}
	c->program = b;
	return !b.bad;
}

/* --- running its programs ------------------------------------------------------------------------------- */
enum { SAME, AT_OFFSET, UNDEFINED, OTHER };
enum { RBP = 6, RSP = 7, RA = 16 };

struct row {
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool cfa_other; /* an expression */
	uint8_t bp, ra; /* what is known of these two registers */
	int64_t bp_offset, ra_offset;
};

struct machine {
	struct row row, first, kept[8];
	unsigned n_kept;
	uint64_t at, target;
	const struct cie *cie;
};

static void set_register(struct machine *m, uint64_t reg, int what, int64_t offset)
{
	if (reg == RBP) {
		m->row.bp = (uint8_t)what;
		m->row.bp_offset = offset;
	} else if (reg == RA) {
		m->row.ra = (uint8_t)what;
		m->row.ra_offset = offset;
	}
}

static void restore_register(struct machine *m, uint64_t reg)
{
	if (reg == RBP)
		set_register(m, reg, m->first.bp, m->first.bp_offset);
	else if (reg == RA)
		set_register(m, reg, m->first.ra, m->first.ra_offset);
}

static void skip_block(struct bytes *b)
{
	uint64_t n = uleb(b);

	if (n > (size_t)(b->end - b->at))
		b->bad = true;
	else
		b->at += n;
}

static void define_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->row.cfa_register = reg;
	m->row.cfa_offset = offset;
	m->row.cfa_other = false;
}

/* Instructions about the frame's end (CFA). */
static void cfa_instruction(struct machine *m, struct bytes *b, unsigned op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = uleb(b);
		define_cfa(m, reg, (int64_t)uleb(b));
		break;
	case 0x0d: /* def_cfa_register */
		m->row.cfa_register = uleb(b);
		break;
	case 0x0e: /* def_cfa_offset */
		m->row.cfa_offset = (int64_t)uleb(b);
		break;
	case 0x0f: /* def_cfa_expression */
		skip_block(b);
		m->row.cfa_other = true;
		break;
	case 0x12: /* def_cfa_sf */
		reg = uleb(b);
		define_cfa(m, reg, sleb(b) * m->cie->data_align);
		break;
	default: /* def_cfa_offset_sf */
		m->row.cfa_offset = sleb(b) * m->cie->data_align;
	}
}

/* Instructions about where a register of the caller is. */
static void register_instruction(struct machine *m, struct bytes *b, unsigned op)
{
	uint64_t reg = uleb(b);

	switch (op) {
	case 0x05: /* offset_extended */
		set_register(m, reg, AT_OFFSET, (int64_t)uleb(b) * m->cie->data_align);
		break;
	case 0x06: /* restore_extended */
		restore_register(m, reg);
		break;
	case 0x07: /* undefined */
		set_register(m, reg, UNDEFINED, 0);
		break;
	case 0x08: /* same_value */
		set_register(m, reg, SAME, 0);
		break;
	case 0x10: /* expression, val_expression */
	case 0x16:
		skip_block(b);
		set_register(m, reg, OTHER, 0);
		break;
	case 0x11: /* offset_extended_sf */
		set_register(m, reg, AT_OFFSET, sleb(b) * m->cie->data_align);
		break;
	default: /* register, val_offset, val_offset_sf */
		uleb(b);
		set_register(m, reg, OTHER, 0);
	}
}

/* The instructions whose operand is not in the opcode. False: one we do not know. */
static bool extended(struct machine *m, struct bytes *b, unsigned op)
{
	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x01: /* set_loc */
		m->at = pointer(b, m->cie->encoding);
		return true;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		m->at += fixed(b, 1u << (op - 2)) * m->cie->code_align;
		return true;
	case 0x0a: /* remember_state */
		if (m->n_kept == sizeof m->kept / sizeof *m->kept)
			return false;
		m->kept[m->n_kept++] = m->row;
		return true;
	case 0x0b: /* restore_state */
		if (!m->n_kept)
			return false;
		m->row = m->kept[--m->n_kept];
		return true;
	case 0x2e: /* GNU_args_size */
		uleb(b);
		return true;
	case 0x0c:
	case 0x0d:
	case 0x0e:
	case 0x0f:
	case 0x12:
	case 0x13:
		cfa_instruction(m, b, op);
		return true;
	default:
		if (op > 0x16)
			return false;
		register_instruction(m, b, op);
		return true;
	}
}

/* Run until the row that holds at the target is complete. */
static bool run(struct machine *m, struct bytes b)
{
	while (b.at < b.end && !b.bad) {
		unsigned op = (unsigned)fixed(&b, 1), low = op & 63;
		struct row before = m->row;
		uint64_t was = m->at;

		switch (op >> 6) {
		case 1: /* advance_loc */
			m->at += low * m->cie->code_align;
			break;
		case 2: /* offset */
			set_register(m, low, AT_OFFSET, (int64_t)uleb(&b) * m->cie->data_align);
			break;
		case 3: /* restore */
			restore_register(m, low);
			break;
		default:
			if (!extended(m, &b, low))
				return false;
		}
		if (m->at != was && m->at > m->target) {
			m->row = before;
			return !b.bad;
		}
	}
	return !b.bad;
}

static uint64_t rule_of_row(const struct row *r)
{
	if (r->ra == UNDEFINED)
		return RULE_END;
	if (r->cfa_other || (r->cfa_register != RSP && r->cfa_register != RBP) || r->ra != AT_OFFSET ||
	    r->ra_offset != -8 || (r->bp != SAME && r->bp != AT_OFFSET) || r->bp_offset % 8 ||
	    r->bp_offset < -(1 << 21) || r->bp_offset > 1 << 21 || r->cfa_offset < 0 || r->cfa_offset > 1ll << 36)
		return RULE_NONE;
	return rule_of(RULE_STEP, r->cfa_register == RBP, r->cfa_offset, r->bp == AT_OFFSET, r->bp_offset);
}

static uint64_t rule_by_fde(const uint8_t *fde, uint64_t pc, bool is_start)
{
	struct bytes b = entry_at(fde);
	struct machine m = {.row = {.ra = AT_OFFSET, .ra_offset = -8}};
	const uint8_t *here = b.at;
	uint64_t begin, length;
	struct cie cie;

	if (b.bad || !read_cie(here - (int64_t)fixed(&b, 4), &cie) || cie.signal_frame)
		return RULE_NONE;
	begin = pointer(&b, cie.encoding);
	length = pointer(&b, cie.encoding & 15);
	if (b.bad || pc < begin || pc - begin >= length)
		return RULE_NONE;
	if (is_start)
		return pc == begin ? RULE_END : RULE_NONE;
	if (cie.augmented)
		skip_block(&b);
	m.cie = &cie;
	m.target = UINT64_MAX;
	if (!run(&m, cie.program))
		return RULE_NONE;
	m.first = m.row;
	m.at = begin;
	m.target = pc;
	return run(&m, b) ? rule_of_row(&m.row) : RULE_NONE;
}

/* .eh_frame_hdr: a table of functions by address, for the binary search. */
static uint64_t rule_by_header(const uint8_t *header, uint64_t pc, bool is_start)
{
	struct bytes b = {header, header + 64, false};
	unsigned pointer_encoding, count_encoding, table_encoding;
	uint64_t count, lo = 0, hi;
	const int32_t *table;

	if (fixed(&b, 1) != 1)
		return RULE_NONE;
	pointer_encoding = (unsigned)fixed(&b, 1);
	count_encoding = (unsigned)fixed(&b, 1);
	table_encoding = (unsigned)fixed(&b, 1);
	pointer(&b, pointer_encoding);
	count = pointer(&b, count_encoding);
	if (b.bad || table_encoding != 0x3b || !count) /* relative to the header, 4 bytes each */
		return RULE_NONE;
	table = (const int32_t *)(const void *)b.at;
	for (hi = count; lo + 1 < hi;) {
		uint64_t mid = lo + (hi - lo) / 2;

		if ((uintptr_t)header + (uint64_t)(int64_t)table[2 * mid] <= pc)
			lo = mid;
		else
			hi = mid;
	}
	return rule_by_fde(header + table[2 * lo + 1], pc, is_start);
}

static uint64_t find_rule(uint64_t pc)
{
	struct dl_find_object object;
	uint64_t rule = RULE_NONE;

	/* pc is a return address; the call before it is what the rule must be for. */
	if (_dl_find_object((void *)(uintptr_t)(pc - 1), &object) == 0 && object.dlfo_eh_frame)
		rule = rule_by_header(object.dlfo_eh_frame, pc - 1, false);
	/* There was none where a function begins: makecontext put it there, below a new stack's first function. */
	if (rule == RULE_NONE && _dl_find_object((void *)(uintptr_t)pc, &object) == 0 && object.dlfo_eh_frame)
		rule = rule_by_header(object.dlfo_eh_frame, pc, true);
	return rule;
}

/* --- the table of known rules ---------------------------------------------------------------------------- */
#define KNOWN (1u << 13)

/* Entries are replaced without a lock; pc and rule are stored as pc ^ rule and rule, so that a mixture of
 * two entries is none. */
static struct known {
	uint64_t mixed, rule;
} known[KNOWN];

static inline uint64_t rule_at(uint64_t pc)
{
	struct known *k = &known[(pc * 0x9e3779b97f4a7c15ull) >> 51];
	uint64_t rule = __atomic_load_n(&k->rule, __ATOMIC_RELAXED);

	if (__builtin_expect((__atomic_load_n(&k->mixed, __ATOMIC_RELAXED) ^ rule) == pc && rule, 1))
		return rule;
	rule = find_rule(pc);
	__atomic_store_n(&k->rule, rule, __ATOMIC_RELAXED);
	__atomic_store_n(&k->mixed, pc ^ rule, __ATOMIC_RELAXED);
	return rule;
}

void rec_cfi_flush(void)
{
	unsigned i;

	for (i = 0; i < KNOWN; i++) {
		__atomic_store_n(&known[i].mixed, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&known[i].rule, 0, __ATOMIC_RELAXED);
	}
}

/* --- the walk ----------------------------------------------------------------------------------------------- */
/* The part of the stack that was found readable, for this thread. Wrong information about code must not
 * make us read where nothing is. */
struct readable {
	uint64_t lo, hi;
};
static __thread struct readable readable;

/* The kernel reads the set of signals before it looks at what is to be done with it, which is nothing it knows. */
static bool probe(uint64_t page)
{
	return syscall(SYS_rt_sigprocmask, -1, page, NULL, 8) < 0 && errno == EINVAL;
}

/* May the 8 bytes at `at` be read? The stack's pages are probed once each, upwards from sp. */
static bool may_read(uint64_t sp, uint64_t at)
{
	struct readable *r = &readable;

	if (__builtin_expect(at >= r->lo && at + 8 <= r->hi, 1))
		return true;
	if (at & 7 || at < sp || at - sp > 64u << 20)
		return false;
	if (sp < r->lo || sp >= r->hi)
		*r = (struct readable){sp & ~4095ull, (sp & ~4095ull) + 4096};
	while (at + 8 > r->hi) {
		if (!probe(r->hi))
			return false;
		r->hi += 4096;
	}
	return true;
}

int rec_cfi_walk(struct rec_registers r, struct rec_step *out, int max, bool *ended)
{
	uint64_t low = r.sp;
	int n;

	*ended = false;
	for (n = 0; n < max; n++) {
		uint64_t rule = rule_at(r.pc), end;

		if (rule_kind(rule) != RULE_STEP) {
			*ended = rule_kind(rule) == RULE_END;
			return *ended ? n : -1;
		}
		end = (rule & 4 ? r.bp : r.sp) + (uint64_t)rule_offset(rule);
		if (end < r.sp + 8 || !may_read(low, end - 8))
			return -1;
		out[n].at = end - 8;
		out[n].pc = *(const uint64_t *)(uintptr_t)(end - 8);
		out[n].bp_at = rule & 8 ? end + (uint64_t)rule_bp_offset(rule) : 0;
		if (rule & 8) {
			if (!may_read(low, out[n].bp_at))
				return -1;
			r.bp = *(const uint64_t *)(uintptr_t)out[n].bp_at;
		}
		out[n].bp = r.bp;
		r.pc = out[n].pc;
		r.sp = end;
		if (!r.pc) { /* as some write the end of a thread's stack */
			*ended = true;
			return n;
		}
	}
	return n;
}

bool rec_cfi_root(uint64_t pc)
{
	return rule_kind(rule_at(pc)) == RULE_END;
}

#else

bool rec_cfi_root(uint64_t pc)
{
	(void)pc;
	return true;
}

int rec_cfi_walk(struct rec_registers r, struct rec_step *out, int max, bool *ended)
{
	(void)r;
	(void)out;
	(void)max;
	*ended = false;
	return -1;
}

void rec_cfi_flush(void)
{
}

#endif
