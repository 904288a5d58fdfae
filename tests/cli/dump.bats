#!/usr/bin/env bats
# dump.bats: a snapshot of a program that goes on running.

setup() {
	[ -e "$B/lib/gpumemsnap/libgpumemsnap.so" ] || skip 'the recorder was not built (no CUDA headers)'
	actor=$B/tests/fault/actor
	cd "$BATS_TEST_TMPDIR" || return 1
}
teardown() {
	[ -z "${app:-}" ] || kill -9 "$app" 2>/dev/null || true
	wait
}
start() { # STEPS: sets app
	gpumemsnap record --sim -q -o end.json "$actor" "$@" 3>&- >out &
	for _ in {1..600}; do
		grep -q ready out && break
		sleep 0.1
	done
	app=$(pgrep -P $!)
}

@test "dump writes what a running program has done so far, and it runs on" {
	start alloc:1000 alloc:2000 print:ready sleep:20000 exit:0
	run gpumemsnap dump -o now.json "$app"
	[ "$status" -eq 0 ]
	[[ "$output" == *"wrote now.json: "*"still running"* ]]
	[ "$(jq '[.events[] | select(.[1] == 0) | .[4]] | add' now.json)" = 3000 ]
	[ "$(jq .meta.complete now.json)" = false ]
	kill -0 "$app"
}

@test "a dump of a busy program is whole: every event's stack and thread is there" {
	start print:ready pace:50 count:count
	for _ in {1..600}; do [ "$(od -An -tu8 -N8 count 2>/dev/null || echo 0)" -gt 1000 ] && break; sleep 0.1; done
	for i in 1 2 3 4 5; do
		gpumemsnap dump -q -o now.json "$app"
		jq -e '(.stacks | length) as $s | (.threads | length) as $t |
			[.events[] | select(.[6] >= $s or .[7] >= $t)] | length == 0' now.json >/dev/null
		jq -e '(.ops | index("device.alloc")) as $o |
			[.events[] | select(.[1] == $o and .[6] == 0)] | length == 0' now.json >/dev/null
	done
}

# watch COMMAND…: a flight recorder of 4 MiB that runs, and its first line in out; sets app
watch() {
	gpumemsnap record --sim -q -o end.json --max-size 4M "$@" 3>&- >out &
	for _ in {1..1000}; do
		[ -s out ] && break
		sleep 0.05
	done
	app=$(pgrep -P $!)
}

@test "a dump of a running flight recorder has the live set, with its stacks" {
	watch "$B/tests/fault/flight" 60000 wait
	gpumemsnap dump -q -o now.json "$app"
	gpumemsnap report -f json now.json | jq -r '[.snapshots[0].devices[0].live_stacks[]
		| {f: [.stack[].function | select(startswith("site_"))][0], n: .count, b: .bytes}] | group_by(.f)
		| map("\(.[0].f) \(map(.n) | add) \(map(.b) | add)") | sort | .[]' >got
	sort out | diff - got
}

@test "dumps of a busy flight recorder are consistent, and do not make it larger than it may be" {
	watch "$B/tests/fault/killed" count 3
	for _ in {1..6}; do
		gpumemsnap dump -q -o now.json "$app"
		[ "$(jq '.notes // [] | length' now.json)" -le 1 ] # none but that of the window
		gpumemsnap report -f json now.json | jq -e '.snapshots[0].devices[0] | .live_blocks_end <= 3 and
			(.anomalies | .free_unknown + .double_free + .alloc_live) == 0'
		[ "$(stat -c %s .end.json.spool/"$app".0.spool)" -le $((4 << 20)) ]
	done
	[ "$(jq '.meta.dropped_events > 1000' now.json)" = true ]
}

@test "a dump of several busy threads misses no allocation of a free" {
	gpumemsnap record --sim -q -o end.json "$B/tests/fault/exchange" 3>&- >out &
	for _ in {1..200}; do
		[ -s out ] && break
		sleep 0.05
	done
	app=$(cat out)
	for _ in {1..6}; do
		gpumemsnap dump -q -o now.json "$app"
		gpumemsnap report -f json now.json | jq -e '.snapshots[0].devices[0] |
			(.anomalies | .free_unknown + .double_free + .alloc_live) == 0'
	done
}

@test "dump takes a spool's name, too" {
	start alloc:1000 print:ready sleep:20000
	gpumemsnap dump -q -o now.json .end.json.spool/"$app".0.spool
	[ "$(jq '.events | length > 0' now.json)" = true ]
}

@test "processes that are not recorded are told apart from those that do not exist" {
	run gpumemsnap dump $$
	[ "$status" -eq 3 ]
	[[ "$output" == *"process $$ is not being recorded"* ]]
	run gpumemsnap dump 999999999
	[ "$status" -eq 3 ]
	[[ "$output" == *"there is no process 999999999"* ]]
	run gpumemsnap dump
	[ "$status" -eq 2 ]
}
