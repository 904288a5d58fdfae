#!/usr/bin/env python3
"""read_torch.py [events]: how fast `report` reads a PyTorch snapshot, against Python's own pickle.load.

The snapshot is made here: a loop of allocations in PyTorch's shape, with 20 shared frames per
event, every event with a list of its own. Times are the best of a few runs of the same minute;
what counts is the ratio. Budget: at least 10 times as fast, memory at most 1.5 times the file.
"""
import os
import pickle
import random
import sys
import tempfile

sys.dont_write_bytecode = True
from measure import run

MIB = 1 << 20


def snapshot(events):
    rng = random.Random(1)
    frames = [{"name": "op_%d" % i, "filename": "/app/model/layer_%d.py" % (i % 40), "line": 10 + i} for i in range(400)]
    stacks = [rng.sample(frames, 20) for _ in range(500)]
    trace, cached, live, top, now = [], {}, [], 0x7F0000000000, 1_700_000_000_000_000
    segments = {}

    def add(action, addr, size, site):
        nonlocal now
        now += rng.randrange(1, 40)
        trace.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": now,
                      "compile_context": "N/A", "user_metadata": "", "frames": list(stacks[site])})

    while len(trace) < events:
        if len(live) < 50 or (len(live) < 400 and rng.random() < 0.5):
            # from 10 MiB up a block fills its own segment: no splitting to imitate
            size, site = rng.randrange(5, 40) * 2 * MIB, rng.randrange(500)
            free = cached.setdefault(size, [])
            if free:
                addr = free.pop()
            else:
                addr, top = top, top + size
                segments[addr] = size
                add("segment_alloc", addr, size, site)
            request = size - 512 * rng.randrange(1000)
            add("alloc", addr, request, site)
            live.append((addr, size, request, site))
        else:
            addr, size, request, site = live.pop(rng.randrange(len(live)))
            add("free_requested", addr, request, site)
            add("free_completed", addr, request, site)
            cached[size].append(addr)
    used = {addr: (request, site) for addr, _, request, site in live}
    out = []
    for addr, size in sorted(segments.items()):
        request, site = used.get(addr, (0, 0))
        block = {"address": addr, "size": size, "requested_size": request, "frames": list(stacks[site]),
                 "state": "active_allocated" if addr in used else "inactive"}
        out.append({"device": 0, "address": addr, "total_size": size, "allocated_size": size if addr in used else 0,
                    "active_size": size if addr in used else 0, "requested_size": request, "stream": 0,
                    "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                    "blocks": [block]})
    return {"segments": out, "device_traces": [trace], "allocator_settings": {"max_split_size": -1},
            "external_annotations": []}


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    program = os.path.join(os.environ.get("B", "build"), "bin", "gpumemsnap")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.pickle")
        pid = os.fork()
        if not pid:  # a process of its own: what it needs must not slow down what is measured
            with open(path, "wb") as file:
                pickle.dump(snapshot(events), file, protocol=4)
            os._exit(0)
        os.waitpid(pid, 0)
        size = os.path.getsize(path)
        load = "import pickle; pickle.load(open(%r, 'rb'))" % path
        python = min(run([sys.executable, "-c", load]) for _ in range(2))
        ours = min(run([program, "report", path]) for _ in range(5))
    print("reading %d events (%.0f MB): report %.3f s, %.0f MB · pickle.load %.2f s, %.0f MB" %
          (events, size / 1e6, ours.wall, ours.memory / 1e6, python.wall, python.memory / 1e6))
    ratio, memory = python.wall / ours.wall, ours.memory / size
    good = ratio >= 10 and memory <= 1.5
    print("%s  %.1f times as fast as pickle.load (at least 10), memory %.2f times the file (at most 1.5)" %
          ("ok  " if good else "MISS", ratio, memory))
    return not good


if __name__ == "__main__":
    sys.exit(main())
