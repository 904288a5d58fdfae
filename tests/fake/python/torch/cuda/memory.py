"""torch.cuda.memory of the stand-in: the private functions that keep and give history."""
import copy
import sys

import torch
from torch import cuda


def get_allocator_backend():
    return "cudaMallocAsync" if torch._variant == "async" else "native"


def _modern(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
    cuda._allocator.trace = [] if enabled else None
    cuda._allocator.entries = max_entries


def _legacy(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False):
    cuda._allocator.trace = [] if enabled else None
    cuda._allocator.entries = trace_alloc_max_entries


if torch.__version__ >= "2.1":
    _record_memory_history = _modern
elif torch.__version__ >= "2.0":
    _record_memory_history = _legacy


def _snapshot(device=None):
    if hasattr(torch, "_inductor"):  # so does the real one
        hasattr(torch._inductor, "codecache")
    a = cuda._allocator
    segments = copy.deepcopy(a.segments)
    for s in segments:
        active = [b for b in s["blocks"] if b["state"] != "inactive"]
        s["allocated_size"] = s["active_size"] = sum(b["size"] for b in active)
        s["requested_size"] = sum(b["requested_size"] for b in active)
    settings = {
        "PYTORCH_CUDA_ALLOC_CONF": "",
        "max_split_size": -1,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": False,
        "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)},
    }
    return {
        "segments": segments,
        "device_traces": [list(a.trace or [])],
        "allocator_settings": settings,
        "external_annotations": [],
    }
