#!/bin/bash
# run.sh: what `make bench` does: speed as ratios within this run. It judges nothing by itself but what
# the parts judge; quote its medians, and only from a quiet machine. Never part of `make check`.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=$PWD/build}"
export B PATH="$B/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
driver=$B/lib/gpumemsnap/sim
[ -e /dev/nvidiactl ] && driver=

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
pair() { # THREADS COMMAND…: median ns of a pair over seven runs
	local threads=$1
	shift
	for _ in 1 2 3 4 5 6 7; do
		LD_LIBRARY_PATH=$driver "$@" "$B/tests/bench/rec_pair" "$threads" 100000 2>/dev/null | sed -n 's/.*ns_per_pair //p'
	done | median
}
if [ -x "$B/tests/bench/rec_pair" ]; then
	echo "== an allocation and its free, 15 frames deep, on ${driver:+the simulated driver}$([ -n "$driver" ] || echo the GPU)"
	for threads in 1 4 16; do
		bare=$(pair "$threads" env)
		for how in 'none:no stacks' 'alloc:stack of the allocation' 'all:both stacks'; do
			with=$(pair "$threads" gpumemsnap record -q -o "$work/s.json" --stacks "${how%%:*}")
			echo "$bare $with" | awk -v t="$threads" -v h="${how#*:}" \
				'{printf "%2d threads: %6.0f ns, recorded with %-24s %+6.0f ns  (%.2f times)\n", t, $1, h ":", $2 - $1, $2 / $1}'
		done
	done
fi
if [ -x "$B/tests/bench/gma_pair" ]; then
	echo '== a cached pair of the allocator'
	"$B/tests/bench/gma_pair"
fi
echo '== report on a PyTorch snapshot, against pickle.load'
python3 tests/bench/read_torch.py
echo '== our own snapshot, against json.load'
python3 tests/bench/read_json.py
echo '== pictures, beyond reading'
python3 tests/bench/pictures.py
