#!/bin/bash
# run.sh: what `make bench` does: speed as ratios within this run. It judges nothing by itself but what
# the parts judge; quote its medians, and only from a quiet machine. EVENTS=1000000 make bench: larger recordings.
# A few minutes; never part of `make check`.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=$PWD/build}"
export B PATH="$B/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
events=${EVENTS:-300000}
pool=shared
driver=$B/lib/gpumemsnap/sim
[ -e /dev/nvidiactl ] && driver=

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
ns() { # THREADS COMMAND…: ns of a pair in one run
	local threads=$1
	shift
	LD_LIBRARY_PATH=$driver "$@" "$B/tests/bench/rec_pair" "$threads" $((200000 / threads)) $pool 2>/dev/null |
		sed -n 's/.*ns_per_pair //p'
}
. tests/bench/clock.sh
# Every round runs each way once, so that what disturbs the machine disturbs all; medians are compared.
pairs() { # THREADS
	local how
	for _ in 1 2 3 4 5 6 7; do
		ns "$1" env >>"$work/bare"
		for how in none alloc all; do
			ns "$1" gpumemsnap record -q -o "$work/s.json" --stacks $how >>"$work/$how"
		done
	done
	for how in 'none:no stacks' 'alloc:stack of the allocation' 'all:both stacks'; do
		echo "$(median <"$work/bare") $(median <"$work/${how%%:*}")" | awk -v t="$1" -v h="${how#*:}" \
			'{printf "%2d threads: %6.0f ns, recorded with %-24s %+6.0f ns  (%.2f times)\n", t, $1, h ":", $2 - $1, $2 / $1}'
	done
	rm -f "$work"/{bare,none,alloc,all}
}
if [ -x "$B/tests/bench/rec_pair" ]; then
	real=$driver
	mkdir "$work/quick" && cp "$B/tests/fault/libquick.so" "$work/quick/libcuda.so.1"
	echo "== an allocation and its free, 15 frames deep, on ${driver:+the simulated driver}$([ -n "$driver" ] || echo the GPU)"
	for threads in 1 2 4 16; do pairs $threads; done
	echo '== the same, each thread with a pool of its own'
	pool=own
	for threads in 2 16; do pairs $threads; done
	echo '== the same, on a driver that takes no time and no lock: the recorder by itself'
	driver=$work/quick
	for threads in 1 2 16; do pairs $threads; done
	driver=$real
	echo '== a million events from ten thousand call sites become a snapshot'
	mkdir "$work/spool"
	LD_LIBRARY_PATH=$driver LD_PRELOAD=$B/lib/gpumemsnap/libgpumemsnap.so GPUMEMSNAP_SPOOL=$work/spool "$B/tests/bench/rec_sites" 50
	for _ in 1 2 3; do seconds gpumemsnap convert -o "$work/s.json" "$work"/spool/*.spool; done | median |
		awk '{printf "%.2f s, %.1f million events a second\n", $1, 1 / $1}'
	echo '== how long until a program runs'
	for _ in $(seq 21); do
		until_it_runs env >>"$work/bare"
		until_it_runs gpumemsnap record ${driver:+--sim} -q -o "$work/s.json" >>"$work/recorded"
	done
	echo "$(median <"$work/bare") $(median <"$work/recorded")" | awk '{printf "%.1f ms, recorded %.1f ms\n", $1, $2}'
fi
if [ -x "$B/tests/bench/gma_pair" ]; then
	echo '== a cached pair of the allocator'
	"$B/tests/bench/gma_pair"
fi
echo '== report on a PyTorch snapshot, against pickle.load'
python3 tests/bench/read_torch.py "$events"
echo '== our own snapshot, against json.load'
python3 tests/bench/read_json.py "$events"
echo '== four times the recording'
python3 tests/bench/scale.py "$((events * 4))"
echo '== pictures, beyond reading'
python3 tests/bench/pictures.py
echo '== the page in a browser'
python3 tests/bench/page.py
