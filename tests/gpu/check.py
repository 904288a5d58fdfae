"""check.py: compares a report with what a program promised, or with compute-sanitizer's leak list.

    check.py expect REPORT.json OUTPUT.txt     "expect KIND allocs=N frees=N end=BYTES" lines
    check.py leaks REPORT.json SANITIZER.txt   the same number of leaks of the same sizes
    check.py stack REPORT.json FUNCTION FILE   some live stack has this function of this file
    check.py within SNAPSHOT.json NAME…        allocations whose stack goes through a function or library so named

Prints what differs, one line each; the exit status says whether something does.
"""
import collections
import json
import re
import sys


def devices(path):
    with open(path) as f:
        return json.load(f)["snapshots"][0]["devices"]


def kinds(path):
    found = {}
    with open(path) as f:
        snapshot = json.load(f)["snapshots"][0]
    for part in snapshot["devices"]:
        for kind, row in part.get("kinds", {}).items():
            if kind not in found or row["allocs"]:
                found[kind] = row
    return found


def expect(report, output):
    wrong = []
    have = kinds(report)
    for line in open(output):
        m = re.match(r"expect (\S+) allocs=(\d+) frees=(\d+) end=(\d+)", line)
        if m:
            row = have.get(m[1], {"allocs": 0, "frees": 0, "end_bytes": 0})
            got = (row["allocs"], row["frees"], row["end_bytes"])
            want = tuple(int(m[i]) for i in (2, 3, 4))
            # An array is as large as the driver makes it; at least what its elements need.
            same = got[:2] == want[:2] and (got[2] == want[2] or (m[1] == "array" and got[2] >= want[2]))
            if not same:
                wrong.append(f"{m[1]}: (allocs, frees, end) are {got}, not {want}")
        m = re.match(r"expect-peak (\S+) (\d+)", line)
        if m and have.get(m[1], {"peak_bytes": None})["peak_bytes"] != int(m[2]):
            wrong.append(f"{m[1]}: peak is {have.get(m[1])}, not {m[2]} bytes")
    return wrong


def leaks(report, sanitizer):
    theirs = collections.Counter()
    for line in open(sanitizer):
        m = re.search(r"Leaked ([\d,]+) bytes? (at|from CUDA array)", line)
        if m:  # of an array it tells the elements, not the bytes: only how many leaked can be compared
            theirs[int(m[1].replace(",", "")) if m[2] == "at" else "array"] += 1
    ours = collections.Counter()
    for device in devices(report):
        if "array" in theirs:
            kind = device["kinds"].get("array", {"allocs": 0, "frees": 0})
            return [] if theirs == {"array": kind["allocs"] - kind["frees"]} else [f"{kind}, not {dict(theirs)}"]
        for leak in device["leaks"]:
            if leak["bytes"] % leak["count"] == 0:
                ours[leak["bytes"] // leak["count"]] += leak["count"]
            else:
                ours["mixed"] += leak["count"]
    if not theirs:
        return ["the leak list is empty: " + " ".join(open(sanitizer).read().split())[-300:]]
    return [] if ours == theirs else [f"we say {dict(ours)}, compute-sanitizer {dict(theirs)}"]


def stack(report, function, file):
    seen = set()
    for device in devices(report):
        for entry in device.get("peak_stacks", []) + device.get("leaks", []):
            for frame in entry["stack"]:
                seen.add((frame["function"], frame["file"]))
                if frame["function"] and function in frame["function"] and file in (frame["file"] or ""):
                    return []
    return [f"no frame {function} of {file}; there are {sorted(map(str, seen))[:12]}"]


def within(snapshot, *words):
    """Allocations of the snapshot whose stack goes through a function or library of one of these names."""
    s = json.load(open(snapshot))
    texts = s["strings"]
    through = [any(w in texts[f[0]] or w in texts[f[3]] for w in words) for f in s["frames"]]
    stacks = [any(through[f] for f in frames) for frames in s["stacks"]]
    at = {name: i for i, name in enumerate(s["event_fields"])}
    found = [e[at["size"]] for e in s["events"]
             if s["ops"][e[at["op"]]].endswith(".alloc") and stacks[e[at["stack"]]] and e[at["size"]]]
    if not found:
        return [f"no allocation goes through {' or '.join(words)}"]
    print(f"{len(found)} allocations of {sum(found)} bytes in all")
    return []


problems = {"expect": expect, "leaks": leaks, "stack": stack, "within": within}[sys.argv[1]](*sys.argv[2:])
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
