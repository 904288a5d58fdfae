# Recordings that are at the edge of what pictures can show: every picture of them is made, and says what it is.

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	python3 - <<-'PY'
	import json
	HEAD = {"format": "gpumemsnap", "version": 1, "meta": {"command": "./app", "complete": True, "history": "complete"},
	        "event_fields": ["t_ns", "op", "device", "addr", "size", "stream", "stack", "thread", "pool"],
	        "ops": ["device.alloc", "device.free"]}

	def write(name, functions, stacks, events):
	    head = dict(HEAD, strings=[""] + functions,
	                frames=[[0, 0, 0, 0]] + [[i + 1, 0, 0, i] for i in range(len(functions))], stacks=[[]] + stacks)
	    text = json.dumps(head, ensure_ascii=False)[:-1] + ',"events":[\n' + ",\n".join(json.dumps(e) for e in events) + "]}"
	    with open(name + ".json", "wb") as f:
	        f.write(text.encode("utf-8", "surrogateescape"))

	names = ["日本語の関数", "🚀🎉", "??", "x" * 2000, "pair<" * 400 + ">" * 400, "f\udcff\udcfeg", "", "a\tb\nc", "ルビ" * 300]
	write("names", names, [[i + 1] for i in range(len(names))],
	      [[i * 1000, 0, 0, i << 24, 1 << (10 + i), 0, i + 1, 0, 0] for i in range(len(names))])
	write("deep", ["f%d" % i for i in range(7000)], [list(range(1, 7001)), list(range(1, 3500))],
	      [[10, 0, 0, 4096, 1000000, 0, 1, 0, 0], [20, 0, 0, 1 << 30, 2000000, 0, 2, 0, 0]])
	write("one", ["f"], [[1]], [[10, 0, 0, 4096, 1000, 0, 1, 0, 0]])
	write("instant", ["f"], [[1]], [[10, 0, 0, 4096 * i, 1000, 0, 1, 0, 0] for i in range(1, 100)])
	write("empty", [], [], [])
	write("devices", ["f"], [[1]], [[10 + i, 0, i % 64, 4096 + i * 1048576, (i + 1) * 1000000, 0, 1, 0, 0] for i in range(128)])
	write("segments", ["f", "g"], [[1], [2, 1]],
	      [[10 * i, 0, 0, 0x7F0000000000 + i * (64 << 20), (1 + i % 40) << 20, 0, 1 + i % 2, 0, 0] for i in range(500)])
	PY
}
setup() {
	cd "$BATS_FILE_TMPDIR"
}
all_pictures() { # FILE
	local c
	for c in flame 'flame --by module --by phase' 'flame --reverse --fold --full' timeline 'timeline --view segments' \
		'timeline --view reserved' 'timeline --at end' 'flame --width 200' 'timeline --width 200 --height 100'; do
		# shellcheck disable=SC2086
		gpumemsnap $c --width 700 "$1" >out.png || { echo "$c $1: status $?"; return 1; }
		[ "$(head -c 4 out.png | tail -c 3)" = PNG ]
	done
}

@test "names in any script, broken, endless or missing" {
	all_pictures names.json
	gpumemsnap flame --layout names.json >layout
	grep -qF '"日本語の関数"' <(gpumemsnap flame --layout --by count --width 4000 names.json)
	grep -qF 'f\ufffd\ufffdg' layout || grep -qF 'f��g' layout
	# a name of 2,000 letters does not fit its box: it has a number and stands in the legend, within its lines
	grep -qE '^text legend.name' layout
	[ "$(awk '$1 == "text" && $3 + $5 > 2400 {n++} END {print n + 0}' layout)" = 0 ]
}

@test "characters the built-in font lacks are boxes with their number, or come from the machine's fonts" {
	# a font with one square for U+65E5, one and a half as wide as high
	mkdir -p fonts/deep/er
	python3 - <<-'PY'
	import struct
	square = struct.pack(">hhhhh", 1, 0, 0, 1000, 1000) + struct.pack(">HH", 3, 0) + b"\1\1\1\1" + \
	    struct.pack(">hhhh", 0, 0, 1000, 0) + struct.pack(">hhhh", 0, 1000, 0, -1000)
	square += b"\0" * (-len(square) % 4)
	cmap = struct.pack(">HHHHL", 0, 1, 3, 10, 12) + struct.pack(">HHLLL", 12, 0, 28, 0, 1) + struct.pack(">LLL", 0x65E5, 0x65E5, 1)
	tables = {
	    b"cmap": cmap, b"glyf": square, b"loca": struct.pack(">LLL", 0, 0, len(square)),
	    b"head": struct.pack(">LLLLHHqqhhhhHHhhh", 0x10000, 0, 0, 0x5F0F3CF5, 0, 1000, 0, 0, 0, 0, 1000, 1000, 0, 8, 2, 1, 0),
	    b"hhea": struct.pack(">LhhhHhhhhhhhhhhhH", 0x10000, 1000, 0, 0, 1500, 0, 0, 1000, 1, 0, 0, 0, 0, 0, 0, 0, 2),
	    b"hmtx": struct.pack(">HhHh", 500, 0, 1500, 0), b"maxp": struct.pack(">LH13H", 0x10000, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)}
	at, index, body = 12 + 16 * len(tables), b"", b""
	for tag in sorted(tables):
	    index += tag + struct.pack(">LLL", 0, at + len(body), len(tables[tag]))
	    body += tables[tag] + b"\0" * (-len(tables[tag]) % 4)
	open("fonts/deep/er/Square-Regular.TTF", "wb").write(struct.pack(">LHHHH", 0x10000, len(tables), 0, 0, 0) + index + body)
	PY
	echo 'no font' >fonts/deep/Broken.otf
	jq -c '.strings[1] = "日" | .strings[2] = "日本"' names.json >sun.json
	width() { # TEXT
		GPUMEMSNAP_FONTS=$fonts gpumemsnap flame --by count --layout --width 4000 sun.json |
			awk -v want="\"$1\"" '$1 == "text" && $2 ~ /^box.name/ && $0 ~ want {printf "%.1f", $5 / $7; exit}'
	}
	fonts=
	GPUMEMSNAP_FONTS='' gpumemsnap flame --by count sun.json >boxes.png
	GPUMEMSNAP_FONTS=nowhere:fonts gpumemsnap flame --by count sun.json >square.png
	run cmp boxes.png square.png
	[ "$status" -eq 1 ]
	fonts=fonts
	[ "$(width 日)" = 1.5 ]
}

@test "stacks 7,000 deep are cut at 5,000, and the picture says so" {
	all_pictures deep.json
	gpumemsnap flame --layout deep.json >layout
	grep -qF 'deeper than 5000 frames' layout
	grep -qF 'meta Bytes "3000000"' layout
	# however tall it is drawn, a PNG stays within what programs open
	gpumemsnap flame --layout --full deep.json | awk '$1 == "picture" {exit !($3 <= 32767)}'
}

@test "one event, one instant, no event, 64 devices, 500 segments" {
	for f in one instant empty segments; do all_pictures $f.json; done
	gpumemsnap timeline --layout --width 700 devices.json >layout
	[ "$(grep -c '^text panel#' layout)" = 64 ]
	awk '$1 == "picture" {exit !($3 <= 32767)}' layout
	run gpumemsnap timeline --scale 4 devices.json
	[ "$status" -eq 2 ]
	[[ $output == *"64 panels do not fit"* ]]
}

@test "500 segments fill the map, each at its own height, and some are named by address" {
	gpumemsnap timeline --layout --view segments --width 700 segments.json >layout
	[ "$(grep -c '^rect block#' layout)" = 500 ]
	[ "$(awk '$1 == "rect" && $2 ~ /^block#/ {print $4}' layout | sort -u | wc -l)" = 500 ]
	[ "$(grep -c '^text range.address' layout)" -ge 10 ]
	# the highest block is near the upper end of the frame
	read -r frame height <<<"$(awk '$2 == "frame" {print $4, $6; exit}' layout)"
	top=$(awk '$1 == "rect" && $2 ~ /^block#/ {print $4}' layout | sort -n | head -1)
	[ $((top - frame)) -lt $((height / 20)) ]
}

@test "widths that make no picture are refused" {
	for w in 0x1 1 100000; do
		run gpumemsnap timeline --width $w one.json
		[ "$status" -eq 2 ]
	done
}

@test "times and durations that no recording has are drawn within bounds" {
	sed 's/"complete": true,/& "duration_ns": 9223372036854775807,/' one.json >forever.json
	grep -q 9223372036854775807 forever.json
	sed 's/^\[10, 0/[-9223372036854775807, 0/' forever.json >ever.json
	grep -q '^\[-9223372036854775807' ever.json
	for f in forever ever; do
		timeout 60 gpumemsnap timeline --width 700 $f.json >out.png
		timeout 60 gpumemsnap timeline --width 700 $f.json one.json >out.png
	done
}
