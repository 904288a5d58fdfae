"""measure.py: what a command costs. For the other programs of this folder."""
import collections
import os
import sys
import time

Cost = collections.namedtuple("Cost", "wall cpu memory")  # seconds, seconds of processor time, bytes


def run(argv):
    """One run, its output thrown away."""
    begin = time.monotonic()
    null = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    _, status, usage = os.wait4(pid, 0)
    os.close(null)
    if status:
        sys.exit("%s: status %d" % (" ".join(argv), status))
    return Cost(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
