/* leak.cu: samples/leak.c on the CUDA runtime, with a kernel that uses what was uploaded. */
#include "cu.h"

enum { IMAGES = 200, EVERY = 5 };

static unsigned char pixels[1 << 20];
static int thumbnails;

__global__ void blur(unsigned char *image, size_t n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (i + 1 < n)
		image[i] = (image[i] + image[i + 1]) / 2;
}

NAMED static unsigned char *upload(size_t bytes)
{
	unsigned char *at;

	OK(cudaMalloc(&at, bytes));
	OK(cudaMemcpy(at, pixels, bytes, cudaMemcpyHostToDevice));
	blur<<<(unsigned)(bytes / 256), 256>>>(at, bytes);
	OK(cudaGetLastError());
	return at;
}

NAMED static void show_image(void)
{
	unsigned char *image = upload(sizeof(pixels));

	OK(cudaFree(image));
}

NAMED static void make_thumbnail(void)
{
	upload(64 * 1024); /* the bug: nobody keeps the address */
	thumbnails++;
}

int main(void)
{
	void *model;

	OK(cudaMalloc(&model, 8 * MIB));
	for (int i = 0; i < IMAGES; i++) {
		show_image();
		if (i % EVERY == 0)
			make_thumbnail();
	}
	OK(cudaFree(model));
	OK(cudaDeviceSynchronize());
	expect("device", IMAGES + thumbnails + 1, IMAGES + 1, (size_t)thumbnails * 64 * 1024);
	return finish();
}
