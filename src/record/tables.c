/* tables.c: what events refer to by number: strings, streams, pools, contexts, and the room in
 * TABLES chunks for these and for stacks, modules and code objects.
 *
 * Always holds: a number is given out only after its record was stored. Looking a number up takes
 * no lock; adding one does.
 */
#include "record/rec.h"
#include <string.h>

static struct rec_lock lock;
static uint8_t *at, *end; /* free room of the current TABLES chunk */

/* --- room ------------------------------------------------------------------------------------------ */
bool rec_tables_lock(const struct rec_lane *lane)
{
	return rec_lock(&lock, lane);
}

void rec_tables_unlock(void)
{
	rec_unlock(&lock);
}

const void *rec_table_put(struct rec_lane *lane, void *head, size_t head_bytes, const void *tail, size_t tail_bytes)
{
	size_t bytes = (head_bytes + tail_bytes + 7) & ~(size_t)7;
	union {
		struct spool_word w;
		uint64_t word;
	} u;
	uint8_t *p;

	if ((size_t)(end - at) < bytes) {
		struct spool_chunk *c = rec_table_chunk(lane);

		if (!c || rec_head->chunk_bytes - sizeof *c < bytes)
			return NULL;
		at = (uint8_t *)(c + 1);
		end = (uint8_t *)c + rec_head->chunk_bytes;
	}
	p = at;
	memcpy(&u, head, sizeof u);
	u.w.words = (uint16_t)(bytes / 8);
	memcpy(p + sizeof u, (const uint8_t *)head + sizeof u, head_bytes - sizeof u);
	if (tail_bytes)
		memcpy(p + head_bytes, tail, tail_bytes);
	__atomic_store_n((uint64_t *)p, u.word, __ATOMIC_RELEASE);
	at += bytes;
	return p;
}

/* --- maps from a handle to its number ---------------------------------------------------------------- */
#define MAP_SLOTS (1u << 17) /* twice what there are numbers; untouched pages cost nothing */

struct slot {
	uint64_t key;	/* handle + 1; 0 = empty */
	uint32_t value; /* the number; 0 = forgotten */
};
struct map {
	struct slot *slot;
	uint32_t count;	     /* numbers given out */
	uint8_t *device;     /* of each number */
	enum spool_kind kind; /* of the record that tells it */
};
static struct map streams = {.kind = SPOOL_STREAM}, pools = {.kind = SPOOL_POOL}, contexts = {.kind = SPOOL_CONTEXT};
static struct map strings = {.kind = SPOOL_STRING}; /* the key is the text's hash */

static uint64_t hash(uint64_t x)
{
	x *= 0x9fb21c651e98df25ull;
	return x ^ x >> 32;
}

/* The slot of a key, or the empty one where it would go; NULL if the map is full. */
static struct slot *find(const struct map *m, uint64_t key)
{
	uint32_t i = (uint32_t)hash(key), n;

	for (n = 0; n < MAP_SLOTS; n++, i++) {
		struct slot *s = &m->slot[i & (MAP_SLOTS - 1)];
		uint64_t k = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);

		if (k == key + 1 || !k)
			return s;
	}
	return NULL;
}

static uint16_t lookup(const struct map *m, uint64_t key)
{
	const struct slot *s = __atomic_load_n(&m->slot, __ATOMIC_ACQUIRE) ? find(m, key) : NULL;

	/* A slot that was empty may have become another key's meanwhile. */
	return s && __atomic_load_n(&s->key, __ATOMIC_ACQUIRE) == key + 1 ? (uint16_t)__atomic_load_n(&s->value, __ATOMIC_ACQUIRE) : 0;
}

static bool map_init(struct map *m)
{
	struct slot *slot = m->slot;

	if (slot)
		return true;
	slot = rec_memory(MAP_SLOTS * sizeof *slot);
	m->device = rec_memory(SPOOL_MANY + 1);
	if (!slot || !m->device)
		return false;
	__atomic_store_n(&m->slot, slot, __ATOMIC_RELEASE);
	return true;
}

/* Under the lock. The caller has written the record. */
static void publish(struct slot *s, uint64_t key, uint16_t number)
{
	__atomic_store_n(&s->value, number, __ATOMIC_RELEASE);
	__atomic_store_n(&s->key, key + 1, __ATOMIC_RELEASE);
}

static uint16_t add(struct rec_lane *lane, struct map *m, uint64_t handle, uint8_t device)
{
	struct spool_handle record = {.w = {.kind = (uint8_t)m->kind, .device = device}, .handle = handle};
	struct slot *s;
	uint16_t number = 0;

	if (!rec_tables_lock(lane))
		return 0;
	if (map_init(m) && (s = find(m, handle)) && !(number = (uint16_t)(s->key ? s->value : 0))) {
		number = m->count + 1 < SPOOL_MANY ? (uint16_t)(m->count + 1) : SPOOL_MANY;
		record.index = number;
		m->device[number] = device;
		if (rec_table_put(lane, &record, sizeof record, NULL, 0)) {
			m->count = number;
			publish(s, handle, number);
		} else {
			number = 0;
		}
	}
	rec_tables_unlock();
	return number;
}

static void forget(struct map *m, uint64_t handle)
{
	struct slot *s = m->slot ? find(m, handle) : NULL;

	if (s && s->key)
		__atomic_store_n(&s->value, 0, __ATOMIC_RELEASE);
	rec_forget_places();
}

/* A program that does it at every step would fill the file: the first ones count. */
static uint32_t n_settings;

void rec_setting(struct rec_lane *lane, struct spool_setting *s)
{
	enum { MOST = 256 };

	s->t_ns = rec_now();
	if (!rec_tables_lock(lane))
		return;
	if (n_settings < MOST && rec_table_put(lane, s, sizeof *s, NULL, 0))
		n_settings++;
	rec_tables_unlock();
}

uint16_t rec_stream(struct rec_lane *lane, uint64_t handle, uint8_t device)
{
	uint16_t n;

	if (handle <= 1) /* the default stream, also by its name CU_STREAM_LEGACY */
		return 0;
	n = lookup(&streams, handle);
	return n ? n : add(lane, &streams, handle, rec_device_of_stream(handle, device));
}

uint16_t rec_pool(struct rec_lane *lane, uint64_t handle, uint8_t device)
{
	uint16_t n;

	if (!handle)
		return 0;
	n = lookup(&pools, handle);
	return n ? n : add(lane, &pools, handle, device);
}

uint16_t rec_context(struct rec_lane *lane, uint64_t handle, uint8_t device)
{
	uint16_t n;

	if (!handle)
		return 0;
	n = lookup(&contexts, handle);
	return n ? n : add(lane, &contexts, handle, device);
}

uint8_t rec_pool_device(uint16_t pool)
{
	return pool && pools.device ? pools.device[pool] : REC_NO_DEVICE;
}

uint8_t rec_stream_device(uint16_t stream)
{
	return streams.device[stream];
}

uint8_t rec_context_device(uint64_t handle)
{
	uint16_t n = lookup(&contexts, handle);

	return n ? contexts.device[n] : REC_NO_DEVICE;
}

uint8_t rec_device_of_pool(uint64_t handle)
{
	return rec_pool_device(lookup(&pools, handle));
}

void rec_pool_forget(uint64_t handle)
{
	forget(&pools, handle);
}

void rec_stream_forget(uint64_t handle)
{
	forget(&streams, handle);
}

void rec_context_forget(uint64_t handle)
{
	forget(&contexts, handle);
}

/* --- strings ------------------------------------------------------------------------------------------- */
static uint64_t hash_text(const char *s, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15ull;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3ull;
	return hash(h) & ~(1ull << 63);
}

uint32_t rec_string(struct rec_lane *lane, const char *text)
{
	struct spool_string record = {.w = {.kind = SPOOL_STRING}};
	size_t n = text ? strnlen(text, 4096) : 0;
	uint64_t key = hash_text(text, n);
	struct slot *s;
	uint32_t id;

	if (!n)
		return 0;
	if ((id = lookup(&strings, key)) || !rec_tables_lock(lane))
		return id;
	if (map_init(&strings) && (s = find(&strings, key)) && !(id = s->key ? s->value : 0) &&
	    strings.count + 1 < SPOOL_MANY) {
		record.id = strings.count + 1;
		record.bytes = (uint32_t)n;
		if (rec_table_put(lane, &record, sizeof record, text, n)) {
			id = ++strings.count;
			publish(s, key, (uint16_t)id);
		}
	}
	rec_tables_unlock();
	return id;
}

void rec_tables_forked(void)
{
	struct map *m[] = {&streams, &pools, &contexts, &strings};
	size_t i;

	at = end = NULL;
	lock.owner = 0;
	n_settings = 0;
	for (i = 0; i < sizeof m / sizeof *m; i++) {
		if (m[i]->slot)
			memset(m[i]->slot, 0, MAP_SLOTS * sizeof(struct slot));
		m[i]->count = 0;
	}
}
