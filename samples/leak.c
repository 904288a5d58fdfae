/* leak.c: a leak in one of two places that call the same function.
 *
 * A server shows 200 images; every fifth gets a thumbnail too. Both are uploaded by upload(), so a
 * list of allocating functions alone says nothing. The image is given back; the thumbnail is not.
 *
 * Expected story: 40 allocations of 64 KiB live at the end, 2.5 MiB, all with make_thumbnail on
 * their stack and none with show_image; the model (8 MiB) is freed at the end and is no leak.
 */
#include <string.h>

#include "sample.h"

enum { IMAGES = 200, EVERY = 5 };

static unsigned char pixels[1024 * 1024];
static int thumbnails;

NAMED static CUdeviceptr upload(size_t bytes)
{
	CUdeviceptr at;

	CU(cuMemAlloc(&at, bytes));
	CU(cuMemcpyHtoD(at, pixels, bytes));
	return at;
}

NAMED static void show_image(int number)
{
	CUdeviceptr image;

	memset(pixels, number, sizeof(pixels));
	image = upload(sizeof(pixels));
	CU(cuMemFree(image));
}

NAMED static void make_thumbnail(int number)
{
	memset(pixels, number, 64 * KIB);
	upload(64 * KIB); /* the bug: nobody keeps the address */
	thumbnails++;
}

int main(void)
{
	CUdeviceptr model;

	use_device(0);
	CU(cuMemAlloc(&model, 8 * MIB));
	for (int i = 0; i < IMAGES; i++) {
		show_image(i);
		if (i % EVERY == 0)
			make_thumbnail(i);
	}
	CU(cuMemFree(model));
	printf("leak: %d images shown, %d thumbnails made\n", IMAGES, thumbnails);
	return 0;
}
