"""nccl.py: one rank of torch.distributed over NCCL, and one reduction. Exits with 77 where there is no NCCL."""
import sys

import torch
import torch.distributed as dist


def reduce(t):
    dist.all_reduce(t)
    torch.cuda.synchronize()


def main():
    if not dist.is_available() or not dist.is_nccl_available():
        sys.exit(77)
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    t = torch.ones(1 << 20, device="cuda")
    reduce(t)
    print("sum", float(t.sum()))
    dist.destroy_process_group()


main()
