"""torch_viewer.py SNAPSHOT…: PyTorch's own viewer, torch.cuda._memory_viz, reads what `convert --to torch` makes of
each recording and finds the figures that report gives. Prints the figures, and what differs; the exit status says
whether something does.
"""
import base64
import contextlib
import io
import json
import os
import pickle
import re
import subprocess
import sys

from torch.cuda import _memory_viz as viz

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../consumers/torch_rules.py")
ON_DEVICE = ("device", "async", "physical", "array")  # of the driver's kinds, each allocation is a segment with a block


def folded(text):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())


def viewer(action, path, *options):
    subprocess.run([sys.executable, "-m", "torch.cuda._memory_viz", action, path, *options], check=True,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def told_by(action, path):
    return subprocess.run([sys.executable, "-m", "torch.cuda._memory_viz", action, path], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def held(devices):
    """What the viewer's segments add up to: without blocks each allocation is one, and a pool's reserve is not there."""
    return sum(d["reserved" if "block" in d["kinds"] else "requested"]["end"] for d in devices)


def stats(path, data, devices):
    """Totals of the state at the end; it asserts itself that every segment's blocks add up to the segment."""
    text = told_by("stats", path)
    reserved, requested = held(devices), sum(d["requested"]["end"] for d in devices)
    wanted = [f"segments: {len(data['segments'])}", f"total_reserved: {viz.Bytes(reserved)}"]
    if not any(d["pending_end"] for d in devices):  # the viewer does not count these
        wanted.append(f"total_allocated: {viz.Bytes(requested)}")
    print(*wanted, sep=", ")
    yield from (f"stats: no '{line}' in {text[:600]}" for line in wanted if line not in text.splitlines())


def flames(path, data, devices):
    """Widths of the flame graphs: all that is reserved."""
    reserved = held(devices)
    with contextlib.redirect_stdout(io.StringIO()):
        texts = {"memory": viz.memory(data, format_flamegraph=str), "segments": viz.segments(data, format_flamegraph=str),
                 "compare": viz.compare([], data["segments"], format_flamegraph=str)}
    for name, text in texts.items():
        if folded(text) != reserved:
            yield f"{name}: {folded(text)}, not {reserved}"


def trace(path, data, devices):
    """Every event is in its list: allocations, frees and refusals are as many as the report says."""
    text = told_by("trace", path)
    kinds = [d["kinds"][k] for d in devices for k in (["block"] if "block" in d["kinds"] else d["kinds"])
             if k == "block" or k in ON_DEVICE]
    found = {what: len(re.findall(pattern, text, re.M)) for what, pattern in
             {"allocs": r"^\w+ = \S+\[\d+:", "frees": r"^# free completed for ", "failed": r"^raise OutOfMemoryError"}.items()}
    wanted = {what: sum(k[what] for k in kinds) for what in found}
    print(f"trace: {found}")
    if found != wanted:
        yield f"trace: {found}, not {wanted}"


def plots(path, data, devices):
    """The pages hold the snapshot as it is."""
    for action, *options in (["trace_plot"], ["trace_plot", "-s"], ["segment_plot"]):
        viewer(action, path, "-o", "plot.html", *options)
        with open("plot.html") as f:
            held = pickle.loads(base64.b64decode(re.search(r'"base64": "([^"]*)"', f.read())[1]))
        if held != data:
            yield f"{action}: the page holds another snapshot"


def main():
    wrong = []
    for snapshot in sys.argv[1:]:
        report = json.loads(subprocess.check_output(["gpumemsnap", "report", "--format", "json", snapshot]))
        subprocess.run(["gpumemsnap", "convert", "--to", "torch", snapshot, "-o", "viewer.pickle"], check=True)
        with open("viewer.pickle", "rb") as f:
            data = pickle.load(f)
        rules = subprocess.run([sys.executable, RULES, "viewer.pickle"], stdout=subprocess.PIPE, text=True)
        wrong += rules.stdout.splitlines() if rules.returncode else []
        print(snapshot.rsplit("/", 1)[-1])
        for look in (stats, flames, trace, plots):
            wrong += [f"{snapshot}: {w}" for w in look("viewer.pickle", data, report["snapshots"][0]["devices"])]
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


main()
