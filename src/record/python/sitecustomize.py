"""sitecustomize.py: switches on PyTorch's own allocator history in a recorded Python process.

`gpumemsnap record --torch` puts this file's folder on PYTHONPATH; Python imports it at start-up.
When the program initialises torch.cuda, history begins; the folder GPUMEMSNAP_SPOOL receives

    PID.torch       PyTorch's snapshot (a pickle): at exit, at out of memory, at SIGTERM, when asked,
                    every N seconds if wanted; always whole, the newest replaces the one before
    PID.torch.on    PyTorch's version: its history was switched on
    PID.torch.note  what went wrong, one line each
    PID.torch.ask   a FIFO: whoever writes a byte gets a new snapshot

GPUMEMSNAP_TORCH holds every=SECONDS and entries=N, comma separated.

What always holds: the program behaves as without us. Nothing here raises, imports torch or touches
CUDA before the program does; without torch, or with an old one, nothing happens at all.
"""
import os
import sys


class Torch:
    """The history of one process, from the moment torch.cuda is initialised in it."""

    def __init__(self, folder, options):
        self.folder = folder
        self.every = float(options.get("every") or 0)
        self.entries = int(options.get("entries") or 1000000)
        self.torch = None
        self.pid = 0  # of the process whose history is on
        self.last_oom = None
        self.busy = 0  # the thread that saves a snapshot
        self.finished = False

    def path(self, suffix):
        return os.path.join(self.folder, "%d.torch%s" % (os.getpid(), suffix))

    def note(self, text, suffix=".note"):
        try:
            with open(self.path(suffix), "a") as f:
                f.write(text.replace("\n", " ") + "\n")
        except OSError:
            pass

    def imported(self, torch):
        """torch was imported: wait for CUDA, which must not be initialised before the program does it."""
        try:
            self.torch = torch
            if torch.version.cuda:
                torch.cuda._lazy_call(self.start)
        except Exception as e:
            self.note("PyTorch %s has no hook for CUDA's start: %r" % (getattr(torch, "__version__", "?"), e))

    def start(self):
        """CUDA was initialised in this process."""
        try:
            backend = getattr(self.torch.cuda.memory, "get_allocator_backend", lambda: "native")()
            if backend != "native":
                self.note("PyTorch keeps no history with its %s allocator; the driver's level is recorded" % backend)
                return
            self.switch_on()
        except Exception as e:
            self.note("PyTorch %s could not switch on its history: %r" % (self.torch.__version__, e))
            return
        self.pid = os.getpid()
        self.finished = False
        self.note(self.torch.__version__, ".on")
        self.at_the_end()
        self.listen()

    def switch_on(self):
        record = self.torch.cuda.memory._record_memory_history
        try:
            record("all", context="all", stacks="python", max_entries=self.entries)
        except TypeError:  # 2.0
            record(True, trace_alloc_max_entries=self.entries, trace_alloc_record_context=True)
        attach = getattr(self.torch._C, "_cuda_attach_out_of_memory_observer", None)
        if attach:
            attach(self.out_of_memory)

    def at_the_end(self):
        import atexit

        atexit.register(self.finish)
        self.before_exit_at_once()
        if "multiprocessing" in sys.modules:  # its children end without atexit
            from multiprocessing import util

            util.Finalize(None, self.finish, exitpriority=100)

    def before_exit_at_once(self):
        """os._exit() calls nobody: it is called after us. In a forked child there is nothing of ours."""
        at_once = os._exit
        if getattr(at_once, "__self__", None) is not self:
            self.exit_at_once = at_once
            os._exit = self.exit

    def exit(self, status):
        try:
            self.finish()
        finally:
            self.exit_at_once(status)

    def finish(self):
        """What another thread saves just now may lack what came last: this one comes after it."""
        import _thread
        import time

        end = time.monotonic() + 60
        while self.pid == os.getpid() and self.busy not in (0, _thread.get_ident()) and time.monotonic() < end:
            time.sleep(0.01)
        if not self.finished and self.dump():
            self.finished = True

    def out_of_memory(self, device, size, device_total, device_free):
        """Called by PyTorch before it raises: the program may not live to its end. At most once a minute."""
        import time

        now = time.monotonic()
        if self.last_oom is None or now - self.last_oom > 60:
            self.last_oom = now
            self.dump()

    def dump(self):
        if self.pid != os.getpid() or self.busy:
            return False
        import _thread

        self.busy = _thread.get_ident()
        try:
            import pickle

            temporary = self.path(".tmp")
            snapshot = self.snapshot()
            with open(temporary, "wb") as f:
                pickle.dump(snapshot, f, 4)
            os.replace(temporary, self.path(""))
            return True
        except Exception as e:
            self.note("PyTorch %s gave no snapshot: %r" % (self.torch.__version__, e))
            return False
        finally:
            self.busy = 0

    def snapshot(self):
        """PyTorch looks whether torch._inductor has made code that runs, and the look imports it: for seconds."""
        stand_in = None
        if "torch._inductor" not in sys.modules and "_inductor" not in vars(self.torch):
            stand_in = self.torch._inductor = NotImported()
        try:
            return self.torch.cuda.memory._snapshot()
        finally:
            if stand_in and vars(self.torch).get("_inductor") is stand_in:
                del self.torch._inductor

    def listen(self):
        """Wait for requests in a thread of our own, unseen by threading.enumerate()."""
        try:
            import _thread
            import fcntl

            os.mkfifo(self.path(".ask"), 0o600)
            fd = os.open(self.path(".ask"), os.O_RDWR | os.O_CLOEXEC)
            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)  # leave the low numbers to the program
            os.close(fd)
            _thread.start_new_thread(self.answer, (high,))
        except Exception as e:
            self.note("no snapshots of PyTorch's history on request: %r" % (e,))
            return
        try:
            import ctypes

            ctypes.CDLL(None).gms_before_term(high)
        except Exception:  # not preloaded
            pass

    def answer(self, fd):
        import select
        import signal

        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # it would keep this thread waiting, too
            while True:
                ready, _, _ = select.select([fd], [], [], self.every or None)
                asked = os.read(fd, 4096) if ready else b"x"
                if not asked:
                    return
                self.dump()
                if b"t" in asked:
                    self.terminate()
        except Exception:  # the program closed our descriptor, or Python is going down
            return

    def terminate(self):
        """SIGTERM came, whose default action the recorder held back until now."""
        import signal

        while self.busy:  # another thread saves the history; there is a limit to this
            import time

            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)


class NotImported:
    """torch._inductor to this thread, as long as nobody has imported it: it has no code. To others it is itself."""

    def __init__(self):
        import _thread

        self.thread = _thread.get_ident()

    def __getattr__(self, name):
        import _thread
        import importlib

        if _thread.get_ident() == self.thread:
            raise AttributeError(name)
        return getattr(importlib.import_module("torch._inductor"), name)


class Loader:
    """The loader of torch, followed by a call once the module is complete."""

    def __init__(self, loader, then):
        self._loader = loader
        self._then = then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module)


class Finder:
    """First in sys.meta_path: lets the others find torch, and puts our loader around theirs."""

    def __init__(self, then):
        self._then = then

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else getattr(finder, "find_spec", lambda *_: None)(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec.loader, self._then)
                return spec
        return None


def chain(here):
    """Python runs one sitecustomize: give the one we hid its turn."""
    from importlib import util
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec and spec.loader:
        module = util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.environ.get("GPUMEMSNAP_SPOOL")
    try:
        sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
        if folder and os.path.isdir(folder):
            pairs = os.environ.get("GPUMEMSNAP_TORCH", "").split(",")
            options = dict(p.split("=", 1) for p in pairs if "=" in p)
            sys.meta_path.insert(0, Finder(Torch(folder, options).imported))
    except Exception:
        pass
    chain(here)


main()
