#!/bin/bash
# run.sh PREFIX: gpumemalloc on a real GPU, as TAP. PREFIX holds bin/gpumemsnap, lib/ and include/ (a
# build folder with include/ beside it, an installation, or the unpacked tarball). About two minutes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?usage: run.sh PREFIX}" && pwd)
include=$prefix/include
[ -d "$include" ] || include=$here/../../../include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$prefix/bin:$PATH:${CUDA_HOME:-/usr/local/cuda}/bin LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cd "$work" || exit 2
n=0
result() { # STATUS NAME FILE…
	local status=$1 name=$2
	shift 2
	n=$((n + 1))
	if [ "$status" -eq 0 ]; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		tail -n 8 "$@" 2>/dev/null | cut -c1-300 | sed 's/^/# /'
	fi
}
skip() { n=$((n + 1)) && echo "ok $n - $1 # SKIP $2"; }

if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
	echo '1..0 # SKIP no NVIDIA GPU here'
	exit 0
fi
if command -v nvcc >/dev/null; then
	for f in "$here"/*.cu; do
		name=$(basename "$f" .cu)
		nvcc -std=c++17 -O2 -arch=native -I"$include" -o "$name" "$f" -L"$prefix/lib" -lgpumemalloc >"$name.build" 2>&1 ||
			result 1 "$name builds" "$name.build"
	done
fi

if [ -x gma_stress ]; then
	for conf in '' expandable_segments:True max_split_size_mb:32 release_lock_on_cudamalloc:True \
		garbage_collection_threshold:0.5 growth:False,memory_limit:1GiB; do
		timeout 120 ./gma_stress "$conf" 4 300 >stress.out 2>&1
		result $? "kernels on four streams find no wrong byte (${conf:-default})" stress.out
		sed 's/^/# /' stress.out
	done
	timeout 60 ./gma_graph >graph.out 2>&1
	result $? 'a CUDA graph keeps its private pool to itself' graph.out
	timeout 60 ./gma_graph expandable_segments:True >graph.out 2>&1
	result $? 'the same with expandable segments' graph.out
	timeout 120 ./gma_bench >bench.out 2>&1
	result $? 'the bench runs' bench.out
	sed 's/^/# /' bench.out
	awk '/^gma_malloc threads=1 /{split($3, a, "="); exit !(a[2] <= 100)}' bench.out
	result $? 'a cached pair takes at most 100 ns in one thread' bench.out
	timeout 120 gpumemsnap record -q -o bench.json ./gma_bench >recorded.out 2>&1
	awk '/^gma_malloc threads=1 /{split($3, a, "="); print "# recorded with stacks: " a[2] " ns"; exit !(a[2] <= 400)}' recorded.out
	result $? 'and at most 400 ns recorded with stacks' recorded.out
	gpumemsnap record -q -o stress.json ./gma_stress '' 2 200 >stress.out 2>&1
	gpumemsnap whatif -c '' -f json stress.json >whatif.out 2>&1
	grep -q '"first_mismatch":	null' whatif.out
	result $? 'whatif predicts every event of the recorded stress' whatif.out
else
	skip 'gpumemalloc with kernels' 'no nvcc'
fi

if [ -x temporaries ]; then
	./temporaries >plain.out 2>plain.err
	gpumemsnap record -q -o t.json --allocator caching ./temporaries >cached.out 2>cached.err
	cmp plain.out cached.out >cmp.out 2>&1
	result $? 'record --allocator caching: the program computes the same' cmp.out plain.out cached.out
	slow=$(sed -n 's/^ns_per_step=//p' plain.err) fast=$(sed -n 's/^ns_per_step=//p' cached.err)
	gpumemsnap record -q -o t2.json --allocator caching-nosync ./temporaries >nosync.out 2>nosync.err
	echo "# ns per step: $slow by cudaMalloc, $fast from the pool, $(sed -n 's/^ns_per_step=//p' nosync.err) without waiting"
	awk -v a="${slow:-0}" -v b="${fast:-1}" 'BEGIN {exit !(a >= 10 * b)}'
	result $? 'and is ten times faster' plain.err cached.err
	gpumemsnap record -q -o plain.json ./temporaries >/dev/null 2>&1
	a=$(gpumemsnap report -f json plain.json | grep -m1 '"peak"') b=$(gpumemsnap report -f json t.json | grep -m1 '"peak"')
	[ "$a" = "$b" ]
	result $? 'both snapshots tell the same requested peak' plain.err cached.err
fi

python=$(command -v python3)
if [ -n "$python" ] && "$python" -c 'import torch; torch.zeros(1).cuda()' 2>/dev/null; then
	"$python" "$here/torch_plug.py" native x >native.out 2>&1
	"$python" "$here/torch_plug.py" plug "$prefix/lib/libgpumemalloc.so" >plug.out 2>&1
	cmp native.out plug.out >cmp.out 2>&1
	result $? 'torch trains on it: the same losses, the same requested peak' cmp.out native.out plug.out
else
	skip 'torch trains on it' 'no torch with a GPU'
fi
echo "1..$n"
