#!/bin/bash
# run.sh [PREFIX|TARBALL]: gpumemalloc on a real GPU, as TAP. PREFIX holds bin/gpumemsnap, lib/ and include/ (a
# build folder with include/ beside it, an installation, the unpacked tarball); the tarball itself does too.
# Needs bash and nvcc, or python3 with torch; what is missing is skipped. About a minute and a half.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${1:-$here/../../../build}
n=0

# --- TAP ------------------------------------------------------------------------------------
result() { # STATUS NAME FILE…: the ends of the files say why
	local status=$1 name=$2 f
	shift 2
	n=$((n + 1))
	if [ "$status" -eq 0 ]; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		for f in "$@"; do [ -s "$f" ] && tail -n 8 "$f" | cut -c1-300 | sed 's/^/# /'; done
	fi
}
skip() { n=$((n + 1)) && echo "ok $n - $1 # SKIP $2"; }
say() { sed 's/^/# /' "$@"; }
field() { sed -n "s/^$1 .*$2=\([0-9.]*\).*/\1/p" "$3" | head -n 1; } # LINE NAME FILE
at_most() { awk -v a="${1:-x}" -v b="${2:-x}" 'BEGIN {exit !(a + 0 > 0 && a + 0 <= b + 0)}'; }

if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1 && [ -z "${GPU_TEST_ANYWAY:-}" ]; then
	echo '1..0 # SKIP no NVIDIA GPU here'
	exit 0
fi
if [ -f "$prefix" ]; then
	mkdir "$work/dist"
	tar -xzf "$prefix" -C "$work/dist" || { echo "Bail out! cannot unpack $prefix"; exit 2; }
	program=$(find "$work/dist" -path '*/bin/gpumemsnap' | head -n 1)
	prefix=${program%/bin/gpumemsnap}
fi
prefix=$(cd "$prefix" 2>/dev/null && pwd)
[ -x "$prefix/bin/gpumemsnap" ] || { echo 'Bail out! usage: run.sh PREFIX|TARBALL'; exit 2; }
include=$prefix/include
[ -d "$include" ] || include=$here/../../../include
export PATH=$prefix/bin:$PATH:${CUDA_HOME:-/usr/local/cuda}/bin LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cd "$work" || exit 2

# --- programs: all are built at the same time, beside torch's tests ------------------------------
if command -v nvcc >/dev/null; then
	for f in "$here"/*.cu; do
		name=$(basename "$f" .cu)
		nvcc -std=c++17 -O2 -arch=native -I"$include" -o "$name" "$f" -L"$prefix/lib" -lgpumemalloc >"$name.build" 2>&1 &
	done
fi

# --- torch -----------------------------------------------------------------------------------
python=$(command -v python3)
if [ -n "$python" ] && "$python" -c 'import torch; torch.zeros(1).cuda()' >/dev/null 2>&1; then
	timeout 60 "$python" "$here/torch_plug.py" native x >native.out 2>native.err
	timeout 60 "$python" "$here/torch_plug.py" plug "$prefix/lib/libgpumemalloc.so" >plug.out 2>plug.err
	[ -s native.out ] && cmp native.out plug.out >cmp.out 2>&1
	result $? 'torch trains on it: the same losses, the same requested peak' cmp.out native.out native.err plug.out plug.err
	tail -n 1 plug.out | say
	wait # what compiles would disturb the clock
	timeout 60 "$python" "$here/torch_pair.py" native x >torch_native.out 2>torch_native.err
	timeout 60 "$python" "$here/torch_pair.py" plug "$prefix/lib/libgpumemalloc.so" >torch_plug.out 2>torch_plug.err
	say torch_native.out torch_plug.out
	native=$(field 'torch_native threads=1' ns_per_pair torch_native.out) plug=$(field 'torch_plug threads=1' ns_per_pair torch_plug.out)
	at_most "$plug" "$(awk -v a="${native:-0}" 'BEGIN {print 2 * a}')"
	result $? "through torch's hook a pair takes ${plug:-?} ns, at most twice torch's own ${native:-?} ns" torch_native.err torch_plug.err
else
	skip 'torch trains on it' 'no torch with a GPU'
	skip "through torch's hook a pair takes at most twice torch's own time" 'no torch with a GPU'
fi
wait
for f in *.build; do
	[ -e "$f" ] && [ ! -x "${f%.build}" ] && result 1 "${f%.build} builds" "$f"
done

# --- kernels ------------------------------------------------------------------------------------
if [ -x gma_stress ]; then
	for conf in '' expandable_segments:True max_split_size_mb:32 release_lock_on_cudamalloc:True \
		garbage_collection_threshold:0.5 growth:False,memory_limit:1GiB; do
		timeout 60 ./gma_stress "$conf" 4 200 >stress.out 2>&1
		result $? "kernels on four streams find no wrong byte (${conf:-default})" stress.out
		say stress.out
	done
	timeout 60 gpumemsnap record -q -o stress.json ./gma_stress '' 2 200 >stress.out 2>&1
	gpumemsnap whatif -c '' -f json stress.json >whatif.out 2>&1
	grep -q '"first_mismatch":	null' whatif.out
	result $? 'whatif predicts every event of the recorded stress' whatif.out
else
	skip 'kernels on four streams find no wrong byte' 'no nvcc'
fi
if [ -x gma_graph ]; then
	timeout 60 ./gma_graph >graph.out 2>&1
	result $? 'a CUDA graph keeps its private pool to itself' graph.out
	timeout 60 ./gma_graph expandable_segments:True >graph.out 2>&1
	result $? 'the same with expandable segments' graph.out
fi

# --- speed ----------------------------------------------------------------------------------------
if [ -x gma_bench ]; then
	timeout 120 ./gma_bench >bench.out 2>&1
	result $? 'the bench runs' bench.out
	say bench.out
	ns=$(field 'gma_malloc threads=1' ns_per_pair bench.out)
	at_most "$ns" 100
	result $? "a cached pair takes ${ns:-?} ns in one thread, at most 100" bench.out
	timeout 120 gpumemsnap record -q -o bench.json ./gma_bench 100000 1 >recorded.out 2>&1
	ns=$(field 'gma_malloc threads=1' ns_per_pair recorded.out)
	at_most "$ns" 400
	result $? "and ${ns:-?} ns recorded with stacks, at most 400" recorded.out
fi

# --- an unchanged program --------------------------------------------------------------------------
step() { sed -n 's/^ns_per_step=//p' "$1" 2>/dev/null; }
if [ -x temporaries ]; then
	timeout 60 ./temporaries >plain.out 2>plain.err
	timeout 60 gpumemsnap record -q -o t.json --allocator caching ./temporaries >cached.out 2>cached.err
	timeout 60 gpumemsnap record -q -o t2.json --allocator caching-nosync ./temporaries >nosync.out 2>nosync.err
	timeout 60 gpumemsnap record -q -o plain.json ./temporaries >recorded.out 2>recorded.err
	[ -s plain.out ] && cmp plain.out cached.out >cmp.out 2>&1 && cmp plain.out nosync.out >>cmp.out 2>&1
	result $? 'record --allocator caching: the program computes the same' cmp.out plain.out cached.out nosync.out cached.err
	slow=$(step plain.err) wait=$(step cached.err) fast=$(step nosync.err)
	at_most "$fast" "$(awk -v a="${slow:-0}" 'BEGIN {print a / 10}')"
	result $? "a step takes ${fast:-?} ns from the pool, at most a tenth of ${slow:-?} ns by cudaMalloc" plain.err nosync.err
	at_most "$wait" "$(awk -v a="${slow:-0}" 'BEGIN {print a / 5}')"
	result $? "and ${wait:-?} ns, at most a fifth, if every free waits as cudaFree does" plain.err cached.err
	a=$(gpumemsnap report -f json plain.json | grep -m1 '"peak"') b=$(gpumemsnap report -f json t.json | grep -m1 '"peak"')
	[ -n "$a" ] && [ "$a" = "$b" ]
	result $? 'both snapshots tell the same requested peak' recorded.err cached.err
else
	skip 'record --allocator caching' 'no nvcc'
fi
echo "1..$n"
