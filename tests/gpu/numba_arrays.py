"""numba_arrays.py: device arrays of numba-cuda; a list keeps one of every second step.

Ends without tidying up, so that what it kept is there at the end.
"""
import os
import sys

import numpy
from numba import cuda


def make_array(mib):
    return cuda.device_array(mib << 20, dtype=numpy.uint8)


def remember(history):
    history.append(make_array(16))


def main():
    history = []
    for step in range(8):
        make_array(32)  # numba gives it back later
        if step % 2:
            remember(history)
    cuda.synchronize()
    print(f"kept={sum(a.nbytes for a in history)} arrays={len(history)}")
    sys.stdout.flush()
    os._exit(0)


main()
