#!/usr/bin/env bats
# timeline.bats: memory over time as a user asks for it.

setup() {
	snap="$BATS_TEST_DIRNAME/../data/solver.json"
	cd "$BATS_TEST_TMPDIR" || return 1
}
png_size() { # FILE: "WIDTH HEIGHT" from the header
	od -An -tu1 -j16 -N8 "$1" | awk '{print (($1*256+$2)*256+$3)*256+$4, (($5*256+$6)*256+$7)*256+$8}'
}

@test "timeline writes a PNG of the size asked for" {
	gpumemsnap timeline "$snap" >out.png
	[ "$(head -c 8 out.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
	gpumemsnap timeline --width 1000 --height 800 "$snap" >out.png
	[ "$(png_size out.png)" = "1000 800" ]
}

@test "the PNG is never written to a terminal" {
	run script -qec "gpumemsnap timeline '$snap'" /dev/null
	[ "$status" -eq 2 ]
	[[ "$output" == *"gpumemsnap timeline > timeline.png"* ]]
}

@test "the drawn peak is the reported one" {
	want=$(gpumemsnap report --format json "$snap" | jq '.snapshots[0].devices[] | select(.device == 0).requested.peak')
	[ "$want" = 2687500288 ]
	gpumemsnap timeline --layout --device 0 "$snap" >layout
	grep -qF "meta Peak \"GPU 0: $want bytes\"" layout
	grep -q "^text peak#$want " layout
	grep -qF '"peak 2.50 GiB at 328.00 ms"' layout
}

@test "however few columns there are, the peak's column reaches the peak's height" {
	for width in 300 700 3000; do
		gpumemsnap timeline --layout --device 0 --width $width "$snap" >layout
		mark=$(awk '$1 == "text" && $2 ~ /^peak#/ {print $4 + 1}' layout)
		# the highest run of any band (its smallest y) is at the mark, to the pixel
		top=$(awk '$1 == "area" && $2 ~ /^band/ {for (i = 7; i <= NF; i++) {split($i, r, /[*-]/); if (r[3] > r[2]) print r[2]}}' layout | sort -n | head -1)
		[ $((mark - top)) -ge -2 ]
		[ $((mark - top)) -le 2 ]
	done
}

@test "bands are named with their bytes at the peak" {
	run gpumemsnap timeline --layout --device 0 "$snap"
	[[ "$output" == *'"grid_new grid.c:12"'* ]]
	[[ "$output" == *'"1.00 GiB at the peak · 40.0 %"'* ]]
	[[ "$output" == *'"720.00 MiB at the peak · 28.1 %"'* ]]
}

@test "a failed allocation is marked with what was asked and what was free" {
	run gpumemsnap timeline --layout "$snap"
	[[ "$output" == *'"out of memory: 4.00 GiB asked, 1.66 GiB free"'* ]]
}

@test "several devices are panels on one time axis" {
	gpumemsnap timeline --layout "$snap" >layout
	[ "$(grep -c '^text panel#' layout)" = 2 ]
	[ "$(grep -c '^text time.title' layout)" = 1 ]
	[ "$(awk '$2 ~ /^band#/ {print $3, $4 != "" }' layout | sort -u | wc -l)" = 1 ]
}

@test "several recordings of one time are panels where their wall clocks put them" {
	for r in 0 1; do
		jq -c ".meta.rank = $r | .meta.start_wall_ns = $((1700000000000000000 + r * 140000000))" "$snap" >r$r.json
	done
	gpumemsnap timeline --layout --device 0 r0.json r1.json >layout
	grep -qF '"rank 0 · r0.json · GPU 0 NVIDIA Test GPU"' layout
	grep -qF '"time since the first recording began"' layout
	# 560 ms and 140 ms later: the second panel begins after a fifth of the plot
	x() { awk -v r="phase#$1" '$1 == "rect" && $2 == r {print $3}' layout | sed -n "$2p"; }
	plot=$(awk '$2 == "area" || $2 == "band#0" {print $5; exit}' layout)
	moved=$(($(x 0 2) - $(x 0 1)))
	[ $((moved - plot / 5)) -ge -2 ]
	[ $((moved - plot / 5)) -le 2 ]
	grep -qF '"peak 2.50 GiB at 328.00 ms"' layout
	grep -qF '"peak 2.50 GiB at 468.00 ms"' layout
	grep -qF 'meta Peak "rank 1 · r1.json, GPU 0: 2687500288 bytes"' layout
	# nothing is drawn of a recording before it began and after it ended
	read -r x y w h < <(awk '$2 == "blank#0" {print $3, $4, $5, $6}' layout)
	[ $((w - plot / 5)) -ge -2 ]
	[ $((w - plot / 5)) -le 2 ]
	[ "$(grep -c '^rect blank#' layout)" = 2 ]
	grep -qF 'Blank: the recording had not begun yet, or had ended.' layout
}

@test "recordings of different times begin together, and a stack has one colour in all of them" {
	# the same program a day later, its tables in another order
	jq -c '.meta.start_wall_ns += 86400000000000 | .strings += ["unused"] |
		.stacks as $s | ($s | length) as $n | .stacks = [$s[0]] + ($s[1:] | reverse) |
		.events |= map(if .[6] > 0 then .[6] = $n - .[6] else . end)' "$snap" >later.json
	gpumemsnap timeline --layout --device 0 "$snap" later.json >layout
	grep -qF '"time since each recording began"' layout
	[ "$(grep -cF '"peak 2.50 GiB at 328.00 ms"' layout)" = 2 ]
	colours() { awk '$1 == "rect" && $2 ~ /^legend.band/ {c = $NF} $1 == "text" && /"keep_log log.c:5"/ && /legend/ {print c}' layout; }
	[ "$(colours | wc -l)" = 2 ]
	[ "$(colours | sort -u | wc -l)" = 1 ]
}

@test "times at which all of several recordings are idle are cut short, and the axis says so" {
	train="$BATS_TEST_DIRNAME/../data/torch/train.pickle.gz"
	gpumemsnap timeline --layout "$train" "$train" >cut
	gpumemsnap timeline --layout --axis time "$train" "$train" >whole
	grep -qF '"3.655 s idle"' cut
	grep -qF '"time since the first recording began, long idle times cut short"' cut
	[ "$(grep -c '^rect cut#' cut)" = 2 ] # in each panel
	[ "$(grep -c cut whole)" = 0 ]
	# peaks, window and times are the real ones
	for key in Peak Window; do [ "$(grep "^meta $key " cut)" = "$(grep "^meta $key " whole)" ]; done
	[ "$(grep -cF '"peak 1.89 GiB at 4.084 s"' cut)" = 2 ]
	[ "$(grep -c '^text peak.words' whole)" = 2 ]
	# one rank's idle time, in which another works, is not cut
	gpumemsnap convert -o train.json "$train"
	jq -c '.meta.start_wall_ns += 2000000000' train.json >late.json
	gpumemsnap timeline --layout train.json late.json >layout
	[ "$(grep -c '^text cut.label' layout)" = 2 ]
	grep -qF '"peak 1.89 GiB at 6.084 s"' layout
}

@test "panels share one bytes axis unless told otherwise" {
	gpumemsnap timeline --layout "$snap" >shared
	gpumemsnap timeline --layout --own-scale "$snap" >own
	[ "$(grep -c '^text bytes.tick#1073741824 ' shared)" = 2 ]
	[ "$(grep -c '^text bytes.tick#1073741824 ' own)" = 1 ]
	grep -q 'All panels have the same scale' shared
	[ "$(grep -c 'All panels have the same scale' own)" = 0 ]
}

@test "a merged set is drawn like its files; times and no times have no axis in common" {
	cp "$snap" a.json
	cp "$snap" b.json
	gpumemsnap merge a.json b.json -o set.json
	gpumemsnap timeline --layout --device 0 set.json >layout
	[ "$(grep -c '^text panel#' layout)" = 2 ]
	jq -c '.meta.has_time = false | .events |= [to_entries[] | .value[0] = .key | .value]' "$snap" >steps.json
	run gpumemsnap timeline --layout a.json steps.json
	[ "$status" -eq 2 ]
	[[ "$output" == *"no axis in common"* ]]
	run gpumemsnap timeline --layout --view segments a.json b.json
	[ "$status" -eq 2 ]
}

@test "phases are bars with their names" {
	run gpumemsnap timeline --layout --device 0 "$snap"
	[ "$(grep -c '^rect phase#' <<<"$output")" = 10 ]
	[[ "$output" == *'"step"'* ]]
}

@test "of a phase too short for its name the beginning is told" {
	run gpumemsnap timeline --layout "$BATS_TEST_DIRNAME/../data/torch/train.pickle.gz"
	[ "$(grep '^text phase.name#0 ' <<<"$output" | sed 's/.* //')" = '"Optimi…"' ]
}

@test "a legend gives long names two lines where there is room" {
	train="$BATS_TEST_DIRNAME/../data/torch/train.pickle.gz"
	gpumemsnap timeline --layout "$train" >tall
	gpumemsnap timeline --layout --height 640 "$train" >low
	grep '^text legend.band' tall | grep -qF '"← <module> gmsgen.py:45 · to module.py:1384"'
	[ "$(grep '^text legend.band' low | grep -cF '"← <module> gmsgen.py:45 · to module.py:1384"')" = 0 ]
	# and none of it lies beside the time axis or below
	for layout in tall low; do
		[ "$(awk '/^text legend/ {print $4}' $layout | sort -n | tail -1)" -le "$(awk '/^rect time.tick/ {print $4; exit}' $layout)" ]
	done
}

@test "--from and --to draw that part only" {
	run gpumemsnap timeline --layout --device 0 --from 100ms --to 200ms "$snap"
	[[ "$output" == *'meta Window "100000000 to 200000000 ns"'* ]]
	[[ "$output" != *"out of memory"* ]]
	[[ "$output" == *'"peak 1.98 GiB at 178.00 ms"'* ]]
	run gpumemsnap timeline --from 300ms --to 200ms "$snap"
	[ "$status" -eq 2 ]
}

@test "--group stream, thread, phase, size and kind make other bands of the same total" {
	for g in stack function file module phase stream thread pool size kind; do
		run gpumemsnap timeline --layout --device 0 --group $g "$snap"
		[ "$status" -eq 0 ]
		[[ "$output" == *'meta Peak "GPU 0: 2687500288 bytes"'* ]]
	done
	run gpumemsnap timeline --layout --device 0 --group stream "$snap"
	[[ "$output" == *'"stream 0x5581"'* ]]
	run gpumemsnap timeline --layout --group colour "$snap"
	[ "$status" -eq 2 ]
}

@test "without stacks bands are streams, or sizes" {
	printf 'Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000001,allocate,0x1000,4096,0x0\n1,10:00:00.000009,allocate,0x9000,65536,0x0\n' >one.csv
	run gpumemsnap timeline --layout one.csv
	[[ "$output" == *"by size"* && "$output" == *'"64.00 KiB to 128.00 KiB"'* ]]
	sed '3s/0x0$/0x2/' one.csv >two.csv
	run gpumemsnap timeline --layout two.csv
	[[ "$output" == *"by stream"* && "$output" == *'"stream 0x2"'* ]]
}

@test "--view reserved divides what is held" {
	run gpumemsnap timeline --layout --view reserved --device 0 "$snap"
	[ "$status" -eq 0 ]
	[[ "$output" == *"in use: bytes requested"* ]]
	[[ "$output" == *"reserved at the peak"* ]]
}

@test "a stack has the same colour in timeline and flame" {
	gpumemsnap timeline --layout --device 0 "$snap" >timeline
	gpumemsnap flame --layout --device 0 "$snap" >flame
	ref=$(awk '$1 == "text" && $2 ~ /^legend.band#/ && /"keep_log log.c:5"/ {sub(".*#", "", $2); print $2}' timeline)
	colour=$(awk -v r="legend.band#$ref" '$1 == "rect" && $2 == r {print $NF}' timeline)
	[ -n "$colour" ]
	awk '$1 == "rect" && $2 ~ /^box.stripe#/ {print $NF}' flame | grep -qxF -- "$colour"
}

@test "a recording without events is a picture that says so" {
	jq -c '.events = [] | .phases = [] | .failures = []' "$snap" >empty.json
	run gpumemsnap timeline --layout empty.json
	[ "$status" -eq 0 ]
	[[ "$output" == *"No events were recorded"* ]]
	gpumemsnap timeline empty.json >out.png
	[ "$(png_size out.png | cut -d' ' -f1)" = 2400 ]
}

@test "a recording without times has the event number as its axis" {
	jq -c '.meta.has_time = false | .events |= [to_entries[] | .value[0] = .key | .value]' "$snap" >steps.json
	run gpumemsnap timeline --layout --device 0 steps.json
	[ "$status" -eq 0 ]
	[[ "$output" == *"event number (this recording has no times)"* ]]
	[[ "$output" == *"peak 2.50 GiB at event 46"* ]]
}

@test "where nearly all events happen in a small part of the time, the axis counts events" {
	train="$BATS_TEST_DIRNAME/../data/torch/train.pickle.gz"
	gpumemsnap timeline --layout "$train" >events
	gpumemsnap timeline --layout --axis time "$train" >time
	grep -qF '"event number"' events
	grep -qF '"peak 1.89 GiB at event 1,936"' events
	grep -qF '"time since the recording began"' time
	grep -qF '"peak 1.89 GiB at 4.084 s"' time
	# the same recording: its digest and time, its stacks in the same colours
	for key in Digest TimeRange Peak; do
		[ -n "$(grep "^meta $key " time)" ]
		[ "$(grep "^meta $key " events)" = "$(grep "^meta $key " time)" ]
	done
	colour() { awk '$1 == "rect" && $2 ~ /^legend.band/ {c = $NF} /"softmax functional.py:2159"/ && /legend/ {print c; exit}' "$1"; }
	[ -n "$(colour time)" ]
	[ "$(colour events)" = "$(colour time)" ]
	# phases are as long as the events in them
	[ "$(awk '$2 == "phase#0" && $1 == "rect" {print $5}' events)" -gt "$(awk '$2 == "phase#0" && $1 == "rect" {print $5}' time)" ]
	# asked for a time, it is time; and --axis events makes events of any recording
	run gpumemsnap timeline --layout --from 3.9s "$train"
	[[ "$output" == *"time since the recording began"* ]]
	run gpumemsnap timeline --layout --axis events --from 10 --to 40 --device 0 "$snap"
	[[ "$output" == *'meta Window "10 to 40 events"'* ]]
}

@test "--view segments draws one rectangle per life where it lay" {
	gpumemsnap timeline --layout --view segments --device 0 "$snap" >layout
	[ "$(grep -c '^rect block#' layout)" = 42 ]
	grep -qF '"0x7f0000000000"' layout
	# the grid lives from the beginning to 540 of 560 ms, lowest of all
	read -r x y w h <<<"$(awk '$2 == "block#0" {print $3, $4, $5, $6}' layout)"
	[ "$(awk '$1 == "rect" && $2 ~ /^block#/ {print $4 + $6}' layout | sort -n | tail -1)" = $((y + h)) ]
	plot=$(awk '$2 ~ /^time.tick#0$/ {print $3}' layout)
	[ $((x - plot)) -lt 10 ]
	[ "$w" -gt 1300 ]
}

# MEGABYTES…: a snapshot of so many allocations, far from each other
allocations() {
	jq -nc '{format: "gpumemsnap", version: 1, meta: {}, strings: [""], frames: [[0, 0, 0, 0]], stacks: [[]],
		ops: ["device.alloc"], event_fields: ["t_ns", "op", "device", "addr", "size", "stream", "stack", "thread", "pool"],
		events: [$ARGS.positional | to_entries[] | [.key, 0, 0, (.key + 1) * 68719476736, (.value | tonumber) * 1048576, 0, 0, 0, 0]]}' --args "$@"
}

@test "of very many ranges the small ones share rows, and the large ones keep their part of the height" {
	allocations 6000 $(yes 1 | head -6000) >many.json
	gpumemsnap timeline --layout --view segments --height 1000 many.json >layout
	grep -q 'many of which share a row of pixels' layout
	plot=$(awk '$2 == "frame" {print $6; exit}' layout)
	large=$(awk '$2 == "block#0" {print $6}' layout)
	[ $((2 * large - plot)) -ge -6 ]
	[ $((2 * large - plot)) -le 6 ]
	allocations 6 $(yes 1 | head -6) >few.json
	gpumemsnap timeline --layout --view segments --height 1000 few.json >layout
	grep -q 'with gaps between them' layout
	[ "$(grep -c '^rect block#' layout)" = 7 ]
}

@test "one of a thing is not several" {
	allocations 1 >one.json
	run gpumemsnap timeline --layout --view segments one.json
	[[ "$output" == *"1 block"* && "$output" != *"1 blocks"* ]]
	run gpumemsnap flame --layout --by count one.json
	[[ "$output" == *"1 block of GPU memory"* ]]
	run gpumemsnap timeline --layout --at end "$BATS_TEST_DIRNAME/../data/torch/streams.pickle.gz"
	[[ "$output" != *" 1 holes"* ]]
}

@test "--at draws the blocks of one instant with their names and sizes" {
	run gpumemsnap timeline --layout --at peak --device 0 "$snap"
	[ "$status" -eq 0 ]
	[[ "$output" == *'"Segments of GPU 0 at the peak"'* ]]
	[[ "$output" == *'"grid_new grid.c:12 · 1.00 GiB"'* ]]
	[ "$(grep '^rect block#' <<<"$output" | awk '{print $2}' | sort -u | wc -l)" = 11 ]
	run gpumemsnap timeline --layout --at 0 --device 0 "$snap"
	[[ "$output" == *"no segment is held"* ]]
	# a wide block has its name even if it is none of the bands
	gpumemsnap timeline --layout --at peak --width 4000 --scale 1 "$BATS_TEST_DIRNAME/../data/torch/train.pickle.gz" >layout
	grep '^text block.name' layout | grep -qF '"forward gmsgen.py:16"'
	[ "$(grep '^text legend' layout | grep -cF 'forward gmsgen.py:16')" = 0 ]
	# free memory that goes on on the next line has its whole size where it begins
	gpumemsnap timeline --layout --at end "$BATS_TEST_DIRNAME/../data/torch/ring.pickle.gz" >layout
	free=$(sed -n 's/.*the largest \(.*\)"$/\1/p' layout)
	grep '^text hole' layout | grep -qF "\"free $free\""
	# a map of a recording in which nothing happens is its state
	jq -c '.initial = 4 | .events |= .[0:4] | .phases = [] | .failures = []' "$snap" >still.json
	run gpumemsnap timeline --layout --view segments still.json
	[[ "$output" == *'at the end"'* && "$output" != *time.tick* ]]
}

@test "where there is no room beside a picture its legend is below, and all of it lies within the picture" {
	for c in '' '--view segments' '--at peak' '--device 0' '--view reserved'; do
		# shellcheck disable=SC2086
		gpumemsnap timeline --layout --width 400 $c "$snap" >layout
		[ "$(grep -c '^rect legend.band' layout)" -ge 5 ]
		awk '$1 == "picture" {w = $2; h = $3}
			$1 == "text" && ($3 < 0 || $3 + $5 > w || $4 > h) {print; bad = 1}
			END {exit bad}' layout || { echo "$c"; return 1; }
		[ "$(awk '$2 == "time.title" {y = $4} $2 == "legend.band#0" && $1 == "rect" {print ($4 > y)}' layout | sort -u)" = 1 ]
	done
}
