"""torch_train.py [MODE]: a small training run that ends by telling PyTorch's own figures.

MODE: plain; oom (asks for too much once, and goes on); wait (says "ready" and waits for its input to end).
Besides torch's tensors there is cuBLAS's workspace and 48 MiB that a "library" takes from the driver itself.
"""
import ctypes
import sys

import torch


def build():
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(2048, 2048), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers).cuda()


def step(model, optimiser, batch):
    optimiser.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimiser.step()
    return float(loss)


def library():
    address = ctypes.c_uint64()
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(48 << 20)) == 0


def out_of_memory():
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        print("refused")


def tell():
    stats = torch.cuda.memory_stats()
    for name in ("requested_bytes", "allocated_bytes", "reserved_bytes"):
        print("torch %s peak=%d end=%d" % (name, stats[name + ".all.peak"], stats[name + ".all.current"]), flush=True)


kept = []  # alive until the interpreter ends, so that what tell() says is still true then


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else "plain"
    model = build()
    optimiser = torch.optim.Adam(model.parameters())
    kept.extend((model, optimiser))
    library()
    for _ in range(8):
        step(model, optimiser, torch.randn(256, 2048, device="cuda"))
    if mode == "oom":
        out_of_memory()
    torch.cuda.synchronize()
    tell()
    if mode == "wait":
        print("ready", flush=True)
        sys.stdin.read()


main()
