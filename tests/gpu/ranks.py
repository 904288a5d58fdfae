"""ranks.py MODE FOLDER: programs of several processes or devices, for ranks.sh. Each process that uses a GPU
writes FOLDER/PID.told: PyTorch's own figures of each device, true until the interpreter ends.

gloo, nccl   one rank of a training job, started by torchrun; rank 1 has larger batches, and keeps 512 MiB more
fails        a job whose rank 1 asks for too much; torchrun then ends the others with SIGTERM
devices      one process with a model on each GPU, and copies between them
workers      spawned workers, one of which is terminated, and a DataLoader's forked ones
mpi          a rank under mpirun
"""
import os
import sys
import time

import torch

LAYERS, WIDTH = 4, 2048
kept = []  # alive until the interpreter ends


def build(device):
    layers = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers).to(device)


def keep_more(device, mib=64):
    kept.append(torch.empty(mib << 20, dtype=torch.uint8, device=device))
    torch.cuda.synchronize(device)


def tell(folder):
    with open(os.path.join(folder, "%d.tmp" % os.getpid()), "w") as f:
        for device in range(torch.cuda.device_count()):
            stats = torch.cuda.memory_stats(device)
            for name in ("requested_bytes", "allocated_bytes", "reserved_bytes"):
                peak, end = (stats.get("%s.all.%s" % (name, when), 0) for when in ("peak", "current"))
                print("%d: torch %s peak=%d end=%d" % (device, name, peak, end), file=f)
    os.rename(f.name, os.path.join(folder, "%d.told" % os.getpid()))


def average(model, dist):
    """Gradients by way of the host: gloo, which several ranks on one GPU need."""
    for p in model.parameters():
        g = p.grad.cpu()
        dist.all_reduce(g)
        p.grad.copy_(g / dist.get_world_size())


def train(model, batch, device, between=None, steps=6):
    optimiser = torch.optim.Adam(model.parameters())
    kept.extend((model, optimiser))
    for _ in range(steps):
        optimiser.zero_grad()
        model(torch.randn(batch, WIDTH, device=device)).square().mean().backward()
        if between:
            between()
        optimiser.step()
    torch.cuda.synchronize(device)


def rank(backend, folder):
    import torch.distributed as dist

    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group(backend)
    me, batch = dist.get_rank(), 256
    if me == 1:
        batch *= 8
        keep_more(device, 512)
    model = build(device)
    if backend == "nccl":
        train(torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index]), batch, device)
    else:
        train(model, batch, device, lambda: average(model, dist))
    for turn in range(dist.get_world_size()):  # while the others are still, so that samples of them hold
        dist.barrier()
        time.sleep(0.3)
        if turn == me:
            keep_more(device)
    dist.barrier()
    time.sleep(0.3)
    dist.destroy_process_group()
    tell(folder)


def fails(folder):
    import torch.distributed as dist

    dist.init_process_group("gloo")
    keep_more("cuda", 96)
    tell(folder)
    dist.barrier()
    if dist.get_rank() == 1:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    time.sleep(100)  # torchrun ends it


def devices(folder):
    for d in range(torch.cuda.device_count()):
        train(build("cuda:%d" % d), 256 << d, "cuda:%d" % d)
    keep_more("cuda:0")
    for d in range(1, torch.cuda.device_count()):
        kept.append(kept[-1].to("cuda:%d" % d))
        assert bool((kept[-1].to("cuda:0") == kept[-2].to("cuda:0")).all())
        torch.cuda.synchronize(d)
    tell(folder)


def worker(folder, ready, ends):
    keep_more("cuda", 160 if ends else 96)
    tell(folder)
    ready.set()
    if not ends:
        time.sleep(100)  # it is terminated


def workers(folder):
    spawn = torch.multiprocessing.get_context("spawn")
    started = []
    for ends in (True, False):
        ready = spawn.Event()
        p = spawn.Process(target=worker, args=(folder, ready, ends))
        p.start()
        started.append((p, ready))
    model = build("cuda")
    data = torch.utils.data.TensorDataset(torch.randn(512, WIDTH))
    for (batch,) in torch.utils.data.DataLoader(data, 128, num_workers=2, pin_memory=True):
        model(batch.to("cuda", non_blocking=True)).sum().backward()
    kept.append(model)
    assert all(ready.wait(60) for _, ready in started)
    started[1][0].terminate()
    for p, _ in started:
        p.join()
    print("codes", [p.exitcode for p, _ in started])
    tell(folder)


def mpi(folder):
    from mpi4py import MPI

    keep_more("cuda", 64 << MPI.COMM_WORLD.Get_rank())
    MPI.COMM_WORLD.Barrier()
    tell(folder)


if __name__ == "__main__":
    mode, where = sys.argv[1:3]
    rank(mode, where) if mode in ("gloo", "nccl") else globals()[mode](where)
