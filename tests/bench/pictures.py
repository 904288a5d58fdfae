#!/usr/bin/env python3
"""pictures.py [events]: what a picture of a long recording costs beyond reading it.

Processor time of the command, the least of some runs, minus that of a command that reads the same file and does
next to nothing with it (convert to folded stacks at an instant at which nothing is live). On a quiet machine
reading takes 75 ms for a million events, and a picture may take 60 ms more: so it is judged by 0.8 times the
reading of the same run. The map of addresses draws the 300,000 of this recording's 500,000 blocks that are to be seen,
and may take more. The page is judged by its size: 25 MB.
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from measure import run
from read_json import write


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    program = os.path.join(os.environ.get("B", "build"), "bin", "gpumemsnap")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "s.json"), os.path.join(folder, "s.html")
        write(path, events)
        read = min(run([program, "convert", "--to", "folded", "--at", "0", path]).cpu for _ in range(5))
        print("reading %d events: %.0f ms" % (events, read * 1e3))
        for what, most in (("flame", .8), ("flame --by phase", .8), ("timeline", .8), ("timeline --view reserved", .8),
                           ("timeline --at peak", .8), ("timeline --view segments", 1.3)):
            more = (min(run([program, *what.split(), path]).cpu for _ in range(5)) - read) / read
            missed |= more > most
            print("%s  %s: %.2f times the reading more, as if %.0f ms (at most %.1f)" %
                  ("ok  " if more <= most else "MISS", what, more, more * 75, most))
        seconds, size = run([program, "html", "-o", page, path]).cpu, os.path.getsize(page) / 1e6
        missed |= size > 25 * events / 1e6
        print("%s  html: %.2f s, %.1f MB (at most %.0f)" % ("ok  " if size <= 25 * events / 1e6 else "MISS", seconds, size, 25 * events / 1e6))
    return missed


if __name__ == "__main__":
    sys.exit(main())
