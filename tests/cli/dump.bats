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
