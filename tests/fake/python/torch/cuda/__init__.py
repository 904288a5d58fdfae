"""torch.cuda of the stand-in: lazy initialisation and the allocator itself."""
import ctypes
import os
import sys
import time

import torch

_queued_calls = []
_initialized = False
_allocator = None
ROUND, SMALL, LARGE = 512, 2 << 20, 20 << 20


def is_initialized():
    return _initialized


def _lazy_call(callable, **kwargs):
    if _initialized:
        callable()
    else:
        _queued_calls.append(callable)


def _lazy_init():
    global _initialized, _allocator
    if _initialized:
        return
    _allocator = Allocator()
    _initialized = True
    for call in _queued_calls:
        call()


class Driver:
    """The few driver calls; without a driver, addresses made up."""

    def __init__(self):
        self.next = 0x700000000000
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            self.cuda = None
            return
        context = ctypes.c_void_p()
        self.check(self.cuda.cuInit(0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.cuda.cuCtxSetCurrent(context))

    def check(self, rc):
        if rc:
            raise RuntimeError("CUDA error %d" % rc)

    def alloc(self, size):
        if not self.cuda:
            self.next += size
            return self.next - size
        address = ctypes.c_uint64()
        rc = self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
        return None if rc else address.value

    def free(self, address):
        if self.cuda:
            self.check(self.cuda.cuMemFree_v2(ctypes.c_uint64(address)))


def frames():
    out, frame = [], sys._getframe(2)
    while frame:
        code = frame.f_code
        out.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return out


class Allocator:
    """Blocks are cut from the end of segments; a freed block is reused when it has the size asked for."""

    def __init__(self):
        self.driver = Driver()
        self.segments = []  # dicts as _snapshot() has them
        self.trace = None
        self.entries = 0

    def note(self, action, addr, size, **more):
        if self.trace is not None:
            entry = {"action": action, "addr": addr, "size": size, "stream": 0, "frames": frames()}
            entry["time_us"] = int(time.time() * 1e6)
            entry.update(more)
            self.trace.append(entry)
            del self.trace[: max(0, len(self.trace) - self.entries)]

    def alloc(self, nbytes):
        size = -(-nbytes // ROUND) * ROUND
        block = self.reuse(size) or self.cut(size, nbytes)
        block.update(state="active_allocated", requested_size=nbytes, frames=frames())
        self.note("alloc", block["address"], nbytes)
        return block

    def reuse(self, size):
        for s in self.segments:
            for b in s["blocks"]:
                if b["state"] == "inactive" and b["size"] == size:
                    return b
        return None

    def cut(self, size, nbytes):
        for s in self.segments:
            rest = s["blocks"][-1]
            if rest["state"] == "inactive" and rest["size"] > size:
                break
        else:
            s = self.segment(SMALL if size <= SMALL // 2 else max(LARGE, size), nbytes)
            rest = s["blocks"][-1]
        block = dict(rest, size=size)
        s["blocks"].insert(-1, block)
        rest["address"] += size
        rest["size"] -= size
        if not rest["size"]:
            s["blocks"].pop()
        return block

    def segment(self, size, nbytes):
        address = self.driver.alloc(size)
        if address is None:
            self.note("oom", 0, nbytes, device_free=0)
            for observer in torch._C._observers:
                observer(0, nbytes, 1 << 30, 0)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate %d bytes." % nbytes)
        self.note("segment_alloc", address, size)
        rest = {"address": address, "size": size, "requested_size": 0, "state": "inactive", "frames": []}
        s = {"device": 0, "address": address, "total_size": size, "stream": 0, "segment_pool_id": (0, 0)}
        s.update(segment_type="small" if size == SMALL else "large", is_expandable=False, frames=frames(), blocks=[rest])
        self.segments.append(s)
        self.segments.sort(key=lambda x: x["address"])
        return s

    def free(self, block):
        self.note("free_requested", block["address"], block["requested_size"])
        self.note("free_completed", block["address"], block["requested_size"])
        block.update(state="inactive")

    def empty_cache(self):
        for s in list(self.segments):
            if all(b["state"] == "inactive" for b in s["blocks"]):
                self.note("segment_free", s["address"], s["total_size"])
                self.segments.remove(s)
                self.driver.free(s["address"])


def empty_cache():
    if _allocator:
        _allocator.empty_cache()


from . import memory  # noqa: E402,F401
