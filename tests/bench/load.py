#!/usr/bin/env python3
"""load.py [SCALE [CASE]]: `make bench-load`: large recordings on the simulated driver, and what each command needs for them.

Each case is a program of rec_load.c, recorded by one command and then read by all others, or (a framework's
segments) a file made here. Times are seconds of processor time; memory is the peak of the process. Judged: four
times the events take at most 5 times the time and 4.4 times the memory. SCALE 0.1 is a tenth of everything; CASE
is one of events, threads, stacks, live and segments.
Needs 6 GB of disk and 3 GB of memory; ten minutes.
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import measure
from read_json import HEAD

B = os.path.abspath(os.environ.get("B", "build"))
PROGRAM = os.path.join(B, "bin", "gpumemsnap")
READERS = (("report", ["report"]), ("flame", ["flame", "-o", "out.png"]), ("timeline", ["timeline", "-o", "out.png"]),
           ("segments", ["timeline", "--view", "segments", "-o", "out.png"]), ("convert", ["convert", "-o", "out.json"]),
           ("diff", ["diff"]))


def run(argv):
    """Seconds of processor time and MB of memory, of the process and those it waited for."""
    cost = measure.run(argv)
    return cost.cpu, cost.memory / 1e6


def read(path):
    """What each reader needs: {name: (seconds, MB)}."""
    took = {}
    for name, argv in READERS:
        took[name] = run([PROGRAM, *argv, path] + ([path] if name == "diff" else []))
        print("    %-9s %7.2f s %7.0f MB" % (name, *took[name]), flush=True)
    return took


def recorded(name, pairs, live, stacks, threads):
    argv = [os.path.join(B, "tests/bench/rec_load"), *map(str, (pairs, live, stacks, threads))]
    events = 2 * pairs - live
    seconds, memory = run([PROGRAM, "record", "-q", "--sim", "-o", "s.json", *argv])
    print("%s: %d events, %d stacks, %d live blocks, %d threads (rec_load %s)" %
          (name, events, stacks, live, threads, " ".join(argv[1:])))
    size = os.path.getsize("s.json")
    print("    record    %7.2f s %7.0f MB, %.0f MB of snapshot, %.1f bytes per event, %.2f million events a second" %
          (seconds, memory, size / 1e6, size / events, events / seconds / 1e6), flush=True)
    return {"record": (seconds, memory), **read("s.json")}


def framework(segments, blocks):
    """A framework's segments of 20 MiB, and blocks that come and go in them."""
    with open("s.json", "w") as f:
        head = {**HEAD, "ops": ["segment.alloc", "block.alloc", "block.free"],
                "strings": [""] + ["f%d" % i for i in range(100)], "frames": [[0, 0, 0, 0]] + [[1 + i, 0, i, 0] for i in range(100)],
                "stacks": [[]] + [[1 + i, 1 + i * 7 % 100] for i in range(100)]}
        f.write(json.dumps(head)[:-1] + ',\n"events":[')
        now, separator = 0, "\n"
        for i in range(segments):
            f.write("%s[%d,0,0,%d,%d,0,1,0,0]" % (separator, i, 0x7F0000000000 + (i << 25), 20 << 20))
            separator = ",\n"
        for i in range(blocks):
            at = 0x7F0000000000 + (i % segments << 25) + (i // segments % 20 << 20)
            f.write(",\n[%d,1,0,%d,%d,0,%d,0,0]" % (segments + i, at, (1 << 20) - i % 7 * 512, 1 + i % 100))
            if i >= segments * 15:
                k = i - segments * 15
                f.write(",\n[%d,2,0,%d,%d,0,0,0,0]" % (segments + i, 0x7F0000000000 + (k % segments << 25) + (k // segments % 20 << 20),
                                                     (1 << 20) - k % 7 * 512))
        f.write("\n]}\n")
    print("segments: %d segments, %d blocks (%.0f MB)" % (segments, blocks, os.path.getsize("s.json") / 1e6), flush=True)
    read("s.json")


def events(n):
    small = recorded("a quarter", n(2.5), 1000, 1000, 1)
    large = recorded("events", n(10), 1000, 1000, 1)
    missed = False
    for name, (seconds, memory) in large.items():
        time, space = seconds / small[name][0], memory / small[name][1]
        missed |= time > 5 or space > 4.4
        print("%s  four times the events: %s: %.1f times the time, %.1f times the memory" %
              ("MISS" if time > 5 or space > 4.4 else "ok  ", name, time, space))
    return missed


CASES = {"events": events,
         "threads": lambda n: recorded("threads", n(1), 1024, 1000, 64) and False,
         "stacks": lambda n: recorded("stacks", n(1), 1000, n(1), 1) and False,
         "live": lambda n: recorded("live", n(5), n(5), 1000, 1) and False,
         "segments": lambda n: framework(max(n(0.01), 1), n(1))}


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        missed = [CASES[case](lambda millions: int(millions * 1e6 * scale)) for case in sys.argv[2:] or CASES]
    return any(missed)


if __name__ == "__main__":
    sys.exit(main())
