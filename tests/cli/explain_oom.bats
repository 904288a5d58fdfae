# explain-oom: messages as they stand in logs, and what is made of them.

cause() { gpumemsnap explain-oom -f json "$@" | jq -r .cause; }

@test "PyTorch before 2.1: more cached than asked for is fragmentation" {
	run gpumemsnap explain-oom "RuntimeError: CUDA out of memory. Tried to allocate 264.00 MiB (GPU 0; 2.00 GiB total capacity; 788.51 MiB already allocated; 145.93 MiB free; 1.12 GiB reserved in total by PyTorch)"
	[ "$status" -eq 0 ]
	[[ $output == *"Fragmentation"*"expandable_segments:True"* ]]
}

@test "PyTorch of 2018 wrote cached for what it held unused" {
	run gpumemsnap explain-oom -f json "CUDA out of memory. Tried to allocate 1.72 GiB (GPU 0; 10.76 GiB total capacity; 4.01 GiB already allocated; 356.00 MiB free; 5.54 GiB cached)"
	[ "$(jq -c '[.source,.device,.asked,.allocated,.cached,.cause]' <<<"$output")" = '["pytorch",0,1846835937,4305704714,5948529704,"fragmentation"]' ]
}

@test "PyTorch 2.1 and later: a real shortage names what was missing" {
	run gpumemsnap explain-oom <<'M'
Traceback (most recent call last):
  File "train.py", line 3, in <module>
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which
91.25 MiB is free. Including non-PyTorch memory, this process has 79.05 GiB memory in use. Of the allocated memory
78.29 GiB is allocated by PyTorch, and 132.93 MiB is reserved by PyTorch but unallocated. If reserved but unallocated
memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
M
	[ "$status" -eq 0 ]
	[[ $output == *"real shortage"*"4.78 GiB"* ]]
	[[ $output != *"> Set PYTORCH_CUDA_ALLOC_CONF"* ]]
}

@test "a limit, and PyTorch's impossible number left out" {
	run gpumemsnap explain-oom --width 500 "CUDA out of memory. Tried to allocate 24.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which 136.50 GiB is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. 2.80 GiB allowed; Of the allocated memory 2.66 GiB is allocated by PyTorch, and 124.00 MiB is reserved by PyTorch but unallocated."
	[[ $output == *"A limit was reached: this process may hold 2.80 GiB"* ]]
	[[ $output == *"impossible"* ]]
	[[ $output != *"this process  "* ]]
}

@test "other processes are added up" {
	[ "$(cause "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 11.06 MiB is free. Process 17 has 9.00 GiB memory in use. Process 18 has 8.00 GiB memory in use. Including non-PyTorch memory, this process has 6.60 GiB memory in use. Of the allocated memory 5.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated.")" = "other processes" ]
}

@test "TensorFlow, XLA, CuPy, RMM and CUDA itself are recognised" {
	[ "$(gpumemsnap explain-oom -f json "OOM when allocating tensor with shape[256,512,1024] and type float on /job:localhost/device:GPU:3 by allocator GPU_3_bfc" | jq -c '[.source,.asked,.device]')" = '["tensorflow",536870912,3]' ]
	[ "$(gpumemsnap explain-oom -f json "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes." | jq -c '[.source,.asked]')" = '["xla",17179869184]' ]
	[ "$(gpumemsnap explain-oom -f json "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 805,306,368 bytes (allocated so far: 536,870,912 bytes, limit set to: 1,073,741,824 bytes)." | jq -c '[.source,.asked,.allocated,.allowed,.cause]')" = '["cupy",805306368,536870912,1073741824,"a limit"]' ]
	[ "$(gpumemsnap explain-oom -f json "std::bad_alloc: out_of_memory: RMM failure at: pool_memory_resource.hpp: Maximum pool size exceeded" | jq -r .source)" = rmm ]
	[ "$(gpumemsnap explain-oom -f json "CUDA error: out of memory" | jq -r .source)" = cuda ]
}

# figures MESSAGE: source, device, asked, total, free, allocated, cached and cause, of those that are known
figures() {
	gpumemsnap explain-oom -f json "$1" |
		jq -c '[.source, .device, .asked, .total, .free, .allocated, .cached, .cause] | map(values)'
}

@test "more was free than asked for and no limit is named: the driver refused" {
	[ "$(cause "HIP out of memory. Tried to allocate 2.00 MiB. GPU 7 has a total capacity of 287.98 GiB of which 203.49 GiB is free. Of the allocated memory 68.63 GiB is allocated by PyTorch, and 14.93 GiB is reserved by PyTorch but unallocated.")" = "refused by the driver" ]
}

@test "a limit is a limit whatever else is cached" {
	[ "$(cause "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.")" = "a limit" ]
}

@test "in a container the process itself is among the processes named" {
	run gpumemsnap explain-oom --width 500 "CUDA out of memory. Tried to allocate 596.00 MiB. GPU 0 has a total capacty of 14.75 GiB of which 235.06 MiB is free. Process 20398 has 14.52 GiB memory in use. Of the allocated memory 14.06 GiB is allocated by PyTorch, and 330.42 MiB is reserved by PyTorch but unallocated."
	[[ $output == *"A real shortage: even with the whole cache, only 565.48 MiB were to be had; 30.52 MiB were missing"* ]]
	[[ $output == *"number it has outside its container"* ]]
	[[ $output != *"other processes"* ]]
}

@test "a process that is not this one may be small or large" {
	[ "$(gpumemsnap explain-oom -f json "CUDA out of memory. Tried to allocate 5.96 GiB. GPU 0 has a total capacty of 23.69 GiB of which 5.25 GiB is free. Process 2006998 has 256.00 MiB memory in use. Including non-PyTorch memory, this process has 18.17 GiB memory in use. Of the allocated memory 17.88 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated." | jq -c '[.cause,.others,.process]')" = '["real shortage",268435456,19509888942]' ]
}

@test "more in use than the device has: it went on in the host's memory, and is no fragmentation" {
	run gpumemsnap explain-oom --width 500 "CUDA out of memory. Tried to allocate 2.11 GiB (GPU 0; 8.00 GiB total capacity; 19.84 GiB already allocated; 0 bytes free; 22.26 GiB reserved in total by PyTorch)"
	[[ $output == *"real shortage"*"19.84 GiB in use are more than the device's 8.00 GiB"* ]]
}

@test "a request larger than the device is called so" {
	run gpumemsnap explain-oom --width 500 "HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 15.24 GiB of which 15.09 GiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
	[[ $output == *"more than the whole device has (15.24 GiB)"* ]]
}

@test "free and cached together would have done: fragmentation, with the name the setting has there" {
	run gpumemsnap explain-oom --width 500 "HIP out of memory. Tried to allocate 7.64 GiB. GPU 0 has a total capacity of 19.92 GiB of which 6.22 GiB is free. Of the allocated memory 5.34 GiB is allocated by PyTorch, and 7.10 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
	[[ $output == *"Fragmentation"*"enough together (13.32 GiB)"*"Set PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"* ]]
}

@test "what nobody accounts for is somebody else's, where the message names no process" {
	run gpumemsnap explain-oom --width 500 "CUDA out of memory. Tried to allocate 1.69 GiB (GPU 0; 14.56 GiB total capacity; 649.97 MiB already allocated; 1.31 GiB free; 1.01 GiB reserved in total by PyTorch)"
	[[ $output == *"Something else holds 12.24 GiB of this device"* ]]
}

@test "of several messages in a log the first is explained, and numbers are not mixed" {
	run gpumemsnap explain-oom --width 500 <<'M'
[rank1] CUDA out of memory. Tried to allocate 4.00 GiB. GPU 1 has a total capacity of 23.65 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 22.00 GiB memory in use. Of the allocated memory 21.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.
[rank1] CUDA out of memory. Tried to allocate 4.00 GiB. GPU 1 has a total capacity of 23.65 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 22.00 GiB memory in use. Of the allocated memory 21.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.
[rank2] CUDA out of memory. Tried to allocate 4.00 GiB. GPU 2 has a total capacity of 23.65 GiB of which 1.00 GiB is free. Process 77 has 20.00 GiB memory in use. Of the allocated memory 2.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.
M
	[[ $output == *"GPU 1"*"real shortage"*"holds 1 other message of this kind"* ]]
	[[ $output != *"20.00 GiB"* ]]
}

@test "PyTorch's other back ends: cudaMallocAsync, XPU, MPS" {
	[ "$(figures "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)
Currently allocated     : 10.48 GiB
Requested               : 21.81 GiB
Device limit            : 15.93 GiB
Free (according to CUDA): 0 bytes
PyTorch limit (set by user-supplied memory fraction)
                        : 17179869184.00 GiB")" = '["pytorch",0,23418309181,17104707256,0,11252814315,"real shortage"]' ]
	[ "$(figures "XPU out of memory. Tried to allocate 1.71 GiB (GPU 0; 15.56 GiB total capacity; 0 bytes already allocated; 0 bytes reserved in total by PyTorch)")" = '["pytorch",0,1836098519,16707422781,0,0,"unknown cause"]' ]
	[ "$(figures "MPS backend out of memory (MPS allocated: 18.02 GB, other allocations: 107.10 MB, max allowed: 18.13 GB). Tried to allocate 4.50 MB on private pool.")" = '["pytorch",4718592,19348827668,"a limit"]' ]
}

@test "TensorFlow: what its allocator had decides, and a warning is no failure" {
	[ "$(figures "Allocator (GPU_1_bfc) ran out of memory trying to allocate 1.13GiB (rounded to 1212416000)requested by op
Stats:
Limit:                  2118451200
InUse:                     3846144
MaxInUse:               1317554688")" = '["tensorflow",1,1212416000,3846144,2114605056,"fragmentation"]' ]
	run gpumemsnap explain-oom --width 500 "W tensorflow/core/common_runtime/bfc_allocator.cc:246] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.02GiB with freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could be performance gains if more memory were available."
	[[ $output == *"no failure"* ]]
	[ "$(figures "failed to allocate 378.60M (396990720 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY")" = '["cuda",396990720,"unknown cause"]' ]
}

@test "XLA on GPUs and TPUs; other exhausted resources are no memory" {
	[ "$(figures "RuntimeError: Resource exhausted: Failed to allocate request for 32.00MiB (33554432B) on device ordinal 3")" = '["xla",3,33554432,"unknown cause"]' ]
	[ "$(figures "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 55.24G of 31.25G hbm. Exceeded hbm capacity by 23.99G.")" = '["xla",59313498357,33554432000,"real shortage"]' ]
	run gpumemsnap explain-oom "StatusCode.RESOURCE_EXHAUSTED: Received message larger than max (5000000 vs. 4194304)"
	[ "$status" -eq 3 ]
}

@test "vLLM and SGLang: a share of the device is too small, or others have taken it" {
	[ "$(figures "ValueError: Free memory on device cuda:0 (3.27/15.98 GiB) on startup is less than desired GPU memory utilization (0.9, 14.39 GiB). Decrease GPU memory utilization")" = '["vllm",15451144847,17158394347,3511135764,"other processes"]' ]
	[ "$(gpumemsnap explain-oom -f json "ValueError: To serve at least one request with the models's max seq len (40960), (4.38 GiB KV cache is needed, which is larger than the available KV cache memory (2.44 GiB)." | jq -c '[.source,.asked,.allowed,.cause]')" = '["vllm",4702989189,2619930050,"a limit"]' ]
	[ "$(figures "ValueError: No available memory for the cache blocks. Try increasing \`gpu_memory_utilization\` when initializing the engine.")" = '["vllm","a limit"]' ]
	[ "$(figures "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")" = '["sglang","a limit"]' ]
}

@test "RMM, PaddlePaddle, XGBoost, ONNX Runtime, TensorRT and llama.cpp say how much they wanted" {
	[ "$(figures "std::bad_alloc: out_of_memory: RMM failure at:pool_memory_resource.hpp:257: Maximum pool size exceeded (failed to allocate 8.000 GiB): CUDA error (failed to allocate 8589934592 bytes)")" = '["rmm",8589934592,"unknown cause"]' ]
	[ "$(figures "[2025-01-23 14:33:04.213] [RMM] [error] [A][Stream 0x1][Upstream 67108864B][FAILURE maximum pool size exceeded]")" = '["rmm",67108864,"unknown cause"]' ]
	[ "$(figures "Out of memory error on GPU 2. Cannot allocate 3.125000GB memory on GPU 2, available memory is only 117.750000MB.")" = '["paddle",2,3355443200,123469824,"real shortage"]' ]
	[ "$(figures "Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory - Free memory: 12582912 - Requested memory: 92323830")" = '["xgboost",92323830,12582912,"real shortage"]' ]
	[ "$(figures "onnxruntime::BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 2830172160")" = '["onnxruntime",2830172160,"unknown cause"]' ]
	[ "$(figures "[TRT]: Requested amount of GPU memory (4294967296 bytes) could not be allocated. There may not be enough free memory for allocation to succeed.")" = '["tensorrt",4294967296,"unknown cause"]' ]
	[ "$(figures "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 144.00 MiB on device 4: cudaMalloc failed: out of memory
ggml_gallocr_reserve_n: failed to allocate CUDA4 buffer of size 150995968")" = '["llama.cpp",4,150995968,"unknown cause"]' ]
}

@test "the host's memory is told from the GPU's" {
	run gpumemsnap explain-oom --width 500 "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 132426121216 bytes. Error code 12 (Cannot allocate memory)"
	[[ $output == *"123.33 GiB"*"memory of the host"* ]]
	[[ $output != *"gpumemsnap record"* ]]
	[ "$(gpumemsnap explain-oom -f json "Out of memory: Killed process 12345 (python) total-vm:123456kB" | jq -r .source)" = host ]
}

@test "libraries that say only that an allocation failed" {
	for message in "CUBLAS_STATUS_ALLOC_FAILED when calling \`cublasCreate(handle)\`" "NCCL WARN Cuda failure 'out of memory'" "cuda runtime error (2) : out of memory at THCGeneral.cpp:50" "[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY"; do
		[ "$(figures "$message")" = '["cuda","unknown cause"]' ]
	done
}

@test "a message is found at the end of a long log, and behind a byte 0" {
	message="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 264.00 MiB. GPU 0 has a total capacity of 2.00 GiB of which 145.93 MiB is free."
	[ "$({ yes 'a line of the log that says nothing' | head -c 9000000; printf '\n%s\n' "$message"; } | gpumemsnap explain-oom -f json | jq .asked)" -eq 276824064 ]
	[ "$(printf 'a\0b %s\n' "$message" | gpumemsnap explain-oom -f json | jq .asked)" -eq 276824064 ]
}

@test "a number that cannot be is no cause" {
	run gpumemsnap explain-oom "bfc_allocator.cc:491] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 18446744071562067968)requested by op X Limit: 1000000 InUse: 500000"
	[[ $output == *"the cause cannot be told"* ]]
	[[ $output != *"shortage"* ]]
}

@test "what is no such message is refused with status 3" {
	run gpumemsnap explain-oom "segmentation fault"
	[ "$status" -eq 3 ]
	run gpumemsnap explain-oom "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 140288, Hardware limit: 101376."
	[ "$status" -eq 3 ]
	run gpumemsnap explain-oom </dev/null
	[ "$status" -eq 3 ]
}
