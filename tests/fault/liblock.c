/* liblock.c: an allocator's lock: held around allocations, and taken by others. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int locked_allocs(int (*alloc)(unsigned long long *, size_t), int n);
void take_lock(void);

int locked_allocs(int (*alloc)(unsigned long long *, size_t), int n)
{
	unsigned long long p;
	int r = 0;

	while (n-- && !r) {
		pthread_mutex_lock(&lock);
		r = alloc(&p, 64);
		pthread_mutex_unlock(&lock);
	}
	return r;
}

void take_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}
