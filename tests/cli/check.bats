# check: limits, one line each, and the exit status.

setup() {
	cat >"$BATS_TEST_TMPDIR/s.json" <<-'J'
	{"format":"gpumemsnap","version":1,"meta":{"command":"./app","complete":true,"history":"complete"},
	"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],"ops":["device.alloc","device.free"],
	"strings":["","leak","app.c"],"frames":[[0,0,0,0],[1,2,7,0]],"stacks":[[],[1]],
	"events":[
	[10,0,0,4096,1000,0,1,0,0],
	[20,0,0,8192,500,0,1,0,0],
	[30,1,0,8192,0,0,0,0,0]]}
	J
	cd "$BATS_TEST_TMPDIR"
}

@test "limits that are kept: one line each, status 0" {
	run gpumemsnap check --max-peak 2KiB --max-leak 1000 --no-failures --max-growth 0 s.json
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 4 ]
	[ "${lines[0]}" = "ok    max-peak           GPU 0  1.46 KiB, 2.00 KiB allowed" ]
}

@test "a limit that is not kept: FAIL and status 1" {
	run gpumemsnap check --max-peak 1KiB --no-leaks s.json
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "FAIL  max-peak           GPU 0  1.46 KiB, 1.00 KiB allowed" ]
	[ "${lines[1]}" = "FAIL  max-leak           GPU 0  1000 B, 0 B allowed" ]
}

@test "leaks of an incomplete recording cannot be checked, so the check fails" {
	sed -i 's/"complete":true/"complete":false/' s.json
	run gpumemsnap check --no-leaks s.json
	[ "$status" -eq 1 ]
	[[ $output == *"incomplete: leaks unreliable"* ]]
}

@test "against a baseline, with tolerance" {
	sed 's/1000,0,1/1040,0,1/' s.json >new.json
	run gpumemsnap check --baseline s.json new.json
	[ "$status" -eq 1 ]
	[[ $output == *"FAIL  baseline-peak"*"was 1.46 KiB (+2.7 %, 0.0 % tolerated)"* ]]
	run gpumemsnap check --baseline s.json --tolerance 5% new.json
	[ "$status" -eq 0 ]
}

@test "JSON and JUnit say the same" {
	run gpumemsnap check --max-peak 1KiB --max-leak 1MiB -f json s.json
	[ "$status" -eq 1 ]
	[ "$(jq -c '[.passed,[.rules[]|[.rule,.passed,.value,.limit]]]' <<<"$output")" = '[false,[["max-peak",false,1500,1024],["max-leak",true,1000,1048576]]]' ]
	run gpumemsnap check --max-peak 1KiB --max-leak 1MiB -f junit s.json
	[ "$status" -eq 1 ]
	[[ $output == *'tests="2" failures="1"'*'<failure message="1.46 KiB, 1.00 KiB allowed"/>'* ]]
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parseString(sys.argv[1])' "$output"
}

@test "without limits there is nothing to check" {
	run gpumemsnap check s.json
	[ "$status" -eq 2 ]
	[[ $output == *"nothing to check"* ]]
}

@test "without a history neither leaks nor failures can be checked, so the check fails" {
	sed -i 's/"history":"complete"/"history":"none"/' s.json
	run gpumemsnap check --no-leaks --no-failures s.json
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "FAIL  max-leak           GPU 0  not known: no history was recorded" ]
	[ "${lines[1]}" = "FAIL  max-failures       GPU 0  not known: no history was recorded" ]
}

@test "a limit on segments where there are none is passed over, in words" {
	run gpumemsnap check --max-frag 5% s.json
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "ok    max-frag           GPU 0  passed over: no segments were recorded" ]
}
