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
