"""torch_rules.py PICKLE…: does a PyTorch snapshot hold what PyTorch's memory viewer (a page of JavaScript) takes for
granted? It undoes the events from the state at the end, last first, to show any instant: then each must find what it
undoes, and each block must lie in a segment. Its numbers are doubles. Prints what is wrong; the exit status says whether
something is.
"""
import pickle
import pickletools
import sys

# the opcodes that the page understands, of the protocols 2 to 4
OPCODES = set("""PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE
    EMPTY_LIST APPEND APPENDS LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT SETITEM SETITEMS DICT MEMOIZE BINPUT
    LONG_BINPUT BINGET LONG_BINGET""".split())


def numbers(x):
    for v in x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ():
        if isinstance(v, int):
            yield v
        else:
            yield from numbers(v)


def within(segments, addr, size):
    return [a for a, n in segments.items() if a <= addr and addr + size <= a + n]


def unmap(segments, addr, size):
    at = within(segments, addr, size)[0]
    n = segments.pop(at)
    for a, b in ((at, addr), (addr + size, at + n)):
        if b > a:
            segments[a] = b - a


def remap(segments, addr, size):
    for a, n in list(segments.items()):
        if a + n == addr or a == addr + size:
            addr, size = min(a, addr), size + segments.pop(a)
    segments[addr] = size


def final_state(d, device):
    segments, blocks = {}, {}
    for s in d["segments"]:
        at = s["address"]
        for b in s["blocks"]:
            if b["address"] != at:
                yield f"block {b['address']:#x} is not where the one before ends, {at:#x}"
            at += b["size"]
            if s["device"] == device and b["state"] != "inactive":
                blocks[b["address"]] = b["state"] == "active_pending_free"
        if at != s["address"] + s["total_size"]:
            yield f"the blocks of segment {s['address']:#x} do not add up"
        if s["device"] == device:
            segments[s["address"]] = s["total_size"]
    return segments, blocks


def undo(d, device):
    segments, blocks = yield from final_state(d, device)
    for i, e in reversed(list(enumerate(d["device_traces"][device]))):
        action, addr, size = e["action"], e.get("addr"), e["size"]
        where = f"device {device}, event {i}, {action} of {size} at {addr}"
        if action == "free_completed":
            blocks[addr] = True
            if not within(segments, addr, size):
                yield f"{where}: outside every segment"
        elif action == "free_requested":
            if not blocks.get(addr):
                yield f"{where}: no such block that is being freed"
            blocks[addr] = False
        elif action == "alloc":
            if blocks.pop(addr, None) is None:
                yield f"{where}: no such block"
        elif action == "segment_free":
            segments[addr] = size
        elif action == "segment_unmap":
            remap(segments, addr, size)
        elif action in ("segment_alloc", "segment_map"):
            if action == "segment_alloc" and segments.get(addr) != size or not within(segments, addr, size):
                yield f"{where}: no such segment"
            else:
                unmap(segments, addr, size)
            if any(addr <= b < addr + size for b in blocks):
                yield f"{where}: a block was there before"
    if segments or blocks:
        yield f"device {device}: {len(segments)} segments and {len(blocks)} blocks were there before the first event"


def faults(raw):
    odd = {op.name for op, _, _ in pickletools.genops(raw)} - OPCODES
    if odd:
        yield f"opcodes {odd}"
    d = pickle.loads(raw)
    for device in range(len(d["device_traces"])):
        yield from undo(d, device)
    for s in d["segments"]:
        if s["device"] >= len(d["device_traces"]):
            yield f"device {s['device']} has no trace"
    for n in numbers(d):
        if float(n) != n:
            yield f"{n} is no double"


wrong = []
for name in sys.argv[1:]:
    with open(name, "rb") as f:
        wrong += [f"{name}: {w}" for w in faults(f.read())]
print(*wrong[:20], sep="\n")
sys.exit(bool(wrong))
