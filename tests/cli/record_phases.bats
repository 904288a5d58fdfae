# record: what the program says about its phases, by NVTX and by gpumemsnap.h, and what the report makes of it.

load record_helpers

setup() { recorder_setup; }

# phases: each phase of the snapshot as name@domain, closed or open.
phases() {
	jq -r '. as $d | [.phases[] | $d.strings[.[0]] + (if .[1] > 0 then "@" + $d.strings[.[1]] else "" end)
		+ (if .[5] == null then " (open)" else "" end)] | join(", ")' s.json
}
# by_phase: what was allocated in each phase, as the report says.
by_phase() {
	gpumemsnap report --by phase -f json s.json |
		jq -r '[.snapshots[0].devices[0].phases[] | "\(.name) \(.alloc_bytes)"] | sort | join(", ")'
}

@test "NVTX ranges of every sort are phases, and the innermost one has what was allocated in it" {
	rec "$F/ranges"
	[ "$status" -eq 77 ] && skip "no NVTX headers"
	[ "$status" -eq 0 ]
	[ "$(phases)" = "epoch, stäp, half-way, sweep@solver, upload, never ended (open)" ]
	[ "$(by_phase)" = "(outside any phase) 666, epoch 111, never ended 777, stäp 222, sweep 777, upload 555" ]
	gpumemsnap report --by phase s.json | grep -qE '^ +777 B .* sweep$'
}

@test "phases of gpumemsnap.h nest, and the report adds up by them" {
	rec "$F/window"
	[ "$(phases)" = "outer, inner, here" ]
	[ "$(by_phase)" = "(outside any phase) 666, inner 444, outer 333" ]
}

@test "another tool that NVTX is given to keeps it" {
	NVTX_INJECTION64_PATH=/no/such/tool.so rec "$F/ranges"
	[ "$status" -eq 77 ] && skip "no NVTX headers"
	[ "$(phases)" = "" ]
	[ "$(events device.alloc)" -eq 7 ]
}
