#!/usr/bin/env bats
# The samples, recorded on the simulated driver: each report tells the story that its source promises.

setup() {
	[ -x "$B/samples/leak" ] || skip 'the samples were not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Records a sample; its report as JSON is report.json then.
tell() {
	gpumemsnap record --sim -o snapshot.json "$B/samples/$1" >out.txt 2>err.txt || {
		cat out.txt err.txt
		return 1
	}
	gpumemsnap report --format json snapshot.json >report.json
}

# Is this true of device 0, or, with a second argument, of that device?
holds() {
	jq -e ".snapshots[0].devices[] | select(.device == ${2:-0}) | $1" report.json >/dev/null || {
		echo "not so: $1"
		jq -c ".snapshots[0].devices[] | select(.device == ${2:-0})" report.json
		return 1
	}
}

@test "leak: the thumbnails leak, the images and the model do not" {
	tell leak
	holds '.leaked_bytes == 40 * 65536 and .leaked_count == 40'
	holds '.leaks | length == 1'
	holds '.leaks[0].stack | map(.function)[0:3] == ["upload", "make_thumbnail", "main"]'
	holds '.leaks[0].stack | any(.function == "show_image") | not'
	holds '.kinds.device | .allocs == 241 and .frees == 201'
	holds '.requested.peak == 8 * 1048576 + 1048576 + 40 * 65536'
}

@test "leak: the report in words names the place" {
	tell leak
	run gpumemsnap report snapshot.json
	[[ $output == *"2.50 MiB in 40 blocks were never freed"* ]]
	[[ $output == *make_thumbnail* ]]
}

@test "fragmentation: a request fails while 384 MiB are unused" {
	tell fragmentation
	grep -q 'does not fit' out.txt
	holds '.ooms | length == 1'
	holds '.ooms[0] | .size == 64 * 1048576 and .free == 16 * 1048576'
	holds '.ooms[0] | .cause == "fragmentation" and .stranded == 384 * 1048576'
	holds '.ooms[0].stack[0].function == "build_atlas"'
	holds '.ooms[0] | .total - .live - .free - 256 * 1048576 == 384 * 1048576' # all but live, free and the context
	holds '.leaked_count == 256 and .leaked_bytes == 128 * 1048576'
	holds '.leaks[0].stack[0].function == "load_tile"'
}

# Words only: times, and the numbers of events (samples are events too), differ from run to run.
plain() {
	sed -E 's/^[ !>]+//' | tr -s '\n ' ' ' | sed -E 's/\([^()]* in, event [0-9,]+\)/(T)/; s/at event [0-9,]+,/at E,/'
}

@test "fragmentation: README.md shows what the program prints" {
	tell fragmentation
	readme=$(sed -n '/^    GPU 0 needed/,/^$/p' "$BATS_TEST_DIRNAME/../../README.md" | plain)
	printed=$(gpumemsnap report --width 100 snapshot.json | plain)
	[ ${#readme} -gt 300 ]
	echo "$readme"
	echo "$printed"
	[[ $printed == *"${readme% }"* ]]
}

@test "streams: 48 allocations of 8 MiB from two streams, never more than 8 MiB live at once" {
	tell streams
	grep -q 'one stream: 1, by two: 2, by two ordered by events: 1' out.txt
	holds '.kinds.async | .allocs == 48 and .frees == 48 and .failed == 0'
	holds '.requested | .peak == 8 * 1048576 and .end == 0'
	holds '.streams | length == 2'
	holds '.leaks == []'
}

@test "growth: what is kept for the plot grows by 6710886 bytes a step" {
	tell growth
	holds '.leaked_bytes == 50 * 6710886 and .leaked_count == 50'
	holds '.leaks | length == 1'
	holds '.leaks[0].stack[0].function == "keep_for_plot"'
	holds '.growth | length == 1'
	holds '.growth[0].stack[0].function == "keep_for_plot"'
	holds '.peak_stacks | any(.bytes == 256 * 1048576 and .stack[0].function == "load_weights")'
}

@test "workers: four threads with equal totals and nothing left" {
	tell workers
	holds '.kinds.async | .allocs == 200 and .frees == 200'
	holds '.requested | .end == 0 and .peak >= 20 * 1048576'
	holds '.threads | length == 4 and (map(.allocs) | unique == [50])'
	holds '.streams | length == 4'
	holds '.leaks == []'
}

@test "two_devices: one device leaks and the other does not" {
	tell two_devices
	holds '.requested | .peak == 96 * 1048576 and .end == 0'
	holds '.leaks == []'
	holds '.requested | .peak == 160 * 1048576 and .end == 160 * 1048576' 1
	holds '.leaks | length == 1' 1
	holds '.leaks[0] | .count == 10 and .stack[0].function == "gather"' 1
}

@test "two_devices: says so where there is one" {
	GPUMEMSNAP_SIM=devices=1 run gpumemsnap record --sim -o snapshot.json "$B/samples/two_devices"
	[ "$status" -eq 1 ]
	[[ $output == *"there is only 1 device"* ]]
}

@test "kinds: one of each kind is left, and each is counted as what it is" {
	tell kinds
	for kind in async:2:1:3 managed:2:1:3 physical:2:1:4 array:2:1:4 address:1:0:64; do
		IFS=: read -r name allocs frees mib <<<"$kind"
		holds ".kinds.$name | .allocs == $allocs and .frees == $frees and .end_bytes == $mib * 1048576"
	done
	holds '.kinds.device | .allocs == 3 and .frees == 2 and .end_bytes == 3 * 1048576' # one went with its context
	holds '.leaks_apart | length == 1 and .[0].kind == "managed" and .[0].bytes == 3 * 1048576'
	jq -e '[.snapshots[0].devices[] | select(.device == null).leaks_apart[] | [.kind, .bytes / 1048576]] ==
		[["pinned", 3], ["registered", 1]]' report.json
	holds '.kinds.context | .allocs == 2 and .frees == 1'
	holds '.leaks | map(.bytes / 1048576) | sort == [3, 3, 4, 4]'
	for kind in pinned:3 registered:1; do
		jq -e ".snapshots[0].devices | any(.kinds.${kind%:*} | .allocs == 2 and .frees == 1 and .end_bytes == ${kind#*:} * 1048576)" report.json
	done
}
