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

@test "what is no such message is refused with status 3" {
	run gpumemsnap explain-oom "segmentation fault"
	[ "$status" -eq 3 ]
	run gpumemsnap explain-oom </dev/null
	[ "$status" -eq 3 ]
}
