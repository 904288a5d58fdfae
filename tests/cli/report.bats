# report: what was found, as text and as JSON.

small() { # a snapshot of three events
	cat >"$BATS_TEST_TMPDIR/s.json" <<-'J'
	{"format":"gpumemsnap","version":1,"meta":{"command":"./app","complete":true,"history":"complete"},
	"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],"ops":["device.alloc","device.free"],
	"strings":["","leak","app.c"],"frames":[[0,0,0,0],[1,2,7,0]],"stacks":[[],[1]],
	"events":[
	[10,0,0,4096,1000,0,1,0,0],
	[20,0,0,8192,500,0,1,0,0],
	[30,1,0,8192,0,0,0,0,0]]}
	J
	echo "$BATS_TEST_TMPDIR/s.json"
}

@test "the JSON report has exact numbers" {
	run gpumemsnap report -f json "$(small)"
	[ "$status" -eq 0 ]
	[ "$(jq -c '.snapshots[0].devices[0].requested | [.start,.peak,.peak_event,.peak_t_ns,.end]' <<<"$output")" = "[0,1500,1,20,1000]" ]
	[ "$(jq -c '[.format,.version,.snapshots[0].source,.snapshots[0].complete]' <<<"$output")" = '["gpumemsnap-report",1,"gpumemsnap",true]' ]
}
