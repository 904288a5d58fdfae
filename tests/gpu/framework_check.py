"""framework_check.py WHAT REPORT.json OUTPUT.txt [PROFILE-REPORT.json]: what the report says of cupy_pool.py,
jax_pool.py and numba_arrays.py. Prints the figures, and what differs from what the program told; the exit status says whether
something does.
"""
import json
import os
import re
import sys


def line_of(script, text):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), script)) as f:
        return next(n for n, line in enumerate(f, 1) if text in line)


def has_frame(entry, function, line=None):
    return any(f["function"] == function and line in (None, f["line"]) for f in entry["stack"])


def told(path, pattern):
    with open(path) as f:
        m = re.search(pattern, f.read())
    return [int(g) if g.isdigit() else g for g in m.groups()] if m else None


def cupy(snapshot, output):
    d = snapshot["devices"][0]
    total, kept, batches = told(output, r"pool total=(\d+) kept=(\d+) batches=(\d+)")
    end = sum(d["kinds"].get(kind, {"end_bytes": 0})["end_bytes"] for kind in ("device", "async", "physical"))
    print(f"pool {total}, the driver's allocations {end}; kept {kept} in {batches}")
    if end != total:
        yield f"the driver has {end} bytes of the pool's {total}: {d['kinds']}"
    leaks = [k for k in d["leaks"] if has_frame(k, "remember")]
    if sum(k["bytes"] for k in leaks) != kept or sum(k["count"] for k in leaks) != batches:
        yield f"leaks with remember(): {[(k['bytes'], k['count']) for k in leaks]}, not {kept} in {batches}"
    line = line_of("cupy_pool.py", "return cupy.zeros")
    if not all(has_frame(k, "make_batch", line) for k in leaks):
        yield f"not every leak has make_batch, line {line}"
    if not any("never freed" in s["text"] and f"make_batch cupy_pool.py:{line}" in s["text"] for s in snapshot["verdict"]):
        yield f"the verdict does not say so: {[s['text'] for s in snapshot['verdict']]}"


def numba(snapshot, output):
    kept, arrays = told(output, r"kept=(\d+) arrays=(\d+)")
    leaks = [k for k in snapshot["devices"][0]["leaks"] if has_frame(k, "remember")]
    print(f"kept {kept} in {arrays}; leaks {[(k['bytes'], k['count']) for k in leaks]}")
    if sum(k["bytes"] for k in leaks) != kept or sum(k["count"] for k in leaks) != arrays:
        yield f"leaks with remember(): {[(k['bytes'], k['count']) for k in leaks]}, not {kept} in {arrays}"


def jax(snapshot, output, profile):
    d = snapshot["devices"][0]
    platform, limit, tables = told(output, r"platform=(\w+) limit=(\d+) tables=(\d+)")
    said = [s["text"] for s in snapshot["verdict"]]
    print(*said, sep="\n")
    if platform not in ("gpu", "cuda"):
        yield f"JAX did not run on the GPU but on {platform}"
    share = re.search(r"JAX reserved .*?, (\d+) % of GPU 0, in one allocation", " ".join(said))
    if not share or not 60 <= int(share[1]) <= 80:
        yield "the verdict does not explain the pool"
    if not any("XLA_PYTHON_CLIENT_PREALLOCATE=false" in s for s in said):
        yield "the verdict does not say what to set"
    print(f"limit {limit}, held at the peak {d['requested']['peak']}")
    if d["requested"]["peak"] < limit * 0.99:
        yield f"the driver gave {d['requested']['peak']}, less than the limit that JAX tells, {limit}"
    with open(profile) as f:
        rows = [r for p in json.load(f)["snapshots"][0]["devices"] for r in p["live_stacks"]]
    ours = sum(r["bytes"] for r in rows if has_frame(r, "make_table"))
    print(f"JAX's profile: {ours} bytes by make_table, of {tables}")
    if ours != tables:
        yield f"its profile has {ours} bytes by make_table, not {tables}: {rows[:3]}"


def main():
    with open(sys.argv[2]) as f:
        snapshot = json.load(f)["snapshots"][0]
    wrong = list(globals()[sys.argv[1]](snapshot, *sys.argv[3:]))
    for line in wrong:
        print(f"{sys.argv[1]}: {line}")
    sys.exit(bool(wrong))


main()
