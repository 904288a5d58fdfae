"""torch_plug.py native|plug LIBRARY: the same training on torch's own allocator, or on gpumemalloc.

Prints the losses and the peak of requested bytes: they must be the same.
"""
import ctypes
import sys

import torch

NAMES = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
         "inactive_split_bytes", "requested_bytes")


def plug(library):
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "gma_torch_malloc", "gma_torch_free")
    lib = ctypes.CDLL(library)
    inner = allocator._allocator
    for setter, name in (("set_init_fn", "init"), ("set_reset_fn", "reset"), ("set_memory_fraction_fn", "memory_fraction"),
                         ("set_base_alloc_fn", "base_alloc"), ("set_record_stream_fn", "record_stream"),
                         ("set_begin_allocate_to_pool", "begin_pool"), ("set_end_allocate_to_pool_fn", "end_pool"),
                         ("set_release_pool", "release_pool")):
        if hasattr(inner, setter):
            getattr(inner, setter)(ctypes.cast(getattr(lib, "gma_torch_" + name), ctypes.c_void_p).value)
    torch.cuda.memory.change_current_allocator(allocator)
    return lib


def gma_stats(lib):
    lib.gma_for_device.restype = ctypes.c_void_p
    lib.gma_stats.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    words = (ctypes.c_int64 * 512)()
    lib.gma_stats(lib.gma_for_device(0), words)
    # name × (all, small, large) × (current, peak, allocated, freed)
    return {n: dict(zip(("current", "peak", "allocated", "freed"), words[i * 12:i * 12 + 4])) for i, n in enumerate(NAMES)}


def train():
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(False)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(1024, 1024), torch.nn.GELU()]
    model = torch.nn.Sequential(*layers).cuda()
    optimiser = torch.optim.AdamW(model.parameters())
    side = torch.cuda.Stream()
    losses = []
    for step in range(20):
        with torch.cuda.stream(side):
            batch = torch.ones(128 + step, 1024, device="cuda") * (step + 1)
        torch.cuda.current_stream().wait_stream(side)
        batch.record_stream(torch.cuda.current_stream())
        optimiser.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def main():
    lib = plug(sys.argv[2]) if sys.argv[1] == "plug" else None
    losses = train()
    torch.cuda.synchronize()
    peak = gma_stats(lib)["requested_bytes"]["peak"] if lib else torch.cuda.memory_stats()["requested_bytes.all.peak"]
    print("losses", " ".join("%.6f" % x for x in losses))
    print("requested_peak", peak)


main()
