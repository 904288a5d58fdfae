"""GPU memory from Python through ctypes: start, alloc, and the three ways the tests call them."""
import ctypes
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")


def check(r):
    assert r == 0, r


def start():
    context = ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))


def alloc(n):
    p = ctypes.c_uint64()
    check(cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(n)))
    return p.value


class Layer:
    def forward(self, n):
        return alloc(n)


def generate(n):
    yield alloc(n)


def train(layer):
    layer.forward(1000)
    list(map(layer.forward, [2000]))
    for _ in generate(3000):
        pass
    exec(compile("alloc(4000)", "schön.py", "exec"), {"alloc": alloc})


def locked():
    """One thread allocates inside a lock that another wants while it holds the GIL."""
    path = sys.argv[2]
    outside, inside = ctypes.CDLL(path), ctypes.PyDLL(path)

    def free_running():
        context = ctypes.c_void_p()
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(cuda.cuCtxSetCurrent(context))
        check(outside.locked_allocs(cuda.cuMemAlloc_v2, 300))

    thread = threading.Thread(target=free_running)
    thread.start()
    for _ in range(300):
        inside.take_lock()
    thread.join()


def forked():
    import multiprocessing
    import os

    alloc(100)
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(worker, [200, 300]) == [1, 1]
    alloc(400)


def worker(n):
    start()
    return 1 if alloc(n) else 0


if __name__ == "__main__":
    start()
    if sys.argv[1] == "train":
        train(Layer())
    elif sys.argv[1] == "locked":
        locked()
    else:
        forked()
