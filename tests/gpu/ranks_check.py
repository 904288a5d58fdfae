"""ranks_check.py REPORT.json FOLDER WHAT…: what the report says of the processes of a run of ranks.py.

WHAT: ranks=N, processes=N (so many snapshots), devices=N (in each), figures (PyTorch's own, to the byte, as each
process told), segments, account (adds up, at most 1 % is not explained), odd=RANK (it is named; the job's most is
all peaks together), together (the accounts of all processes on one device are its account), nccl (NCCL's memory
is named), failed=RANK, terminated (those ended by a signal still have both levels). Prints figures, and what
differs; the exit status says whether something does.
"""
import json
import os
import re
import sys

import torch_check

OWN = ("active", "pending", "rounding", "cached_parts", "cached_whole", "library", "pool_reserve", "graphs")


def told(s, d, folder):
    with open(os.path.join(folder, "%d.told" % s["pid"])) as f:
        return "\n".join(line.partition(": ")[2] for line in f.read().splitlines() if line.startswith("%d: " % d["device"]))


def each_device(report):
    """Each device that a process uses."""
    for s in report["snapshots"]:
        for d in s["devices"]:
            if d["device"] is not None and d["accounting"]["used"] is not None:
                yield s, d


def by_parts(d, parts):
    return sum(p["bytes"] for p in d["accounting"]["parts"] if p["part"] in parts)


def ranks(report, folder, n):
    found = sorted(s["rank"] if s["rank"] is not None else -1 for s in report["snapshots"])
    if found != list(range(int(n))):
        yield f"ranks {found}"


def processes(report, folder, n):
    if len(report["snapshots"]) != int(n):
        yield f"{len(report['snapshots'])} snapshots: {[s['file'] for s in report['snapshots']]}"


def devices(report, folder, n):
    for s in report["snapshots"]:
        found = [d["device"] for d in s["devices"] if d["device"] is not None]
        if found != list(range(int(n))):
            yield f"{s['file']}: devices {found}"


def figures(report, folder):
    for s, d in each_device(report):
        print(f"{s['file']}: pid {s['pid']}, rank {s['rank']}, GPU {d['device']}: peak {d['requested']['peak']}, "
              f"reserved {d['reserved']['peak']}")
        yield from torch_check.figures(s, d, told(s, d, folder))


def segments(report, folder):
    for s in report["snapshots"]:
        yield from torch_check.segments(s, None, None)


def account(report, folder):
    for s, d in each_device(report):
        print(f"{s['file']}, GPU {d['device']}:")
        yield from torch_check.account(s, d, None)


def odd(report, folder, rank):
    c = report["comparison"]
    print("odd:", c["odd"])
    if not c["odd"] or report["snapshots"][c["odd"]["index"]]["rank"] != int(rank):
        yield f"the odd one is not rank {rank}"
    most = sum(int(re.search(r"requested_bytes peak=(\d+)", told(s, d, folder))[1]) for s, d in each_device(report))
    if c["sum_peak"] != most:
        yield f"together at most {c['sum_peak']}, not {most}"


def together(report, folder):
    """Each process's own bytes by its account; NVML's where it tells them, else what they leave for contexts."""
    all_of_them = list(each_device(report))
    own = {s["pid"]: by_parts(d, OWN) for s, d in all_of_them}
    used = max(d["accounting"]["used"] for _, d in all_of_them)
    if all(d["accounting"]["nvml"] for _, d in all_of_them):
        whole = {s["pid"]: by_parts(d, OWN + ("context", "context_later")) for s, d in all_of_them}
        for s, d in all_of_them:
            seen = {p["pid"]: p["bytes"] for p in d["accounting"]["parts"] if p["part"] == "other_process"}
            print(f"pid {s['pid']}: {whole[s['pid']]} its own; of others it saw {seen}")
        last = max(all_of_them, key=lambda x: x[1]["accounting"]["used"])[0]["pid"]
        seen = next({p["pid"]: p["bytes"] for p in d["accounting"]["parts"] if p["part"] == "other_process"}
                    for s, d in all_of_them if s["pid"] == last)
        for pid in whole:
            if pid != last and abs(seen.get(pid, 0) - whole[pid]) > whole[pid] * 0.02:
                yield f"NVML says {seen.get(pid)} of {pid}, its own account {whole[pid]}"
    rest = used - sum(own.values())
    print(f"used {used}: {sum(own.values())} by the processes' own accounts {own}, {rest // len(own)} a process besides")
    if not 128 << 20 < rest / len(own) < 2 << 30:
        yield f"{rest} bytes are left for {len(own)} contexts"


def nccl(report, folder):
    for s, d in each_device(report):
        parts = [p for p in d["accounting"]["parts"] if p["part"] == "library" and "nccl" in (p["name"] or "")]
        print(f"{s['file']}: {[(p['bytes'], p['name'], p['count']) for p in parts]}")
        if not parts:
            yield f"{s['file']}: nothing by NCCL"


def failed(report, folder, rank):
    s = next(s for s in report["snapshots"] if s["rank"] == int(rank))
    if not any(o["size"] >= 1 << 45 for d in s["devices"] for o in d["ooms"]):
        yield f"rank {rank} has no failure"


def terminated(report, folder):
    ended = [s for s in report["snapshots"] if not s["complete"]]
    print("ended by a signal:", [(s["file"], s["devices"][0]["level"]) for s in ended])
    if not ended or any(d["level"] != "framework" for s in ended for d in s["devices"] if d["device"] is not None):
        yield f"{[(s['why_incomplete'], [n['text'] for n in s['notes']]) for s in report['snapshots']]}"


def main():
    with open(sys.argv[1]) as f:
        report = json.load(f)
    wrong = 0
    for what in sys.argv[3:]:
        name, _, value = what.partition("=")
        for line in globals()[name](report, sys.argv[2], *([value] if value else [])):
            print(f"{what}: {line}")
            wrong = 1
    sys.exit(wrong)


if __name__ == "__main__":
    main()
