#!/usr/bin/env bats
# record_nvml.bats: while a program is recorded, NVML (a fake one) is asked who uses the devices.

setup() {
	[ -x "$B/tests/fault/linger" ] || skip 'record was not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR" || return 1
	export FAKE_NVML=$BATS_TEST_TMPDIR/nvml LD_LIBRARY_PATH=$B/tests/fake
	device='gpu GPU-73696d75-6c61-7465-6420-475055200000 17179869184 0'
	name='37 5 gpumemsnap simulated GPU'
	mkfifo hold
	echo "$device 1000 $name" >nvml
}
teardown() {
	exec 9>&-
	wait
	true
}
begin() { # a recorded program that waits: $pid
	gpumemsnap record -q --sim -o out.json "$B/tests/fault/linger" 60 <hold >ready 3>&- 9>&- &
	exec 9>hold
	for _ in $(seq 600); do grep -q ready ready 2>/dev/null && break; sleep 0.1; done
	pid=$(pgrep -P $! -x linger)
}
# NVML says from now on what stdin says, and was asked for it.
world() {
	cat >nvml.new
	mv nvml.new nvml
	: >nvml.looks
	for _ in $(seq 600); do [ "$(stat -c %s nvml.looks)" -ge 2 ] && return 0; sleep 0.1; done
	return 1
}
finish() {
	exec 9>&-
	wait
}
# [pid, bytes, name] of every sample, in order
samples() {
	jq -c '(.ops | index("process.info")) as $i | . as $s | .events[] | select(.[1] == $i) |
		[.[3], .[4], $s.strings[$s.threads[.[7]][1]]]' out.json
}

@test "samples of this and other processes are rows, where something changed" {
	begin
	printf '%s\n' "$device 900000 $name" "process $pid 500000 compute" 'process 1 300000 graphics' | world
	printf '%s\n' "$device 600000 $name" "process $pid 500000 compute" | world
	finish
	samples >s
	init=$(tr -d '\n' </proc/1/comm)
	[ "$(grep -c '^\[0,' s)" -eq 3 ]
	[ "$(jq -c 'select(.[0] == 0) | .[1]' s | tr '\n' ' ')" = '1000 900000 600000 ' ]
	[ "$(jq -c --argjson p "$pid" 'select(.[0] == $p) | .[1]' s)" = 500000 ]
	[ "$(jq -c 'select(.[0] == 1)' s | tr '\n' ' ')" = "[1,300000,\"$init\"] [1,0,\"$init\"] " ]
}

@test "a device that NVML does not know under its uuid has no samples" {
	sed -i 's/GPU-7369/GPU-0000/' nvml
	begin
	world <nvml
	finish
	[ -z "$(samples)" ]
	gpumemsnap report --format json out.json | jq -e '.snapshots[0].devices[0].requested.peak == 100663296'
}

@test "without NVML nothing is missing but the samples" {
	unset LD_LIBRARY_PATH
	begin
	finish
	[ -z "$(samples)" ]
	gpumemsnap report --format json out.json | jq -e '.snapshots[0].complete'
}
