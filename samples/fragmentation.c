/* fragmentation.c: out of memory although enough memory is free.
 *
 * The driver gets memory in pages of 2 MiB and packs small allocations together, here four tiles of
 * 512 KiB to a page. A page goes back only when all of it is free. The program fills 512 MiB with
 * tiles and then frees three of every four: 384 MiB are unused, but in no page are they all.
 *
 * Expected story: a request for 64 MiB fails. Live at that moment: the rest of the device (ballast)
 * and 256 tiles, 128 MiB, one in each page, allocated in load_tile; they pin 512 MiB.
 */
#include "sample.h"

enum { TILES = 1024, KEEP_EVERY = 4 };

static CUdeviceptr tile[TILES];

NAMED static CUdeviceptr load_tile(void)
{
	CUdeviceptr at;

	CU(cuMemAlloc(&at, 512 * KIB));
	return at;
}

/* Leaves 528 MiB free, whatever the device has: the tiles, and what a driver takes along with them. */
NAMED static CUdeviceptr take_ballast(void)
{
	CUdeviceptr at;
	size_t available, total;

	CU(cuMemGetInfo(&available, &total));
	if (available < 1024 * MIB) {
		fprintf(stderr, "fragmentation: needs 1 GiB of free device memory\n");
		exit(1);
	}
	CU(cuMemAlloc(&at, (available / (2 * MIB) - 264) * 2 * MIB));
	return at;
}

NAMED static CUresult build_atlas(void)
{
	CUdeviceptr at;

	return cuMemAlloc(&at, 64 * MIB);
}

int main(void)
{
	size_t available, total;
	CUdeviceptr ballast;
	CUresult result;

	use_device(0);
	ballast = take_ballast();
	for (int i = 0; i < TILES; i++)
		tile[i] = load_tile();
	for (int i = 0; i < TILES; i++)
		if (i % KEEP_EVERY)
			CU(cuMemFree(tile[i]));
	CU(cuMemGetInfo(&available, &total));
	result = build_atlas();
	printf("fragmentation: 384 of 512 MiB of tiles freed, the device has %zu MiB free: an atlas of 64 "
	       "MiB %s\n",
	       available / (size_t)MIB,
	       result == CUDA_ERROR_OUT_OF_MEMORY ? "does not fit" : "fits (this driver packs differently)");
	CU(cuMemFree(ballast));
	return result != CUDA_ERROR_OUT_OF_MEMORY;
}
