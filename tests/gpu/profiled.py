"""profiled.py: torch.profiler, which uses CUPTI, in a program that is being recorded: both must work."""
import torch
from torch.profiler import ProfilerActivity, profile

a = torch.randn(1024, 1024, device="cuda")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    b = a @ a
    torch.cuda.synchronize()
kernels = [e for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA]
print("kernels", len(kernels) > 0)
