#!/usr/bin/env python3
"""read_json.py [events]: how fast our own snapshot is read and written, against Python's json.load.

The snapshot is made here: allocations and frees of a program with 4,000 live blocks and 40 stacks.
Times are the best of a few runs of the same minute; what counts is the ratio. Budgets, per event:
report at least 8 times as fast as json.load; reading and writing again at least 4 times; the same
file with spaces and line breaks at least twice.
"""
import json
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
from measure import run

HEAD = {"format": "gpumemsnap", "version": 1,
        "meta": {"source": "gpumemsnap", "command": "./bench", "complete": True, "history": "complete"},
        "event_fields": ["t_ns", "op", "device", "addr", "size", "stream", "stack", "thread", "pool"],
        "ops": ["device.alloc", "device.free"]}


def rows(events):
    rng = random.Random(1)
    free, live, now = list(range(8000)), [], 0
    rng.shuffle(free)
    for _ in range(events):
        now += rng.randrange(200, 9000)
        if len(live) < 4000 and (not live or rng.random() < 0.5):
            slot = free.pop()
            live.append((slot, rng.randrange(1, 4096) * 512))
            yield [now, 0, 0, 0x7F0000000000 + slot * 2097152, live[-1][1], 0, 1 + slot % 40, 0, 0]
        else:
            k = rng.randrange(len(live))
            live[k], live[-1] = live[-1], live[k]
            slot, size = live.pop()
            free.append(slot)
            yield [now, 1, 0, 0x7F0000000000 + slot * 2097152, size, 0, 1 + slot % 40, 0, 0]


def write(path, events):
    strings = [""] + ["function_%d" % i for i in range(400)]
    frames = [[0, 0, 0, 0]] + [[1 + i, 0, i, 0] for i in range(400)]
    stacks = [[]] + [[1 + (i * 7 + k) % 400 for k in range(20)] for i in range(40)]
    with open(path, "w") as f:
        f.write(json.dumps({**HEAD, "strings": strings, "frames": frames, "stacks": stacks})[:-1])
        f.write(',\n"events":[\n')
        f.write(",\n".join("[%s]" % ",".join(map(str, r)) for r in rows(events)))
        f.write("\n]}\n")


def make(path, loose, events):
    pid = os.fork()
    if not pid:  # a process of its own: what it needs must not count as that of those measured
        write(path, events)
        with open(path) as f, open(loose, "w") as g:
            json.dump(json.load(f), g, indent=1)
        os._exit(0)
    os.waitpid(pid, 0)


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    program = os.path.join(os.environ.get("B", "build"), "bin", "gpumemsnap")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        path, loose = os.path.join(folder, "s.json"), os.path.join(folder, "loose.json")
        make(path, loose, events)
        load = "import json; json.load(open(%r))" % path
        python = min(run([sys.executable, "-c", load]) for _ in range(2))
        print("our snapshot of %d events (%.0f MB): json.load %.2f s, %.0f MB" %
              (events, os.path.getsize(path) / 1e6, python.wall, python.memory / 1e6))
        for what, argv, least in (("report", [program, "report", path], 8),
                                  ("read and written again", [program, "convert", path], 4),
                                  ("the same, from indented", [program, "convert", loose], 2)):
            seconds, _, memory = min(run(argv) for _ in range(5))
            ratio = python.wall / seconds
            missed |= ratio < least
            print("%s  %s: %.0f ns per event, %.0f MB, %.1f times as fast as json.load (at least %d)" %
                  ("ok  " if ratio >= least else "MISS", what, seconds / events * 1e9, memory / 1e6, ratio, least))
    return missed


if __name__ == "__main__":
    sys.exit(main())
