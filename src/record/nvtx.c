/* nvtx.c: NVTX ranges and marks as phases.
 *
 * NVTX (version 3, header only) looks in NVTX_INJECTION64_PATH for a library with the function below
 * and hands it its table of callbacks, once per copy of NVTX in the process. The numbers and layouts
 * are NVTX's stable binary interface, written down here so that no header of it is needed.
 */
#include "record/phases.h"
#include <stddef.h>
#include <string.h>
#include <wchar.h>

/* Modules and their callbacks. */
enum { CORE = 1, CORE2 = 5 };
enum {
	MARK_EX = 1,
	MARK_A = 2,
	MARK_W = 3,
	START_EX = 4,
	START_A = 5,
	START_W = 6,
	END = 7,
	PUSH_EX = 8,
	PUSH_A = 9,
	PUSH_W = 10,
	POP = 11,
};
enum {
	DOMAIN_MARK_EX = 1,
	DOMAIN_START_EX = 2,
	DOMAIN_END = 3,
	DOMAIN_PUSH_EX = 4,
	DOMAIN_POP = 5,
	REGISTER_A = 10,
	REGISTER_W = 11,
	DOMAIN_CREATE_A = 12,
	DOMAIN_CREATE_W = 13,
};
enum { EXPORT_CALLBACKS = 1 };
enum { TEXT_ASCII = 1, TEXT_WIDE = 2, TEXT_REGISTERED = 3 };

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t text_type;
	const void *text;
};

typedef void (*any_fn)(void);
struct callbacks {
	size_t bytes;
	int (*table)(int module, any_fn ***out, unsigned *n); /* an array of places of functions */
};

/* --- texts ------------------------------------------------------------------------------------------- */
#define TEXT_MAX 512

/* Registered names and domains live here for ever; a handle is a pointer to one. */
static char *arena;
static size_t used;
#define ARENA (16u << 20)

static void narrow(char *to, const wchar_t *from)
{
	size_t n = 0;

	for (; from && *from && n + 5 < TEXT_MAX; from++) {
		uint32_t c = (uint32_t)*from;

		if (c < 0x80) {
			to[n++] = (char)c;
		} else if (c < 0x800) {
			to[n++] = (char)(0xc0 | c >> 6);
			to[n++] = (char)(0x80 | (c & 63));
		} else if (c < 0x10000) {
			to[n++] = (char)(0xe0 | c >> 12);
			to[n++] = (char)(0x80 | (c >> 6 & 63));
			to[n++] = (char)(0x80 | (c & 63));
		} else if (c < 0x110000) {
			to[n++] = (char)(0xf0 | c >> 18);
			to[n++] = (char)(0x80 | (c >> 12 & 63));
			to[n++] = (char)(0x80 | (c >> 6 & 63));
			to[n++] = (char)(0x80 | (c & 63));
		}
	}
	to[n] = '\0';
}

static void *keep(const char *text)
{
	static char nameless[] = "";
	size_t n = text ? strnlen(text, TEXT_MAX - 1) : 0, at;
	char *a = __atomic_load_n(&arena, __ATOMIC_ACQUIRE), *mine;

	if (!a) {
		mine = rec_memory(ARENA);
		if (!mine)
			return nameless;
		if (__atomic_compare_exchange_n(&arena, &a, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			a = mine;
	}
	at = __atomic_fetch_add(&used, n + 1, __ATOMIC_RELAXED);
	if (at + n + 1 > ARENA)
		return nameless;
	if (n)
		memcpy(a + at, text, n);
	return a + at;
}

/* The attributes' text; buf is for one that must be converted. */
static const char *text_of(const struct attributes *a, char *buf)
{
	if (!a || a->size < sizeof *a || !a->text)
		return NULL;
	switch (a->text_type) {
	case TEXT_ASCII:
	case TEXT_REGISTERED:
		return a->text;
	case TEXT_WIDE:
		narrow(buf, a->text);
		return buf;
	default:
		return NULL;
	}
}

/* --- callbacks ------------------------------------------------------------------------------------------ */
static uint64_t last_range;

static uint64_t start(struct rec_site site, const char *name, const char *domain)
{
	uint64_t id = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);

	rec_phase(site, SPOOL_BEGIN, name, domain, id);
	return id;
}

static void domain_mark_ex(const char *domain, const struct attributes *a)
{
	char buf[TEXT_MAX];

	rec_phase(REC_SITE, SPOOL_MARK, text_of(a, buf), domain, 0);
}

static uint64_t domain_start_ex(const char *domain, const struct attributes *a)
{
	char buf[TEXT_MAX];

	return start(REC_SITE, text_of(a, buf), domain);
}

static void domain_end(const char *domain, uint64_t id)
{
	rec_phase(REC_SITE, SPOOL_END, NULL, domain, id);
}

/* The depth that NVTX wants of push and pop is nobody's concern here: 0 is a legal answer. */
static int domain_push_ex(const char *domain, const struct attributes *a)
{
	char buf[TEXT_MAX];

	rec_phase(REC_SITE, SPOOL_PUSH, text_of(a, buf), domain, 0);
	return 0;
}

static int domain_pop(const char *domain)
{
	rec_phase(REC_SITE, SPOOL_POP, NULL, domain, 0);
	return 0;
}

static void mark_ex(const struct attributes *a)
{
	domain_mark_ex(NULL, a);
}

static void mark_a(const char *text)
{
	rec_phase(REC_SITE, SPOOL_MARK, text, NULL, 0);
}

static void mark_w(const wchar_t *text)
{
	char buf[TEXT_MAX];

	narrow(buf, text);
	rec_phase(REC_SITE, SPOOL_MARK, buf, NULL, 0);
}

static uint64_t start_ex(const struct attributes *a)
{
	return domain_start_ex(NULL, a);
}

static uint64_t start_a(const char *text)
{
	return start(REC_SITE, text, NULL);
}

static uint64_t start_w(const wchar_t *text)
{
	char buf[TEXT_MAX];

	narrow(buf, text);
	return start(REC_SITE, buf, NULL);
}

static void end(uint64_t id)
{
	domain_end(NULL, id);
}

static int push_ex(const struct attributes *a)
{
	return domain_push_ex(NULL, a);
}

static int push_a(const char *text)
{
	rec_phase(REC_SITE, SPOOL_PUSH, text, NULL, 0);
	return 0;
}

static int push_w(const wchar_t *text)
{
	char buf[TEXT_MAX];

	narrow(buf, text);
	rec_phase(REC_SITE, SPOOL_PUSH, buf, NULL, 0);
	return 0;
}

static int pop(void)
{
	return domain_pop(NULL);
}

static void *register_a(const char *domain, const char *text)
{
	(void)domain;
	return keep(text);
}

static void *register_w(const char *domain, const wchar_t *text)
{
	char buf[TEXT_MAX];

	(void)domain;
	narrow(buf, text);
	return keep(buf);
}

static void *create_a(const char *text)
{
	return keep(text);
}

static void *create_w(const wchar_t *text)
{
	char buf[TEXT_MAX];

	narrow(buf, text);
	return keep(buf);
}

/* --- attaching ---------------------------------------------------------------------------------------------- */
static const struct {
	int module;
	unsigned callback;
	any_fn fn;
} ours[] = {
	{CORE, MARK_EX, (any_fn)mark_ex},
	{CORE, MARK_A, (any_fn)mark_a},
	{CORE, MARK_W, (any_fn)mark_w},
	{CORE, START_EX, (any_fn)start_ex},
	{CORE, START_A, (any_fn)start_a},
	{CORE, START_W, (any_fn)start_w},
	{CORE, END, (any_fn)end},
	{CORE, PUSH_EX, (any_fn)push_ex},
	{CORE, PUSH_A, (any_fn)push_a},
	{CORE, PUSH_W, (any_fn)push_w},
	{CORE, POP, (any_fn)pop},
	{CORE2, DOMAIN_MARK_EX, (any_fn)domain_mark_ex},
	{CORE2, DOMAIN_START_EX, (any_fn)domain_start_ex},
	{CORE2, DOMAIN_END, (any_fn)domain_end},
	{CORE2, DOMAIN_PUSH_EX, (any_fn)domain_push_ex},
	{CORE2, DOMAIN_POP, (any_fn)domain_pop},
	{CORE2, REGISTER_A, (any_fn)register_a},
	{CORE2, REGISTER_W, (any_fn)register_w},
	{CORE2, DOMAIN_CREATE_A, (any_fn)create_a},
	{CORE2, DOMAIN_CREATE_W, (any_fn)create_w},
};

/* 1 = attached; 0 lets NVTX do without a tool, which then unloads nothing: we are preloaded. */
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t));
REC_EXPORT int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
	const struct callbacks *c = export_table(EXPORT_CALLBACKS);
	any_fn **table;
	unsigned n;
	size_t i;

	if (!rec_options.dir[0] || !c || c->bytes < sizeof *c || !c->table)
		return 0;
	for (i = 0; i < sizeof ours / sizeof *ours; i++)
		if (c->table(ours[i].module, &table, &n) && ours[i].callback < n && table[ours[i].callback])
			*table[ours[i].callback] = ours[i].fn;
	return 1;
}
