# diff: what changed between two recordings.

snap() { # FILE SIZE LINE: one block that stays, one of a stack of its own
	cat >"$1" <<-J
	{"format":"gpumemsnap","version":1,"meta":{"command":"./app","complete":true,"history":"complete"},
	"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],"ops":["device.alloc","device.free"],
	"strings":["","load","app.c","main","only_$4"],"frames":[[0,0,0,0],[1,2,$3,0],[3,2,50,0],[4,2,60,0]],"stacks":[[],[1,2],[3,2]],
	"events":[
	[10,0,0,4096,$2,0,1,0,0],
	[20,0,0,1048576,300,0,2,0,0],
	[30,1,0,1048576,0,0,0,0,0]]}
	J
}
setup() {
	cd "$BATS_TEST_TMPDIR"
	snap a.json 1000 7 a
	snap b.json 5000 9 b
}

@test "a line that moved is not a new stack; sizes say grown, new and gone" {
	run gpumemsnap diff -f json a.json b.json
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.devices[0].stacks[]|[.status,.peak_bytes.a,.peak_bytes.b,.end_bytes.delta,.stack[0].function]]' <<<"$output")" = \
		'[["grown",1000,5000,4000,"load"],["new",0,300,0,"only_b"],["gone",300,0,0,"only_a"]]' ]
	[ "$(jq -c '.devices[0].requested.peak' <<<"$output")" = '{"a":1300,"b":5300,"delta":4000}' ]
}

@test "the text names the change first" {
	run gpumemsnap diff a.json b.json
	[ "$status" -eq 0 ]
	[[ $output == *"GPU 0 needs more than before: 5.18 KiB instead of 1.27 KiB (+3.91 KiB, +307.7 %)."* ]]
	[[ $output == *"+3.91 KiB"*"grown"*"load app.c:9"* ]]
}

@test "a recording does not differ from itself" {
	run gpumemsnap diff a.json a.json
	[ "$status" -eq 0 ]
	[[ $output == *"needs as much as before"*"No stack holds more or less than before."* ]]
}

@test "two snapshots, not one and not three" {
	run gpumemsnap diff a.json
	[ "$status" -eq 2 ]
	run gpumemsnap diff a.json nowhere.json
	[ "$status" -eq 4 ] || [ "$status" -eq 3 ]
}

@test "--flame draws B's widths with the change from A, and what is gone by name" {
	gpumemsnap diff a.json b.json --flame layout --layout
	grep -qF '"5.18 KiB of GPU memory live at the peak, 3.91 KiB more than before (+307.7 %)"' layout
	grep -qF 'meta Bytes "5300"' layout
	grep -qF 'meta BytesBefore "1300"' layout
	# load's line moved from 7 to 9, and it is still compared with what it was
	grep -qF '"4.88 KiB · +3.91 KiB"' layout
	grep -q '^text gone.amount#0 .*"−300 B"$' layout
	grep -q '^text gone.name#0 .*"only_a app.c:60"$' layout
	# the strip of what is gone has the scale of the boxes: 300 B are as wide as the 300 B of only_b
	gone=$(awk '$1 == "rect" && $2 == "gone#0" {print $5}' layout)
	new=$(awk -v id="$(awk '$NF == "\"only_b\"" {split($2, a, "#"); print "box#" a[2]}' layout)" '$1 == "rect" && $2 == id {print $5}' layout)
	[ $((gone - new)) -ge -2 ]
	[ $((gone - new)) -le 2 ]
}

@test "in a differential flame grown is red, shrunk is blue and the scale says by how much" {
	gpumemsnap diff a.json b.json --flame up --layout
	gpumemsnap diff b.json a.json --flame down --layout
	root() { awk '$2 == "box#0" {print $7}' "$1"; }
	[ "$(root up)" = "#c9301f" ]
	[ "$(root down)" = "#1f66b0" ]
	grep -q '^rect scale#10 .*#c9301f$' up
	grep -q '^text scale.words#10 .*"+3.91 KiB"$' up
	grep -q '^text scale.words#0 .*"−3.91 KiB"$' up
	gpumemsnap diff a.json a.json --flame same --layout
	[ "$(root same)" = "#e6e8eb" ]
	grep -qF 'as much as before' same
}

@test "--flame --by count compares how many blocks there are" {
	# 5 blocks of load instead of 1
	jq -c '.events = [range(5) as $i | [$i, 0, 0, 4096 + 65536 * $i, 10, 0, 1, 0, 0]]' b.json >many.json
	gpumemsnap diff a.json many.json --flame layout --layout --by count
	grep -qF '"5 blocks of GPU memory live at the peak, 3 more than before (+150.0 %)"' layout
	grep -qF 'meta Blocks "5"' layout
	grep -qF 'meta BlocksBefore "2"' layout
	grep -qF '"5 · +4"' layout
	grep -q '^text gone.title.*"Gone: 1 block' layout
	grep -q '^text gone.amount#0 .*"−1"$' layout
	run gpumemsnap diff --by count a.json many.json
	[ "$status" -eq 2 ]
}

@test "--flame writes a PNG, the text stays away" {
	run gpumemsnap diff a.json b.json --flame out.png --at end --theme dark --width 800
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$(head -c 8 out.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
	gpumemsnap diff a.json b.json --flame - >out2.png
	[ "$(head -c 8 out2.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
	run gpumemsnap diff a.json b.json --theme dark
	[ "$status" -eq 2 ]
}

@test "a B of which nothing is live still names what is gone" {
	jq -c '.events = [[10,0,0,4096,1000,0,1,0,0],[20,1,0,4096,0,0,0,0,0]]' a.json >gone.json
	gpumemsnap diff a.json gone.json --flame layout --layout --at end
	grep -qF '"no memory is live here: nothing to draw"' layout
	grep -q '^text gone.name#0 .*"load app.c:7"$' layout
}
