#!/usr/bin/env python3
"""pictures.py [events]: what a picture of a long recording costs beyond reading it.

Processor time of the command, the least of some runs, minus that of a command that reads the same file and does
next to nothing with it (convert to folded stacks at an instant at which nothing is live). Budget: 60 ms for a
million events and a picture 2400 pixels wide. The page's budgets are of its size: 25 MB.
"""
import os
import sys
import tempfile

from read_json import write


def cost(argv):
    """Seconds of processor time of one run."""
    null = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    _, status, usage = os.wait4(pid, 0)
    os.close(null)
    if status:
        sys.exit("%s: status %d" % (" ".join(argv), status))
    return usage.ru_utime + usage.ru_stime


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    program = os.path.join(os.environ.get("B", "build"), "bin", "gpumemsnap")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        path, page = os.path.join(folder, "s.json"), os.path.join(folder, "s.html")
        write(path, events)
        read = min(cost([program, "convert", "--to", "folded", "--at", "0", path]) for _ in range(5))
        print("reading %d events: %.0f ms" % (events, read * 1e3))
        budget = 60 * events / 1e6
        for what in (["flame"], ["flame", "--by", "phase"], ["timeline"], ["timeline", "--view", "reserved"],
                     ["timeline", "--at", "peak"], ["timeline", "--view", "segments"]):
            more = (min(cost([program, *what, path]) for _ in range(5)) - read) * 1e3
            missed |= more > budget
            print("%s  %s: %.0f ms more (at most %.0f)" % ("ok  " if more <= budget else "MISS", " ".join(what), more, budget))
        seconds, size = cost([program, "html", "-o", page, path]), os.path.getsize(page) / 1e6
        missed |= size > 25 * events / 1e6
        print("%s  html: %.2f s, %.1f MB (at most %.0f)" % ("ok  " if size <= 25 * events / 1e6 else "MISS", seconds, size, 25 * events / 1e6))
    return missed


if __name__ == "__main__":
    sys.exit(main())
