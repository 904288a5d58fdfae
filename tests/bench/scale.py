#!/usr/bin/env python3
"""scale.py [events]: is `report` linear? The same kind of recording in two sizes, one four times the other.

A quarter of the allocations is never freed and every twentieth event has a stack that no other has, so that
live blocks and stacks grow with the file. Budgets: at most 5 times the time (caches help the small one) and
at most 4.4 times the memory.
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from measure import run
from read_json import HEAD


def write(path, events):
    n_stacks = events // 20
    frames = 2000
    with open(path, "w") as f:
        f.write(json.dumps({**HEAD, "strings": [""] + ["f%d" % i for i in range(frames)],
                            "frames": [[0, 0, 0, 0]] + [[1 + i, 0, i, 0] for i in range(frames)]})[:-1])
        f.write(',\n"stacks":[\n[]')
        for i in range(n_stacks):
            f.write(",\n[%d,%d,%s]" % (1 + i % frames, 1 + i // frames % frames, ",".join(str(1 + (i * 7 + k) % frames) for k in range(8))))
        f.write('],\n"events":[\n')
        held, separator = [], ""
        for i in range(events):
            if i % 8 < 5:  # five allocations, three frees
                row = [i * 1000, 0, 0, 0x7F0000000000 + i * 4096, 4096, 0, 1 + i * 20 % n_stacks + i % 20 % 2, 0, 0]
                held.append(i)
            else:
                k = held.pop(-1 - i % 3)
                row = [i * 1000, 1, 0, 0x7F0000000000 + k * 4096, 4096, 0, 0, 0, 0]
            f.write(separator + "[%s]" % ",".join(map(str, row)))
            separator = ",\n"
        f.write("\n]}\n")


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    program = os.path.join(os.environ.get("B", "build"), "bin", "gpumemsnap")
    took = []
    with tempfile.TemporaryDirectory() as folder:
        for n in (events // 4, events):
            path = os.path.join(folder, "s.json")
            pid = os.fork()
            if not pid:
                write(path, n)
                os._exit(0)
            if os.waitpid(pid, 0)[1]:
                sys.exit("scale.py: cannot make the recording")
            took.append(min(run([program, "report", path])[1:] for _ in range(3)))
            print("%d events, %d stacks, %d live blocks (%.0f MB): report %.2f s, %.0f MB, %.0f bytes per event" %
                  (n, n // 20, n // 4, os.path.getsize(path) / 1e6, took[-1][0], took[-1][1] / 1e6, took[-1][1] / n))
    time, memory = took[1][0] / took[0][0], took[1][1] / took[0][1]
    good = time <= 5 and memory <= 4.4
    print("%s  four times the recording: %.1f times the time (at most 5), %.1f times the memory (at most 4.4)" %
          ("ok  " if good else "MISS", time, memory))
    return not good


if __name__ == "__main__":
    sys.exit(main())
