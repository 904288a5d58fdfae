/* jitted.c: an allocation below code that was made at run time, without unwind information, which uses the
 * frame pointer for something else. */
#include "gpu.h"
#include <sys/mman.h>

static void leaf(void)
{
	gpu_get(555);
}

int main(void)
{
#ifdef __x86_64__
	/* push rbp; sub rsp, 32; mov rbp, 17; call rdi; add rsp, 32; pop rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0x48, 0xc7, 0xc5, 0x11, 0x00,
					     0x00, 0x00, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 77;
	memcpy(at, code, sizeof code);
	gpu_start();
	((void (*)(void (*)(void)))at)(leaf);
	return 0;
#else
	return 77;
#endif
}
