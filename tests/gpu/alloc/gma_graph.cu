/* gma_graph.cu: a CUDA graph whose memory comes from a private pool, replayed among other work.
 *
 * The capture allocates temporaries and frees them; their addresses are in the graph for ever. While it
 * is replayed, the program fills blocks of its own: if one of them shared an address with the graph's
 * temporaries, the patterns would be wrong.
 */
#include <cstdint>

#include "../cu.h"
#include "gpumemalloc.h"

__global__ void fill(uint32_t *p, size_t n, uint32_t value)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		p[i] = value + (uint32_t)i;
}

__global__ void add(uint32_t *out, const uint32_t *a, const uint32_t *b, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		out[i] = a[i] + b[i];
}

__global__ void check(const uint32_t *p, size_t n, uint32_t value, uint32_t step, unsigned long long *bad)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		if (p[i] != value + step * (uint32_t)i)
			atomicAdd(bad, 1ull);
}

#define N (512 * 1024)

static struct gma *g;
static cudaStream_t s;

static uint32_t *take(size_t bytes)
{
	void *p;

	if (gma_malloc(g, &p, bytes, (gma_stream)(uintptr_t)s)) {
		fprintf(stderr, "%s\n", gma_error_text());
		exit(1);
	}
	return (uint32_t *)p;
}

static cudaGraphExec_t capture(struct gma_pool *pool, uint32_t *out)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	uint32_t *a, *b, *c;

	gma_pool_begin(g, pool, 1);
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	a = take(N * 4);
	b = take(N * 4);
	fill<<<64, 128, 0, s>>>(a, N, 1);
	fill<<<64, 128, 0, s>>>(b, N, 2);
	c = take(N * 4);
	add<<<64, 128, 0, s>>>(c, a, b, N);
	gma_free(g, a);
	a = take(N * 4); /* the same address again, inside the capture */
	fill<<<64, 128, 0, s>>>(a, N, 10);
	add<<<64, 128, 0, s>>>(out, c, a, N);
	gma_free(g, a);
	gma_free(g, b);
	gma_free(g, c);
	OK(cudaStreamEndCapture(s, &graph));
	gma_pool_end(g, pool);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphDestroy(graph));
	return exec;
}

int main(int argc, char **argv)
{
	struct gma_backend cuda;
	struct gma_pool *pool;
	struct gma_stats before, after;
	unsigned long long *wrong;
	uint32_t *out, *mine[16];
	cudaGraphExec_t exec;
	const char *bad;

	OK(cudaSetDevice(0));
	OK(cudaFree(0));
	OK(cudaMallocManaged(&wrong, sizeof *wrong));
	*wrong = 0;
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	if (gma_cuda_open(0, &cuda) || !(g = gma_create(argc > 1 ? argv[1] : "", &cuda)) || gma_pool_create(g, 0, &pool)) {
		fprintf(stderr, "%s\n", gma_error_text());
		return 1;
	}
	out = take(N * 4);
	exec = capture(pool, out);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 16; i++) {
			mine[i] = take(N * 4);
			fill<<<64, 128, 0, s>>>(mine[i], N, 1000u * (uint32_t)i);
		}
		OK(cudaGraphLaunch(exec, s));
		check<<<64, 128, 0, s>>>(out, N, 13, 3, wrong);
		for (int i = 0; i < 16; i++) {
			check<<<64, 128, 0, s>>>(mine[i], N, 1000u * (uint32_t)i, 1, wrong);
			gma_free(g, mine[i]);
		}
	}
	OK(cudaStreamSynchronize(s));
	gma_empty_cache(g);
	gma_stats(g, &before);
	OK(cudaGraphExecDestroy(exec));
	gma_pool_release(g, pool);
	gma_free(g, out);
	gma_empty_cache(g);
	gma_stats(g, &after);
	bad = gma_valid(g);
	printf("wrong=%llu valid=%s kept=%lld left=%lld\n", *wrong, bad ? bad : "yes",
	       (long long)before.reserved_bytes[0].current, (long long)after.reserved_bytes[0].current);
	gma_destroy(g);
	gma_cuda_close(&cuda);
	return *wrong || bad || !before.reserved_bytes[0].current || after.reserved_bytes[0].current;
}
