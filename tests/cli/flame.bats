#!/usr/bin/env bats
# flame.bats: the flame graph as a user asks for it.

setup() {
	snap="$BATS_TEST_DIRNAME/../data/solver.json"
	cd "$BATS_TEST_TMPDIR" || return 1
}
png_size() { # FILE: "WIDTH HEIGHT" from the header
	od -An -tu1 -j16 -N8 "$1" | awk '{print (($1*256+$2)*256+$3)*256+$4, (($5*256+$6)*256+$7)*256+$8}'
}

@test "flame writes a PNG to standard output" {
	gpumemsnap flame "$snap" >out.png
	[ "$(head -c 8 out.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
	[ "$(png_size out.png | cut -d' ' -f1)" = 2400 ]
}

@test "flame -o writes the file and keeps an old one" {
	echo precious >f.png
	gpumemsnap flame -o f.png "$snap"
	[ "$(cat f.png.old)" = precious ]
	[ "$(png_size f.png | cut -d' ' -f1)" = 2400 ]
}

@test "the PNG is never written to a terminal" {
	run script -qec "gpumemsnap flame '$snap'" /dev/null
	[ "$status" -eq 2 ]
	[[ "$output" == *"gpumemsnap flame > flame.png"* ]]
}

@test "width and height are the picture's" {
	gpumemsnap flame --width 900 --height 700 "$snap" >out.png
	[ "$(png_size out.png)" = "900 700" ]
}

@test "sizes that make no picture are refused with status 2" {
	for o in "--width 10" "--width 40000" "--height 99999" "--scale 0.1" "--scale 99"; do
		# shellcheck disable=SC2086
		run gpumemsnap flame $o "$snap"
		[ "$status" -eq 2 ]
		[[ "$output" == *"${o%% *}"* ]]
	done
}

@test "the peak's bytes stand in the picture, exactly" {
	run gpumemsnap flame --layout "$snap"
	[ "$status" -eq 0 ]
	[[ "$output" == *'meta Bytes "2687500288"'* ]]
	[[ "$output" == *"2,687,500,288 bytes in 11 blocks from 6 stacks"* ]]
	[[ "$output" == *'"720.00 MiB · 28.1 %"'* ]]
}

@test "--at end shows what was never freed, --at TIME another instant" {
	run gpumemsnap flame --layout --at end "$snap"
	[[ "$output" == *'"400.00 MiB of GPU memory live at the end"'* ]]
	run gpumemsnap flame --layout --at 2ms "$snap"
	[[ "$output" == *'meta Bytes "1073741824"'* ]]
	run gpumemsnap flame --layout --at 0 "$snap"
	[[ "$output" == *"no memory is live here"* ]]
}

@test "--at total adds up every allocation" {
	run gpumemsnap flame --layout --at total --device 1 "$snap"
	[[ "$output" == *"meta Bytes \"$(((256 + 10 * 128) << 20))\""* ]]
}

@test "--by count draws blocks" {
	run gpumemsnap flame --layout --by count "$snap"
	[[ "$output" == *'"6 blocks · 54.5 %"'* ]]
}

@test "--by file and module make boxes of those, --by phase puts phases at the root" {
	run gpumemsnap flame --layout --by file "$snap"
	[[ "$output" == *'"sim/grid.c"'* && "$output" == *'meta Bytes "2687500288"'* ]]
	[[ "$output" == *"A box is a file"* && "$output" == *"in 11 blocks from 6 stacks"* ]]
	run gpumemsnap flame --layout --by module "$snap"
	[[ "$output" == *'"libcuda.so.1"'* && "$output" == *"A box is a module"* ]]
	gpumemsnap flame --layout --by phase --by count "$snap" >layout
	step=$(awk '$1 == "text" && $NF == "\"step\"" {split($2, a, "#"); print a[2]; exit}' layout)
	# right above the root, in the colour that the timeline gives it
	[ "$(awk -v b="box#$step" '$2 == b {print $4 + 36}' layout)" = "$(awk '$2 == "box#0" {print $4}' layout)" ]
	[ "$(awk -v b="box#$step" '$2 == b {print $7}' layout)" = \
		"$(gpumemsnap timeline --layout "$snap" | awk '$1 == "rect" && $2 == "phase#1" {print $7}')" ]
	grep -qF '"(outside any phase)"' layout
	run gpumemsnap flame --by colour "$snap"
	[ "$status" -eq 2 ]
	[[ "$output" == *"'colour' is not bytes, count, function, file, module or phase"* ]]
}

@test "by module an interpreter's frames are no boxes between packages, what allocated is one" {
	jq -c '.strings = ["", "main", "train.py", "call", "/x/site-packages/nn/linear.py", "forward", "eval", "malloc"] |
		.frames = [[0,0,0,0], [7,0,0,0], [5,4,3,0], [6,0,0,0], [3,4,9,0], [1,2,1,0]] | .stacks = [[], [1,2,3,4,3,5,3]] |
		.events |= map(.[6] = 1) | .phases = []' "$snap" >python.json
	gpumemsnap flame --full --layout --by module python.json | awk '$1 == "text" && $2 ~ /^box.name/ {print $8, $9}' >names
	[ "$(tr '\n' '|' <names)" = '"all memory"|"train.py" |"nn" |"(native code)"|' ] || { cat names; return 1; }
}

@test "the device with the highest peak is drawn unless told otherwise" {
	run gpumemsnap flame --layout "$snap"
	[[ "$output" == *"GPU 0 NVIDIA Test GPU"* ]]
	run gpumemsnap flame --layout --device 1 "$snap"
	[[ "$output" == *"384.00 MiB of GPU memory live at the peak"* ]]
	run gpumemsnap flame --device 7 "$snap"
	[ "$status" -eq 2 ]
	[[ "$output" == *"has no device 7; it has: 0, 1"* ]]
}

@test "--invert turns the picture over: the root's row is the uppermost" {
	root() { awk '$1 == "rect" && $2 == "box#0" {print $4}'; }
	above=$(gpumemsnap flame --layout "$snap" | awk '$1 == "rect" && $2 ~ /^box#/ && $2 != "box#0" {print $4}' | sort -n | tail -1)
	[ "$(gpumemsnap flame --layout "$snap" | root)" -gt "$above" ]
	below=$(gpumemsnap flame --layout --invert "$snap" | awk '$1 == "rect" && $2 ~ /^box#/ && $2 != "box#0" {print $4}' | sort -n | head -1)
	[ "$(gpumemsnap flame --layout --invert "$snap" | root)" -lt "$below" ]
}

@test "a function has the same colour in every flame of a snapshot" {
	colour() { awk '$1 == "text" && $2 ~ /^box.name/ && $NF == "\"keep_log\"" {split($2, a, "#"); print a[2]}' "$1" |
		while read -r id; do awk -v id="box#$id" '$1 == "rect" && $2 == id {print $7}' "$1"; done | sort -u; }
	gpumemsnap flame --layout "$snap" >peak
	gpumemsnap flame --layout --at end "$snap" >end
	[ -n "$(colour peak)" ]
	[ "$(colour peak)" = "$(colour end)" ]
}

@test "the snapshot may come from a pipe" {
	run bash -c "cat '$snap' | gpumemsnap flame --layout"
	[ "$status" -eq 0 ]
	[[ "$output" == *'meta Bytes "2687500288"'* ]]
}

@test "a time that is none is refused" {
	run gpumemsnap flame --at soon "$snap"
	[ "$status" -eq 2 ]
	[[ "$output" == *"--at: 'soon' is not a time"* ]]
}

@test "a full output is reported with status 4 and nothing half-written stays" {
	[ -w /dev/full ] || skip "no /dev/full"
	run bash -c "gpumemsnap flame '$snap' > /dev/full"
	[ "$status" -eq 4 ]
	[[ "$output" == *"standard output"* ]]
}

texts() { # FILE: KEY=VALUE of the text chunks
	python3 - "$1" <<-'PY'
	import struct, sys
	data, at = open(sys.argv[1], "rb").read(), 8
	while at < len(data):
	    n, kind = struct.unpack(">I4s", data[at:at + 8])
	    body = data[at + 8:at + 8 + n]
	    at += n + 12
	    if kind == b"tEXt":
	        print(kind.decode(), body.replace(b"\0", b"=").decode("latin-1"))
	    elif kind == b"iTXt":
	        key, rest = body.split(b"\0", 1)
	        print(kind.decode(), key.decode() + "=" + rest[2:].split(b"\0", 2)[2].decode())
	PY
}

@test "the PNG says what it is of: title, command, digest and time range" {
	gpumemsnap flame "$snap" >a.png
	texts a.png >a
	grep -qxF 'tEXt Title=2.50 GiB of GPU memory live at the peak' a
	grep -qF 'iTXt Description=' a
	grep -qxF "tEXt Command=$(jq -r .meta.command "$snap")" a
	grep -qxF 'tEXt TimeRange=0 to 560000000 ns' a
	grep -qxF 'tEXt Instant=328000000 ns' a
	grep -qE '^tEXt Digest=[0-9a-f]{16}$' a
	grep -qxF 'tEXt Title=own' <(gpumemsnap flame --title own "$snap" >t.png; texts t.png)
}

@test "the digest is the recording's: one for every packing and picture, another for another recording" {
	digest() { sed -n 's/^meta Digest "\(.*\)"/\1/p'; }
	want=$(gpumemsnap flame --layout "$snap" | digest)
	[ -n "$want" ]
	gzip -c "$snap" >packed.json.gz
	jq . "$snap" >pretty.json
	[ "$(gpumemsnap flame --layout --by phase --at end packed.json.gz | digest)" = "$want" ]
	[ "$(gpumemsnap timeline --layout pretty.json | digest)" = "$want" ]
	[ "$(gpumemsnap diff --layout --flame - pretty.json "$snap" | digest)" = "$want" ]
	jq -c '.events[3][4] += 1' "$snap" >other.json
	[ "$(gpumemsnap flame --layout other.json | digest)" != "$want" ]
}

@test "the picture is the same, byte for byte, every time" {
	gpumemsnap flame "$snap" >a.png
	gpumemsnap flame "$snap" >b.png
	cmp a.png b.png
}
