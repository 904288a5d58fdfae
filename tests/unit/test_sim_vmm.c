/* test_sim_vmm.c: the simulated driver's virtual memory, sharing between processes, and graphs. */
#include <string.h>

#include "sim.h"

static CUmemAllocationProp on_device(int device)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	                             .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

static CUmemGenericAllocationHandle create(size_t bytes)
{
	CUmemAllocationProp prop = on_device(0);
	CUmemGenericAllocationHandle handle;

	OK(cuMemCreate(&handle, bytes, &prop, 0));
	return handle;
}

static void allow(CUdeviceptr at, size_t bytes)
{
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
	                          .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

	OK(cuMemSetAccess(at, bytes, &access, 1));
}

static CUdeviceptr reserve(size_t bytes)
{
	CUdeviceptr at;

	OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
	return at;
}

SIM_CASE(addresses_cost_no_memory_and_handles_do, "mem=64MiB,context=0")
{
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;

	sim_use(0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, 4096, 0, 0, 0));
	at = reserve(1024 * 1024 * MIB);
	CHECK(sim_free() == 64 * MIB);
	handle = create(4 * MIB);
	CHECK(sim_free() == 60 * MIB);
	OK(cuMemRelease(handle));
	CHECK(sim_free() == 64 * MIB);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 2 * MIB));
	OK(cuMemAddressFree(at, 1024 * 1024 * MIB));
}

SIM_CASE(memory_released_before_its_unmapping_lives_until_then, "mem=64MiB,context=0")
{
	CUmemGenericAllocationHandle handle, again;
	CUdeviceptr at;

	sim_use(0);
	at = reserve(8 * MIB);
	handle = create(4 * MIB);
	OK(cuMemMap(at, 4 * MIB, 0, handle, 0));
	OK(cuMemRelease(handle));
	CHECK(sim_free() == 60 * MIB);
	OK(cuMemRetainAllocationHandle(&again, (void *)(at + 3 * MIB)));
	CHECK(again == handle);
	OK(cuMemRelease(again));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 8 * MIB));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(at, 2 * MIB));
	OK(cuMemUnmap(at, 4 * MIB));
	CHECK(sim_free() == 64 * MIB);
	OK(cuMemAddressFree(at, 8 * MIB));
}

SIM_CASE(one_memory_mapped_twice_is_the_same_bytes, "mem=64MiB,context=0")
{
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;
	char byte = 0;

	sim_use(0);
	at = reserve(8 * MIB);
	handle = create(4 * MIB);
	OK(cuMemMap(at, 4 * MIB, 0, handle, 0));
	OK(cuMemMap(at + 4 * MIB, 4 * MIB, 0, handle, 0));
	CHECK(sim_free() == 60 * MIB);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 5, 1)); /* no access yet */
	allow(at, 8 * MIB);
	OK(cuMemsetD8(at + 100, 5, 1));
	OK(cuMemcpyDtoH(&byte, at + 4 * MIB + 100, 1));
	CHECK(byte == 5);
	OK(cuMemsetD8(at + 2 * MIB, 6, 4 * MIB)); /* across the two */
	OK(cuMemUnmap(at, 8 * MIB));
}

SIM_CASE(mappings_stay_inside_reservations_and_apart, "mem=64MiB,context=0")
{
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;

	sim_use(0);
	at = reserve(4 * MIB);
	handle = create(4 * MIB);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(at + 2 * MIB, 4 * MIB, 0, handle, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(at + 64 * MIB, 2 * MIB, 0, handle, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, 1 * MIB, 0, handle, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, 2 * MIB, 0, handle, 0)); /* only whole */
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, 2 * MIB, 2 * MIB, handle, 0));
	OK(cuMemMap(at, 4 * MIB, 0, handle, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, 4 * MIB, 0, handle, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(at, 2 * MIB));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 4 * MIB));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
}

SIM_CASE(reservations_honour_alignment_and_hints, "")
{
	CUdeviceptr at, wanted;

	sim_use(0);
	OK(cuMemAddressReserve(&at, 2 * MIB, 512 * MIB, 0, 0));
	CHECK(at % (512 * MIB) == 0);
	wanted = at + 4096 * MIB;
	OK(cuMemAddressReserve(&at, 64 * MIB, 0, wanted, 0));
	CHECK(at == wanted);
	OK(cuMemAddressReserve(&at, 64 * MIB, 0, wanted, 0)); /* only a hint */
	CHECK(at != wanted);
}

SIM_CASE(imported_memory_of_ones_own_is_one_memory, "mem=64MiB,context=0")
{
	CUmemGenericAllocationHandle handle, imported;
	CUdeviceptr at;
	char byte = 0;
	int fd;

	sim_use(0);
	at = reserve(4 * MIB);
	handle = create(2 * MIB);
	OK(cuMemMap(at, 2 * MIB, 0, handle, 0));
	allow(at, 2 * MIB);
	OK(cuMemsetD8(at, 8, 2 * MIB));
	OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	OK(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
	                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	CHECK(sim_free() == 62 * MIB);
	OK(cuMemMap(at + 2 * MIB, 2 * MIB, 0, imported, 0));
	allow(at + 2 * MIB, 2 * MIB);
	OK(cuMemcpyDtoH(&byte, at + 3 * MIB, 1));
	CHECK(byte == 8);
	OK(cuMemUnmap(at, 4 * MIB));
	OK(cuMemRelease(handle));
	CHECK(sim_free() == 62 * MIB);
	OK(cuMemRelease(imported));
	CHECK(sim_free() == 64 * MIB);
}

/* --- other processes ------------------------------------------------------------------------ */

static int to_child[2], to_parent[2];

static void child_opens(void)
{
	CUipcMemHandle handle;
	CUdeviceptr at, same;
	unsigned char bytes[2];

	sim_use(0);
	CHECK(read(to_child[0], &handle, sizeof(handle)) == sizeof(handle));
	OK(cuIpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	OK(cuIpcOpenMemHandle(&same, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(at == same && sim_free() == 64 * MIB);
	OK(cuMemcpyDtoH(bytes, at + 999, 1));
	CHECK(bytes[0] == 7);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(bytes, at + 999, 2));
	OK(cuMemsetD8(at, 9, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
	OK(cuIpcCloseMemHandle(at));
	OK(cuMemsetD8(at, 9, 1));
	OK(cuIpcCloseMemHandle(at));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(at));
	CHECK(write(to_parent[1], "x", 1) == 1);
}

static void parent_exports(void)
{
	CUipcMemHandle handle;
	CUdeviceptr pad, at;
	int status;
	char byte;
	pid_t pid;

	CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
	pid = fork(); /* before cuInit, as real programs must */
	if (pid == 0) {
		child_opens();
		_exit(0);
	}
	sim_use(0);
	OK(cuMemAlloc(&pad, 5000));
	OK(cuMemAlloc(&at, 1000));
	OK(cuMemsetD8(at, 7, 1000));
	OK(cuIpcGetMemHandle(&handle, at + 10));
	GIVES(CUDA_ERROR_INVALID_CONTEXT,
	      cuIpcOpenMemHandle(&pad, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(write(to_child[1], &handle, sizeof(handle)) == sizeof(handle));
	CHECK(read(to_parent[0], &byte, 1) == 1);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
	OK(cuMemcpyDtoH(&byte, at, 1));
	CHECK(byte == 9);
}

static void another_process_sees_the_bytes_and_pays_nothing(void **state)
{
	(void)state;
	assert_int_equal(sim_case("mem=64MiB,context=0", parent_exports), 0);
}

SIM_CASE(exported_pools_carry_pointers, "mem=256MiB,context=0")
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	                        .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemoryPool pool, imported;
	CUmemPoolPtrExportData data;
	CUdeviceptr at, there;
	char byte = 0;
	int fd;

	sim_use(0);
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemAllocFromPoolAsync(&there, 700, pool, NULL));
	OK(cuMemAllocFromPoolAsync(&at, 700, pool, NULL));
	OK(cuMemsetD8(at, 3, 700));
	OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	OK(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
	                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	OK(cuMemPoolExportPointer(&data, at));
	OK(cuMemPoolImportPointer(&there, imported, &data));
	OK(cuMemcpyDtoH(&byte, there + 699, 1));
	CHECK(there != at && byte == 3);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&at, 1, imported, NULL));
	OK(cuMemFreeAsync(there, NULL));
	OK(cuMemFreeAsync(at, NULL));
}

SIM_CASE(external_memory_is_mapped_and_costs_nothing, "mem=64MiB,context=0")
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
	                                         .size = 8192};
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {.offset = 4096, .size = 4096};
	CUexternalMemory memory;
	char path[] = "/tmp/sim-external-XXXXXX", byte = 0;
	CUdeviceptr at;
	int fd = mkstemp(path);

	sim_use(0);
	unlink(path);
	CHECK(fd >= 0 && ftruncate(fd, 8192) == 0 && pwrite(fd, "Q", 1, 4096) == 1);
	desc.handle.fd = fd;
	OK(cuImportExternalMemory(&memory, &desc));
	OK(cuExternalMemoryGetMappedBuffer(&at, memory, &buffer));
	OK(cuMemcpyDtoH(&byte, at, 1));
	CHECK(byte == 'Q' && sim_free() == 64 * MIB);
	OK(cuMemFree(at));
	OK(cuDestroyExternalMemory(memory));
}

/* --- graphs --------------------------------------------------------------------------------- */

static uint64_t graph_memory(CUgraphMem_attribute what)
{
	cuuint64_t value = 0;

	OK(cuDeviceGetGraphMemAttribute(0, what, &value));
	return value;
}

SIM_CASE(a_graphs_memory_comes_with_its_launch_and_stays_until_trimmed, "mem=64MiB,context=0")
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
	    .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
	                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}},
	    .bytesize = 4 * MIB};
	CUgraphNode alloc, fill, end;
	CUDA_MEMSET_NODE_PARAMS memset_params;
	CUgraphExec exec, second;
	CUgraph graph;

	sim_use(0);
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
	memset_params = (CUDA_MEMSET_NODE_PARAMS){
	    .dst = params.dptr, .value = 1, .elementSize = 1, .width = 4 * MIB, .height = 1};
	OK(cuGraphAddMemsetNode(&fill, graph, &alloc, 1, &memset_params, NULL));
	OK(cuGraphAddMemFreeNode(&end, graph, &fill, 1, params.dptr));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiateWithFlags(&second, graph, 0));
	CHECK(sim_free() == 64 * MIB);
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, NULL));
	CHECK(sim_free() == 32 * MIB);
	CHECK(graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 32 * MIB);
	CHECK(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 32 * MIB);
	CHECK(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 32 * MIB);
	OK(cuDeviceGraphMemTrim(0));
	CHECK(sim_free() == 64 * MIB && graph_memory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
	CHECK(graph_memory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
	OK(cuGraphLaunch(exec, NULL));
	CHECK(sim_free() == 32 * MIB);
	OK(cuDeviceGraphMemTrim(0));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	CHECK(sim_free() == 64 * MIB);
}

SIM_CASE(captured_allocations_become_nodes, "mem=64MiB,context=0")
{
	CUgraphNodeType type;
	CUgraphNode node[8];
	size_t count = 8;
	CUgraphExec exec;
	CUgraph graph;
	CUdeviceptr at;
	CUstream s;
	char byte = 0;

	sim_use(0);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemAllocAsync(&at, 3 * MIB, s));
	OK(cuMemsetD8Async(at, 6, 3 * MIB, s));
	GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
	OK(cuStreamEndCapture(s, &graph));
	CHECK(sim_free() == 64 * MIB);
	OK(cuGraphGetNodes(graph, node, &count));
	CHECK(count == 2);
	OK(cuGraphNodeGetType(node[0], &type));
	CHECK(type == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&byte, at, 1)); /* not launched yet */
	OK(cuGraphLaunch(exec, s));
	OK(cuMemcpyDtoH(&byte, at + 2 * MIB, 1));
	CHECK(byte == 6 && sim_free() == 32 * MIB);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, s)); /* its memory is still in use */
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuMemFreeAsync(at, s));
	OK(cuDeviceGraphMemTrim(0));
	CHECK(sim_free() == 64 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses_cost_no_memory_and_handles_do),
	    cmocka_unit_test(memory_released_before_its_unmapping_lives_until_then),
	    cmocka_unit_test(one_memory_mapped_twice_is_the_same_bytes),
	    cmocka_unit_test(mappings_stay_inside_reservations_and_apart),
	    cmocka_unit_test(reservations_honour_alignment_and_hints),
	    cmocka_unit_test(imported_memory_of_ones_own_is_one_memory),
	    cmocka_unit_test(another_process_sees_the_bytes_and_pays_nothing),
	    cmocka_unit_test(exported_pools_carry_pointers),
	    cmocka_unit_test(external_memory_is_mapped_and_costs_nothing),
	    cmocka_unit_test(a_graphs_memory_comes_with_its_launch_and_stays_until_trimmed),
	    cmocka_unit_test(captured_allocations_become_nodes),
	};

	return cmocka_run_group_tests_name("sim_vmm", tests, NULL, NULL);
}
