"""torch_check.py REPORT.json OUTPUT.txt [WHAT…]: what the report says of a run of torch_train.py.

WHAT: figures (PyTorch's own peaks and ends, to the byte), segments (every segment found among the driver's
allocations), account (adds up, and at most 1 % is not explained), library (the 48 MiB are nobody else's),
nvml (context and other processes are told apart), driver-only (no history; said so), oom (the failure is
there). Prints what differs, one line each; the exit status says whether something does.
"""
import json
import re
import sys


def figures(s, d, output):
    names = {"requested_bytes": "requested", "allocated_bytes": "allocated", "reserved_bytes": "reserved"}
    told = re.findall(r"^torch (\S+) peak=(\d+) end=(\d+)", output, re.M)
    if len(told) != 3:
        yield "the program told nothing"
    for name, peak, end in told:
        ours = d[names[name]]
        if (ours["peak"], ours["end"]) != (int(peak), int(end)):
            yield f"{name}: peak, end are {ours['peak']}, {ours['end']}, not {peak}, {end}"


def segments(s, d, output):
    notes = [n["text"] for n in s["notes"]]
    found = [re.search(r"(\d+) of its (\d+) segments found.*align its clock(?: to (.*))?", n) for n in notes]
    found = [m for m in found if m]
    if not found or found[0][1] != found[0][2] or found[0][2] == "0":
        yield f"segments: {notes}"
    else:
        print(f"clock aligned to {found[0][3]}, {found[0][2]} segments")


def account(s, d, output):
    a = d["accounting"]
    if sum(p["bytes"] for p in a["parts"]) != a["sum"] or a["sum"] + a["remainder"] != a["used"]:
        yield f"does not add up: {a}"
    share = abs(a["remainder"]) / a["used"] * 100
    print(f"used {a['used']}, not explained {a['remainder']} ({share:.2f} %)")
    for p in a["parts"]:
        print(f"  {p['bytes']:>14} {p['part']} {p['name'] or ''} {p['pid'] or ''}")
    if share > 1:
        yield f"{share:.2f} % of what is used is not explained"


def library(s, d, output):
    sizes = [p["bytes"] for p in d["accounting"]["parts"] if p["part"] == "library"]
    if not any(48 << 20 <= b < 56 << 20 for b in sizes):
        yield f"no 48 MiB among the libraries' allocations: {sizes}"


def nvml(s, d, output):
    if not d["accounting"]["nvml"]:
        yield "NVML did not tell the process's own bytes"


def driver_only(s, d, output):
    if d["level"] != "driver" or not any("keeps no history" in n["text"] for n in s["notes"]):
        yield f"level {d['level']}, notes {s['notes']}"


def oom(s, d, output):
    if not any(o["size"] >= 1 << 45 for o in d["ooms"]):
        yield f"no failure of 32 TiB: {[o['size'] for o in d['ooms']]}"


def main():
    with open(sys.argv[1]) as f:
        snapshot = json.load(f)["snapshots"][0]
    with open(sys.argv[2]) as f:
        output = f.read()
    wrong = 0
    for what in sys.argv[3:]:
        for line in globals()[what.replace("-", "_")](snapshot, snapshot["devices"][0], output):
            print(f"{what}: {line}")
            wrong = 1
    sys.exit(wrong)


if __name__ == "__main__":
    main()
