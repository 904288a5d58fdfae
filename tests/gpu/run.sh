#!/bin/bash
# run.sh [TARBALL]: everything that needs a real GPU, as TAP. About five minutes.
#
# Unpacks the tarball of `make dist` (the newest under build/ unless one is named) and records with
# that, as a user of a GPU server would: C samples on the driver API, CUDA programs with the static
# and the shared runtime, one program per kind of memory, torch. What is missing here is skipped.
# GPU_BIN may name a folder where build.sh has put the programs, so that no time is spent on it here.
# Results that one may want to look at are left in $OUT (a temporary folder unless set).
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${GPU_BIN:+$(realpath "$GPU_BIN")}
CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
PATH=$PATH:$CUDA_HOME/bin:$CUDA_HOME/compute-sanitizer
. "$here/words.sh" "$@"
if [ -n "$bin" ]; then ln -s "$bin" bin; else "$here/build.sh" bin; fi

# --- C samples on the driver API ------------------------------------------------------------
sample() { # NAME: the program does the same with and without us
	local plain status
	if [ ! -x "bin/$1" ]; then
		skip "sample $1 on the real driver" "$([ -s "bin/$1.build" ] && head -c 120 "bin/$1.build" | tr '\n' ' ' || echo 'no gcc or cuda.h')"
		return 1
	fi
	timeout 120 "bin/$1" >"$1.plain" 2>&1
	plain=$?
	record "$1" "bin/$1"
	status=$?
	say "$1: $(tail -n 1 "$1.out")"
	[ $plain -eq $status ] && cmp -s "$1.plain" "$1.out"
	judge "sample $1 behaves the same when recorded" $? "$1.plain" "$1.out" "$1.err"
}
tells() { # NAME PYTHON WHAT: something true of device 0 of the report, d
	python3 -c "import json,sys; d=json.load(open(sys.argv[1]))['snapshots'][0]['devices'][0]; sys.exit(not ($2))" \
		"$out/$1.report.json" 2>"$1.tells"
	judge "sample $1: $3" $? "$1.tells" "$1.err"
}
sample leak && tells leak "d['leaked_bytes'] == 40 * 65536 and d['leaks'][0]['stack'][1]['function'] == 'make_thumbnail'" \
	'40 thumbnails leak, by make_thumbnail'
sample fragmentation && tells fragmentation "len(d['ooms']) == 1 and d['ooms'][0]['size'] == 64 << 20" \
	'a request of 64 MiB fails'
sample streams && tells streams "d['kinds']['async']['allocs'] == 48 and d['requested']['end'] == 0" '48 allocations, none left'
sample growth && tells growth "d['leaked_bytes'] == 50 * 6710886 and d['leaks'][0]['stack'][0]['function'] == 'keep_for_plot'" \
	'keep_for_plot keeps 50 blocks'
sample workers && tells workers "d['kinds']['async']['allocs'] == 200 and d['requested']['end'] == 0" '200 allocations, none left'
sample kinds && tells kinds "all(d['kinds'][k]['end_bytes'] == n << 20 for k, n in
	{'device': 3, 'async': 3, 'managed': 3, 'physical': 4}.items())" 'one of each is left'

# --- the simulated driver against the real one ----------------------------------------------
if [ -x bin/facts ]; then
	timeout 120 bin/facts >"$out/facts.real" 2>facts.err
	LD_LIBRARY_PATH=$sim timeout 120 bin/facts >"$out/facts.sim" 2>>facts.err
	judge 'the driver tells its facts' $((1 - ($(wc -l <"$out/facts.real") > 100))) facts.err
	diff "$out/facts.sim" "$out/facts.real" | grep '^[<>]' | sed 's/^</# simulated:/; s/^>/# real:     /'
else
	skip 'the driver tells its facts' 'not built'
fi

say "$SECONDS s so far"

# --- the CUDA runtime -----------------------------------------------------------------------
for p in leak_static leak_shared kind_managed kind_pinned kind_pool kind_array kind_graph kind_vmm kind_ipc; do
	if [ ! -x "bin/$p" ]; then
		skip "$p: the report says what the program did" "$(have nvcc && head -c 120 "bin/$p.build" | tr '\n' ' ' || echo 'no nvcc')"
		continue
	fi
	if record "$p" "bin/$p" && check expect "$out/$p.report.json" "$p.out" >"$p.check"; then
		ok "$p: the report says what the program did"
	else
		not_ok "$p: the report says what the program did" "$p.check" "$p.out" "$p.err"
	fi
done
for p in leak_static leak_shared kind_pool kind_array; do
	[ -x "bin/$p" ] || continue
	if ! have compute-sanitizer; then
		skip "$p: the leaks are those that compute-sanitizer lists" 'no compute-sanitizer'
	elif sanitize "$p" "bin/$p" && check leaks "$out/$p.report.json" "$p.sanitizer" >"$p.leaks"; then
		ok "$p: the leaks are those that compute-sanitizer lists"
	else
		not_ok "$p: the leaks are those that compute-sanitizer lists" "$p.leaks"
	fi
done
if [ -x bin/leak_static ]; then
	timeout 60 gpumemsnap record --sim -o sim.json bin/leak_static >sim.out 2>&1
	grep -q 'CUDA runtime' sim.out
	judge 'a program on the runtime is told why the simulated driver will not do' $? sim.out
fi

say "$SECONDS s so far"

# --- torch ----------------------------------------------------------------------------------
if have python3 && python3 -c 'import torch; assert torch.cuda.is_available()' 2>torch.err; then
	record matmul python3 "$here/matmul.py" && grep -q 'sum True' matmul.out
	judge 'torch multiplies matrices while recorded' $? matmul.out matmul.err
	check stack "$out/matmul.report.json" make_inputs matmul.py >matmul.check
	judge "the stacks show the script's own lines" $? matmul.check
	check within "$out/matmul.json" libcublas BlasHandle Blaslt >cublas.check
	judge "cuBLAS's memory is seen by its stack" $? cublas.check
	say "cuBLAS: $(cat cublas.check)"
	record nccl python3 "$here/nccl.py"
	case $? in
	0)
		check within "$out/nccl.json" libnccl >nccl.check
		judge "NCCL's memory is seen by its stack" $? nccl.check nccl.out nccl.err
		say "NCCL: $(cat nccl.check)"
		;;
	77) skip "NCCL's memory is seen by its stack" 'torch has no NCCL' ;;
	*)
		if timeout 60 python3 "$here/nccl.py" >nccl.plain 2>&1; then
			not_ok "NCCL's memory is seen by its stack" nccl.out nccl.err
		else
			skip "NCCL's memory is seen by its stack" "$(tail -n 1 nccl.plain | cut -c1-200)"
		fi
		;;
	esac
	record profiled python3 "$here/profiled.py" && grep -q 'kernels True' profiled.out
	judge 'torch.profiler works in a recorded program' $? profiled.out profiled.err
	gpumemsnap flame -o "$out/matmul.flame.png" "$out/matmul.json" 2>flame.err &&
		gpumemsnap timeline -o "$out/matmul.timeline.png" "$out/matmul.json" 2>>flame.err &&
		gpumemsnap flame --by phase --by module -o "$out/matmul.module.png" "$out/matmul.json" 2>>flame.err &&
		gpumemsnap timeline --view segments -o "$out/matmul.segments.png" "$out/matmul.json" 2>>flame.err &&
		gpumemsnap diff "$out/matmul.json" "$out/matmul.json" --flame "$out/matmul.diff.png" 2>>flame.err
	judge 'pictures of it are drawn without fonts or display' $? flame.err
	. "$here/torch_record.sh"
else
	skip 'torch multiplies matrices while recorded' "$(tail -n 1 torch.err 2>/dev/null)"
fi

say "$SECONDS s so far"

# --- other frameworks -----------------------------------------------------------------------
. "$here/frameworks.sh"
say "$SECONDS s so far"

# --- what it costs --------------------------------------------------------------------------
. "$here/cost.sh"
echo "1..$n"
say "results are in $out, after $SECONDS s"
