# report: what was found, as text and as JSON.

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# A snapshot with these events ("[…],[…]"); further pieces of meta may be given.
snap() { # EVENTS [META]
	cat >s.json <<-J
	{"format":"gpumemsnap","version":1,"meta":{"command":"./app","complete":true,"history":"complete"${2:+,$2}},
	"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],
	"ops":["device.alloc","device.free","pinned.alloc","managed.alloc"],
	"strings":["","leak","app.c","twice"],"frames":[[0,0,0,0],[1,2,7,0],[3,2,9,0]],"stacks":[[],[1],[2]],
	"events":[
	$1]}
	J
}
device() { gpumemsnap report -f json s.json | jq -c ".snapshots[0].devices[0] | $1"; }

small="[10,0,0,4096,1000,0,1,0,0],[20,0,0,8192,500,0,1,0,0],[30,1,0,8192,0,0,0,0,0]"

@test "the JSON report has exact numbers" {
	snap "$small"
	[ "$(device '.requested | [.start,.peak,.peak_event,.peak_t_ns,.end]')" = "[0,1500,1,20,1000]" ]
	[ "$(gpumemsnap report -f json s.json | jq -c '[.format,.version,.snapshots[0].source,.snapshots[0].complete]')" = '["gpumemsnap-report",1,"gpumemsnap",true]' ]
}

@test "managed and pinned memory are kinds of their own, not part of what the device is asked for" {
	snap "$small,[40,2,0,65536,7000,0,1,0,0],[50,3,0,131072,8000,0,1,0,0]"
	[ "$(device '[.requested.peak, .kinds.pinned.end_bytes, .kinds.managed.peak_bytes, .kinds.device.allocs]')" = "[1500,7000,8000,2]" ]
}

@test "an incomplete recording shows no leaks and says so" {
	snap "$small"
	sed -i 's/"complete":true/"complete":false/' s.json
	[ "$(device '[.leaks, .leaks_doubt, .leaked_bytes]')" = '[[],"incomplete: leaks unreliable",null]' ]
	run gpumemsnap report s.json
	[[ $output == *"incomplete: leaks unreliable"* ]]
	[[ $output != *"never freed"* ]]
}

@test "frees that fit nothing are counted with their stack and drive no number below zero" {
	snap "$small,[40,1,0,8192,0,0,2,0,0],[50,1,0,777,0,0,2,0,0],[60,0,0,4096,10,0,2,0,0],[70,1,0,0,0,0,0,0,0]"
	[ "$(device '[.requested.end, .anomalies.double_free, .anomalies.free_unknown, .anomalies.alloc_live, .anomalies.free_null]')" = "[10,1,1,1,1]" ]
	[ "$(device '[.anomaly_stacks[] | [.what, .count, .first_event, .stack[0].function]]')" = \
		'[["freed, but not live",2,3,"twice"],["allocated over live memory",1,5,"twice"]]' ]
	run gpumemsnap report s.json
	[[ $output == *ANOMALIES*"freed, but not live"*"twice app.c:9"* ]]
}

@test "more live bytes than the device has: a warning with both numbers" {
	snap "[10,0,0,4096,3221225472,0,1,0,0],[20,0,0,8589934592,3221225472,0,1,0,0]" '"devices":[{"device":0,"name":"GPU","total":4294967296}]'
	run gpumemsnap report s.json
	[[ $output == *"More was live than the device has: 6.00 GiB of 4.00 GiB"* ]]
}

@test "addresses and sizes beyond 2^53 stay exact" {
	snap "[10,0,0,144115188075855872,9007199254740993,0,1,0,0]"
	[ "$(gpumemsnap report -f json s.json | grep -c '"end":.*9007199254740993')" -ge 1 ]
}

@test "an empty recording is told as one" {
	snap ""
	run gpumemsnap report s.json
	[ "$status" -eq 0 ]
	[[ $output == *"Nothing was recorded"* ]]
}

@test "control characters of names never reach the terminal" {
	snap "$small"
	sed -i 's/"leak"/"le\\u001b[31mak"/' s.json
	run gpumemsnap report s.json
	[ "$status" -eq 0 ]
	[[ $output != *$'\033'* ]]
}

@test "a condition that is none is a usage error" {
	snap "$small"
	run gpumemsnap report --where colour=red s.json
	[ "$status" -eq 2 ]
	[[ $output == *"filter 'colour=red'"* ]]
}

@test "a snapshot is also read from a pipe" {
	snap "$small"
	[ "$(cat s.json | gpumemsnap report -f json | jq '.snapshots[0].events')" = 3 ]
}

@test "a pipe with a name, and one of the shell, are read like a file" {
	snap "$small"
	mkfifo pipe
	cat s.json >pipe &
	run timeout 60 gpumemsnap report -f json pipe
	wait
	[ "$status" -eq 0 ]
	[ "$(jq .snapshots[0].devices[0].requested.peak <<<"$output")" = 1500 ]
	run timeout 60 gpumemsnap report -f json <(gzip <s.json)
	[ "$status" -eq 0 ]
	[ "$(jq .snapshots[0].devices[0].requested.peak <<<"$output")" = 1500 ]
}

@test "conditions that nothing can meet are refused, those that nothing meets are said" {
	snap "$small"
	for bad in 'device=x' 'device=-1' 'device=0|' 'stream=default' 'kind=nosuch' 'kind=device|nosuch' 'size=' 'time<x' 'function~('; do
		run gpumemsnap report --where "$bad" s.json
		echo "$bad: $output"
		[ "$status" -eq 2 ]
	done
	run gpumemsnap report --device 7 s.json
	[ "$status" -eq 0 ]
	[[ $output == *"Nothing in this recording is what was asked for: no allocation has device=7; its devices: 0."* ]]
	run gpumemsnap report --from 1000s s.json
	[ "$status" -eq 0 ]
	[[ $output == *"Nothing in this recording is what was asked for: it ends "*" after its beginning."* && $output != *"GPU 0"* ]]
	run gpumemsnap check --max-peak 1GiB --where 'size>1TiB' s.json
	[ "$status" -eq 1 ]
	[[ $output == *"no allocation has size>1TiB; sizes go from "* ]]
	run gpumemsnap diff --where 'function~nosuch' s.json s.json
	[ "$status" -eq 0 ]
	[[ $output == *"Nothing in A is what was asked for: no allocation has function~nosuch."* ]]
	run gpumemsnap report --where 'kind=device|managed' --where 'stream=0x0|7' s.json
	[ "$status" -eq 0 ]
	[[ $output == *"needed at most"* ]]
	run gpumemsnap report --to 1ns s.json
	[ "$status" -eq 0 ]
	[[ $output != *"0 B (before"* && $output != *"before the recording began, with 0 B"* ]]
}

@test "a request of host memory that failed is told of the host, not of a device" {
	cat >s.json <<-J
	{"format":"gpumemsnap","version":1,"meta":{"complete":true,"history":"complete"},
	"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],
	"ops":["device.alloc","pinned.fail"],"events":[
	[1,0,0,4096,1000,0,0,0,0],
	[2,1,null,0,5368709120,0,0,0,0]],
	"failures":[[1,2,1000,16000000000]]}
	J
	run gpumemsnap report s.json
	[[ $output == *"Host: a request of 5.00 GiB failed at event 0"*"memory of the host, none of the device"* ]]
	[[ $output == *HOST*"FAILED ALLOCATIONS"* ]]
}

@test "what is no recording is refused by name, and every number of an event may be nonsense" {
	mkdir folder
	: >empty
	gzip <empty >empty.gz
	head -c 100000 /dev/zero >zeros
	head -c 100000 /dev/zero | gzip >zeros.gz
	for bad in folder empty empty.gz zeros zeros.gz missing /dev/null; do
		run gpumemsnap report "$bad"
		echo "$bad: $output"
		[ "$status" -eq 3 ]
		[[ $output == *"gpumemsnap: $bad: "* ]]
	done
	for value in -1 1e999 NaN 1.5 18446744073709551615 18446744073709551616 '"x"' '[]' '{}' true ''; do
		for field in 0 1 2 3 4 5 6 7 8; do
			row=(1 0 0 4096 512 0 0 0 0)
			row[field]=$value
			snap "[$(IFS=,; echo "${row[*]}")],[9,1,0,4096,0,0,0,0,0]"
			run gpumemsnap report s.json
			[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
		done
	done
}

@test "an RMM log is asked for no stacks, and for no figures that it cannot have" {
	printf '%s\n' 'Thread,Time,Action,Pointer,Size,Stream' '7,12:00:00.000100,allocate,0x7f0000000000,1048576,0x0' \
		'7,12:00:00.000200,allocate,0x7f0000200000,2097152,0x0' '7,12:00:01.000100,free,0x7f0000000000,1048576,0x0' >"$BATS_TEST_TMPDIR/rmm.csv"
	run gpumemsnap report --no-charts "$BATS_TEST_TMPDIR/rmm.csv"
	echo "$output"
	[[ $output == *"  RMM's logs have no stacks: --threads, --streams and --sizes say who asked for it."* ]]
	[[ $output != *"cannot be told"* && $output != *"reserved"* && $output == *"requested    0 B  3.00 MiB"* ]]
}
