#!/bin/bash
# headers.sh: driver.def against CUDA's own list of versions, and recorder and simulated driver compile with the oldest
# CUDA headers we stand on, as TAP.
#
# Those are made of the ones that are here: of a later version nothing is left but driver.def's word.
set -u
cd "$(dirname "$0")/../.." || exit 2
oldest=12000
cuda=${CUDA_HOME:-/usr/local/cuda}/include
echo 1..2
[ -e "$cuda/cuda.h" ] || { printf 'ok %d - # SKIP no CUDA headers here\n' 1 2; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - "$cuda/cuda.h" $oldest >"$work/cuda.h" <<'PY'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
oldest = int(sys.argv[2])
text = re.sub(r"(#define CUDA_VERSION) \d+", rf"\1 {oldest}", text)
for row in re.finditer(r"^DRIVER_FN\((\w+), (\w+), (\d+),", open("src/driver/driver.def").read(), re.M):
    if int(row[3]) > oldest:
        text = re.sub(rf"CUresult CUDAAPI {row[2]}\([^;]*;", "", text)
for name in "CUctxCreateParams", "CUgraphNodeParams", "CUgraphEdgeData": # types, likewise
    text = re.sub(rf"\b{name}\b", "newer_" + name, text)
print(text)
PY
cp "$cuda"/{cudaProfiler,crt}* "$work" 2>/dev/null
for f in src/record/*.c src/simcuda/*.c; do
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -isystem "$work" -fsyntax-only -Wall "$f" 2>&1 | grep -E 'error' | head -3
done >"$work/out"
if [ -s "$work/out" ]; then
	echo "not ok 1 - CUDA $oldest headers will do"
	sed 's/^/# /' "$work/out" | head -30
else
	echo "ok 1 - CUDA $oldest headers will do"
fi

# cudaTypedefs.h has a type for each form a function ever had, named after the version from which on its name means it.
if python3 - "$cuda" <<'PY'
import re, sys
header = open(sys.argv[1] + "/cudaTypedefs.h", encoding="utf-8").read()
here = int(re.search(r"#define CUDA_VERSION (\d+)", open(sys.argv[1] + "/cuda.h", encoding="utf-8").read())[1])
theirs = {(m[1], int(m[2]), bool(m[3])) for m in re.finditer(r"\bPFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)\(", header)}
ours = {(m[1], int(m[2]), m[3] == "PER_THREAD") for m in
        re.finditer(r"^DRIVER_FN\((\w+), \w+, (\d+), (\w+),", open("src/driver/driver.def").read(), re.M)}
newest = max(row[1] for row in ours)
wrong = {r for r in theirs - ours if r[1] <= newest} | {r for r in ours - theirs if r[1] <= here and "Profiler" not in r[0]}
for row in sorted(wrong):
    print("#", row)
sys.exit(bool(wrong) or len(theirs) < 300)
PY
then
	echo "ok 2 - driver.def has each form of each function from the version on that CUDA says"
else
	echo "not ok 2 - driver.def has each form of each function from the version on that CUDA says"
fi
