#!/usr/bin/env bats
# report_accounting.bats: one table that adds up to the device's used bytes.

setup() {
	[ -x "$B/tests/fault/linger" ] || skip 'record was not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR" || return 1
	export FAKE_NVML=$BATS_TEST_TMPDIR/nvml PYTHONDONTWRITEBYTECODE=1
	device='gpu GPU-73696d75-6c61-7465-6420-475055200000 17179869184 0'
	name='0 0 gpumemsnap simulated GPU'
}
account() { gpumemsnap report --accounting --format json "$@" | jq -c '.snapshots[0].devices[0].accounting'; }
adds_up='(.parts | map(.bytes) | add) == .sum and .sum + .remainder == .used'

@test "the parts add up for every sample" {
	for s in leak growth fragmentation streams workers kinds; do
		[ -x "$B/samples/$s" ] || continue
		gpumemsnap record -q --sim -o "$s.json" "$B/samples/$s" >/dev/null
		account "$s.json" | jq -e "$adds_up and .nvml == false" || { echo "$s"; return 1; }
	done
}

@test "with both levels, torch's segments are torch's and the rest is by library" {
	cat >train.py <<-'PY'
		import ctypes, torch
		keep = [torch.empty(1 << 20), torch.empty(5000)]
		gone = torch.empty(5 << 20)
		del gone
		address = ctypes.c_uint64()
		torch.cuda._allocator.driver.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(34 << 20))
	PY
	PYTHONPATH=$BATS_TEST_DIRNAME/../fake/python gpumemsnap record -q --sim --torch python3 train.py
	account snapshot.json >a.json
	jq -e "$adds_up" a.json
	jq -e '.parts | map(select(.part == "active")) == [{part: "active", name: null, pid: null, bytes: 1053576, count: 2}]' a.json
	jq -e '.parts | map(select(.part == "rounding"))[0].bytes == 120' a.json
	jq -e '.parts | map(select(.part == "cached_whole"))[0].bytes == 20971520' a.json
	jq -e '.parts | map(select(.part == "library")) | length == 1 and .[0].bytes == 35651584' a.json
	jq -e '.parts | map(select(.part == "before"))[0].bytes == 268435456' a.json
	jq -e '.remainder == 0' a.json
}

@test "two libraries of one program are told apart, graphs and the rest too" {
	[ -x "$B/tests/fault/plugins" ] || skip 'needs the CUDA headers to build'
	gpumemsnap record -q --sim -o two.json "$B/tests/fault/plugins" "$B/tests/fault" >/dev/null
	account two.json >a.json
	jq -e "$adds_up" a.json
	jq -e '[.parts[] | select(.part == "library") | [(.name | split("/") | last), .bytes, .count]] ==
		[["libplugin_b.so", 6000, 3], ["libplugin_a.so", 3000, 3]]' a.json
	gpumemsnap report --accounting two.json | grep -E '^ +5.86 KiB +0.0 % +3  allocations by libplugin_b.so$'
}

@test "with NVML, context and other processes have lines of their own" {
	export LD_LIBRARY_PATH=$B/tests/fake
	mkfifo hold
	echo "$device 100 $name" >nvml
	gpumemsnap record -q --sim -o out.json "$B/tests/fault/linger" 60 <hold >ready 3>&- &
	exec 9>hold
	for _ in $(seq 600); do grep -q ready ready 2>/dev/null && break; sleep 0.1; done
	# 96 MiB of its own, 256 MiB of context, 7 MiB more; 50 MiB of somebody else
	printf '%s\n' "$device 428867584 $name" "process $(pgrep -P $! -x linger) 376438784 compute" \
		'process 1 52428800 compute' >nvml.new
	mv nvml.new nvml
	: >nvml.looks
	for _ in $(seq 600); do [ "$(stat -c %s nvml.looks)" -ge 2 ] && break; sleep 0.1; done
	exec 9>&-
	wait
	account out.json >a.json
	jq -e "$adds_up and .nvml" a.json
	jq -e '.parts | map(select(.part == "context"))[0].bytes == 275775488' a.json
	jq -e '.parts | map(select(.part == "other_process"))[0] | .pid == 1 and .bytes == 52428800' a.json
	gpumemsnap report --accounting out.json >r.txt
	grep -E '^ +96.00 MiB +[0-9.]+ % +33  allocations by linger$' r.txt
	grep -E '^ +50.00 MiB +[0-9.]+ % +another process: .+ \(1\)$' r.txt
	grep -E 'used, the sum of these$' r.txt
}

@test "a PyTorch snapshot alone has an account, but what was used is not known" {
	account "$BATS_TEST_DIRNAME/../data/torch/train.pickle.gz" >a.json
	jq -e '.used == null and .remainder == null and (.parts | map(.bytes) | add) == .sum' a.json
	r=$(gpumemsnap report --format json "$BATS_TEST_DIRNAME/../data/torch/train.pickle.gz" | jq '.snapshots[0].devices[0].reserved.end')
	jq -e --argjson r "$r" '.sum == $r' a.json
}
