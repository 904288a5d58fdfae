"""cupy_pool.py: cupy's memory pool at work; one list keeps a batch of every second step.

Ends without tidying up, so that what it kept is there at the end.
"""
import os
import sys

import cupy

MIB = 1 << 20


def make_batch(mib):
    return cupy.zeros(mib * MIB, dtype=cupy.uint8)


def remember(history):
    history.append(make_batch(64))


def main():
    history = []
    for step in range(12):
        batch = make_batch(32)  # the pool gives the same memory again
        del batch
        if step % 2:
            remember(history)
    cupy.cuda.runtime.deviceSynchronize()
    pool = cupy.get_default_memory_pool()
    print(f"pool total={pool.total_bytes()} kept={sum(a.nbytes for a in history)} batches={len(history)}")
    sys.stdout.flush()
    os._exit(0)


main()
