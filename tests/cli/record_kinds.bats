# record: every kind of memory, counted once, to its right end.

load record_helpers

setup() { recorder_setup; }

# rows KIND: each event of that kind of memory as action:MiB.
rows() {
	jq -r --arg k "$1." '.ops as $o | [.events[] | select($o[.[1]] | startswith($k))
		| "\($o[.[1]] | ltrimstr($k)):\(.[4] / 1048576 | floor)"] | join(" ")' "${2:-s.json}"
}

report_of() { gpumemsnap report -f json s.json | jq -c ".snapshots[0].devices[] | select(.device == ${2:-0}) | $1"; }

@test "one of each kind is left by the sample that makes two of each" {
	rec "$B/samples/kinds"
	[ "$status" -eq 0 ]
	[ "$(report_of '.kinds | map_values([.allocs, .frees])')" = \
		'{"device":[3,2],"async":[2,1],"managed":[2,1],"physical":[2,1],"address":[1,0],"array":[2,1],"pool":[1,1],"context":[2,1]}' ]
	[ "$(report_of '.anomalies | map_values(select(. != 0))')" = '{}' ]
}

@test "memory that dies with its context ends there, and that is told" {
	rec "$B/samples/kinds"
	[ "$(jq '[.notes[][1]? // .notes[].text? | select(test("ended with (its|their) context"))] | length > 0' s.json)" = true ]
}

@test "physical memory counts once, from its creation until released and mapped nowhere" {
	rec "$F/linked_vmm"
	[ "$status" -eq 0 ]
	[ "$(rows physical)" = "alloc:2 map:2 unmap:2 free:2 \
alloc:4 map:4 unmap:4 free:4 \
alloc:6 map:6 map:6 unmap:6 unmap:6 free:6 \
alloc:8 map:8 unmap:8 free:8 \
alloc:10 map:10 alloc:12 free:12 unmap:10 free:10 \
alloc:14 map:14 unmap:14 free:14" ]
	[ "$(rows imported)" = "alloc:14 free:14" ]
	[ "$(rows address)" = "alloc:128 free:128" ]
	[ "$(report_of '.requested | [.peak, .end]')" = "[$((22 * 1048576)),0]" ]
	[ "$(report_of '.anomalies | map_values(select(. != 0))')" = '{}' ]
}

@test "another process's memory, and a graphics API's, is imported here and never added to the owner's" {
	rec "$F/linked_share" ticket
	[ "$status" -eq 0 ]
	[ "$(rows device) $(rows async)" = "alloc:3 free:0 alloc:5 free:0" ]
	mv s.*.json s.json
	[ "$(rows device)" = "alloc:1" ]
	[ "$(rows imported)" = "alloc:3 free:0 alloc:5 free:0 alloc:8 map:4 unmap:0 free:0" ]
	[ "$(report_of '[.requested.peak, .requested.end, .kinds.imported.peak_bytes]')" = "[1048576,1048576,8388608]" ]
	[ "$(report_of '.anomalies | map_values(select(. != 0))')" = '{}' ]
}

@test "a pool's reserved bytes are known from its first allocation on" {
	rec "$F/linked_share" ticket
	[ "$(rows pool)" = "alloc:0 info:32" ]
}

@test "a captured allocation is the graph's: no allocation of its own, but reserved bytes while it runs" {
	rec "$F/linked_graph"
	[ "$status" -eq 0 ]
	[ "$(rows async)" = "alloc:3 free:0" ]
	[[ "$(rows graph)" =~ ^info:[1-9] ]]
	[[ "$(rows graph)" =~ info:0$ ]]
	[ "$(report_of '.anomalies | map_values(select(. != 0))')" = '{}' ]
}

@test "frees that the driver refuses end nothing, and are counted" {
	local how
	for how in '' '--max-size 1M'; do
		# shellcheck disable=SC2086
		rec $how "$F/linked_pool" ${how:+30000}
		[ "$status" -eq 0 ]
		[ "$output" = "again 1, unknown 1, after async 1, async after async 1, inside 1, after sync 1" ]
		[ "$(report_of '[.live_blocks_end, .requested.end, .anomalies.alloc_live]')" = "[1,1048576,0]" ]
	done
	rec "$F/linked_pool"
	[ "$(report_of '[.anomalies.free_unknown, .anomalies.double_free]')" = "[2,4]" ]
}

@test "what the program sets of pools and limits is told" {
	rec "$F/linked_pool"
	gpumemsnap report s.json >out
	grep -qE 'pool 0x[0-9a-f]+: the release threshold was set to 64.00 MiB after' out
	grep -qE 'pool 0x[0-9a-f]+: the release threshold was set to all it has after' out
	grep -qE 'pool 0x[0-9a-f]+: opportunistic reuse was switched off after' out
	grep -qE "GPU 0, context 0x[0-9a-f]+: the heap of kernels' malloc was set to 32.00 MiB after" out
}
