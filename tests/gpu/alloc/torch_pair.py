"""torch_pair.py native|plug LIBRARY: ns per pair of allocation and free through torch, by 1, 4 and 16 threads.

The calls are those that torch makes for a tensor, without the tensor; the median of five rounds. Python
adds the same to both allocators, and its lock keeps threads from running at the same time.
"""
import statistics
import sys
import threading
import time

import torch

PAIRS = 20000
SIZE = 1 << 20


def pairs(n):
    alloc = torch._C._cuda_cudaCachingAllocator_raw_alloc
    delete = torch._C._cuda_cudaCachingAllocator_raw_delete
    stream = torch.cuda.current_stream().cuda_stream
    for _ in range(n):
        delete(alloc(SIZE, stream))


def once(threads):
    workers = [threading.Thread(target=pairs, args=(PAIRS // threads,)) for _ in range(threads)]
    start = time.perf_counter_ns()
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return (time.perf_counter_ns() - start) / (PAIRS // threads * threads)


def main():
    if sys.argv[1] == "plug":
        torch.cuda.memory.change_current_allocator(
            torch.cuda.memory.CUDAPluggableAllocator(sys.argv[2], "gma_torch_malloc", "gma_torch_free"))
    torch.zeros(1, device="cuda")
    pairs(1000)
    for threads in (1, 4, 16):
        print("torch_%s threads=%d ns_per_pair=%.1f" % (
            sys.argv[1], threads, statistics.median(once(threads) for _ in range(5))))


main()
