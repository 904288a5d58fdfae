"""matmul.py: a few matrix products with torch; one result per step is kept."""
import torch


def make_inputs(n):
    return torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")


def step(a, b, kept):
    kept.append(a @ b)


def main():
    kept = []
    a, b = make_inputs(2048)
    for _ in range(4):
        step(a, b, kept)
    torch.cuda.synchronize()
    print("sum", float(sum(k.sum() for k in kept)) != 0)


main()
