"""A stand-in for PyTorch: its module layout and allocator history, on the CUDA driver through ctypes.

Enough for `gpumemsnap record --torch`: torch.cuda initialises lazily, a small caching allocator takes
segments from cuMemAlloc and keeps the history that torch.cuda.memory._snapshot() returns.
FAKE_TORCH chooses a variant: a version ("2.0.1", "1.13"), "cpu", "async".
"""
import os

_variant = os.environ.get("FAKE_TORCH", "2.11.0")
__version__ = _variant if _variant[0].isdigit() else "2.11.0"


class version:
    cuda = None if _variant == "cpu" else "13.0"


class OutOfMemoryError(RuntimeError):
    pass


class _C:
    _observers = []

    @classmethod
    def _cuda_attach_out_of_memory_observer(cls, observer):
        cls._observers.append(observer)


from . import cuda  # noqa: E402


def __getattr__(name):
    if name == "_inductor":
        import importlib

        return importlib.import_module("torch._inductor")
    raise AttributeError(name)


class Tensor:
    def __init__(self, nbytes):
        self._block = cuda._allocator.alloc(nbytes)

    def __del__(self):
        if getattr(self, "_block", None):
            cuda._allocator.free(self._block)


def empty(nbytes, device="cuda"):
    cuda._lazy_init()
    return Tensor(nbytes)
