# report on PyTorch snapshots as people have sent them: odd versions, missing parts, several devices, no history.
# Each is written here as the Python object that torch would have pickled.

setup() {
	command -v python3 >/dev/null || skip 'needs python3'
	cd "$BATS_TEST_TMPDIR" || return 1
}

# The pickle of an expression. E(action, addr, size, time, …): a trace entry; S(addr, size, blocks, …): a segment;
# B(addr, size, state, …): a block; MiB, GiB.
snapshot() {
	python3 - "$1" <<-'P'
	import pickle, sys
	MiB, GiB = 1 << 20, 1 << 30
	def F(name, line=1, file="/app/train.py"): return {"name": name, "line": line, "filename": file}
	def E(action, addr, size, t=None, frames=("step",), stream=0, **more):
	    e = {"action": action, "addr": addr, "size": size, "stream": stream, "frames": [F(f) for f in frames], **more}
	    if t is not None: e["time_us"] = t
	    return e
	def B(addr, size, state="active_allocated", frames=("old",), **more):
	    return {"address": addr, "size": size, "requested_size": size, "state": state, "frames": [F(f) for f in frames], **more}
	def S(addr, size, blocks, device=0, **more):
	    return {"address": addr, "total_size": size, "stream": 0, "device": device, "segment_type": "large", "blocks": blocks, "frames": [], **more}
	sys.stdout.buffer.write(pickle.dumps(eval(sys.argv[1]), 4))
	P
}
text() { gpumemsnap report --no-charts --width 400 s.pickle; }
value() { gpumemsnap report -f json s.pickle | jq -c "$1"; }

@test "out of memory on GPU 1 with expandable segments on: a shortage there, and no advice that is followed already" {
	snapshot '{"segments": [S(1 << 40, 8 * GiB, [B(1 << 40, 8 * GiB)], 0, is_expandable=True),
	S(2 << 40, 78 * GiB, [B(2 << 40, 77 * GiB, frames=("step",)), B((2 << 40) + 77 * GiB, GiB, "inactive")], 1, is_expandable=True)],
	"device_traces": [[E("segment_map", 1 << 40, 8 * GiB, 1), E("alloc", 1 << 40, 8 * GiB, 2)],
	[E("segment_map", 2 << 40, 78 * GiB, 3), E("alloc", 2 << 40, 77 * GiB, 4), E("oom", 0, 5 * GiB, 5, device_free=64 * MiB)], [], []],
	"allocator_settings": {"expandable_segments": True}}' >s.pickle
	run text
	[[ $output == *"GPU 1 needed at most 77.00 GiB"*"GPU 0 needed at most 8.00 GiB"* ]] # what failed comes first
	[[ $output == *"! GPU 1: a request of 5.00 GiB failed at event 2, in step"*"a real shortage: 77.00 GiB were in use and only 1.06 GiB free"*"3.94 GiB were missing"* ]]
	[[ $output != *expandable_segments:True* && $output != *"GPU 0: a request"* && $output != *"GPU 2"* ]]
	[ "$(value '[.snapshots[0].devices[] | [.device, (.ooms | length)]]')" = '[[0,0],[1,1]]' ]
}

@test "a bare list of segments, all on device 1" {
	snapshot '[S(4096, 4 * MiB, [B(4096, MiB), B(4096 + MiB, 3 * MiB, "inactive")], 1)]' >s.pickle
	run text
	[[ $output == *"GPU 1 holds 1.00 MiB in 1 live block; no history recorded: the peak is unknown"* && $output != *"GPU 0"* ]]
	[ "$(value '[.snapshots[0].history, (.snapshots[0].devices[0] | .device, .requested.peak, .reserved.end, .inactive_end)]')" = '["none",1,null,4194304,3145728]' ]
}

@test "torch 2.0: blocks with a history and no address" {
	snapshot '{"segments": [S(1 << 30, 4 * MiB, [{"size": MiB, "state": "active_allocated", "history": [{"addr": 1 << 30, "real_size": MiB - 100, "frames": [F("load")]}]},
	{"size": 2 * MiB, "state": "inactive"}, {"size": MiB, "state": "active_pending_free", "history": [{"real_size": 1000, "frames": []}]}])], "device_traces": []}' >s.pickle
	[ "$(value '.snapshots[0].devices[0] | [.reserved.end, .requested.end, .live_blocks_end, .live_stacks[0].stack[0].function]')" = "[4194304,$((1048576 - 100 + 1000)),2,\"load\"]" ]
}

@test "one event in the trace, or none: history was never on" {
	for trace in '[E("alloc", 4096, MiB, 7)]' '[]'; do
		snapshot '{"segments": [S(4096, 2 * MiB, [B(4096, MiB), B(4096 + MiB, MiB, "inactive")])], "device_traces": ['"$trace"']}' >s.pickle
		run text
		[[ $output == *"no history recorded: the peak is unknown"* ]]
		[ "$(value '.snapshots[0].devices[0] | [.requested.peak, .requested.end]')" = '[null,1048576]' ]
	done
}

@test "without times, the number of the event is the time and durations are not told" {
	snapshot '{"segments": [], "device_traces": [[E("alloc", 4096 * i, 512) for i in range(1, 20)]]}' >s.pickle
	run text
	[[ $output == *"needed at most 9.50 KiB (event 18)"* && $output != *" us"* && $output != *" ms"* && $output != *" over "* ]]
	[ "$(value '.snapshots[0].devices[0].requested | [.peak_event, .peak_t_ns]')" = '[18,null]' ]
}

@test "events without frames: how many, and under one name" {
	snapshot '{"segments": [], "device_traces": [[E("alloc", 4096 * i, 512, i, () if i % 4 else ("step",)) for i in range(1, 41)]]}' >s.pickle
	run text
	[[ $output == *"Stacks cover 25.0 % of the events"* && $output == *"30  (no stack recorded)"* ]]
	[ "$(value '.snapshots[0].devices[0].coverage | [.events, .with_stack]')" = '[40,10]' ]
}

@test "no completed free at all: that class of events was left out, and nothing is a leak" {
	snapshot '{"segments": [S(4096, 2 * MiB, [B(4096, 2 * MiB, "inactive")])], "device_traces": [[E("alloc", 4096 * i, 512, i) for i in range(1, 60)]]}' >s.pickle
	run text
	[[ $output == *"Frees were left out of this recording on purpose"* && $output != *"LEAKS: "* ]]
	[ "$(value '.snapshots[0].devices[0] | [.leaks_doubt != null, .leaked_bytes, .growth]')" = '[true,null,[]]' ]
}

@test "a ring that was full: what was there before is undone from the end" {
	snapshot '{"segments": [S(4096, 2 * MiB, [B(4096, MiB), B(4096 + MiB, MiB, "inactive")])],
	"device_traces": [[E("free_requested", 4096 + MiB, 1000, 5), E("free_completed", 4096 + MiB, 1000, 6), E("alloc", 4096 + MiB, 500, 7), E("free_requested", 4096 + MiB, 500, 8), E("free_completed", 4096 + MiB, 500, 9)]]}' >s.pickle
	[ "$(value '.snapshots[0] | [.history, (.devices[0].requested | .start, .peak, .peak_event, .end), .devices[0].unmatched_frees]')" = "[\"partial\",$((1048576 + 1000)),$((1048576 + 1000)),-1,1048576,1]" ]
	run text
	[[ $output == *"highest before the recording began"*"The history covers the last"* ]]
}

@test "freed, but still awaited by another stream: live, and told apart" {
	snapshot '{"segments": [S(4096, 2 * MiB, [B(4096, MiB, "active_pending_free", ("step",)), B(4096 + MiB, MiB, "inactive")])],
	"device_traces": [[E("segment_alloc", 4096, 2 * MiB, 1), E("alloc", 4096, MiB, 2, stream=-5), E("alloc", 4096 + MiB, 512, 3), E("free_requested", 4096 + MiB, 512, 4), E("free_completed", 4096 + MiB, 512, 4), E("free_requested", 4096, MiB, 5)]]}' >s.pickle
	[ "$(value '.snapshots[0].devices[0] | [.requested.end, .pending_end, .live_blocks_end, .leaked_bytes]')" = '[1048576,1048576,1,0]' ]
}

@test "two private pools do not mix with the default one" {
	snapshot '{"segments": [S(4096, 2 * MiB, [B(4096, 2 * MiB)], segment_pool_id=(0, 7)), S(1 << 30, 2 * MiB, [B(1 << 30, 2 * MiB)], segment_pool_id=(0, 0)), S(2 << 30, 2 * MiB, [B(2 << 30, 2 * MiB)], segment_pool_id=(3, 0))],
	"device_traces": [[f for i, a in enumerate((4096, 1 << 30, 2 << 30)) for f in (E("segment_alloc", a, 2 * MiB, 2 * i), E("alloc", a, 2 * MiB, 2 * i + 1))]]}' >s.pickle
	[ "$(value '.snapshots[0].devices[0].pools | map(.end_bytes)')" = '[2097152,2097152,2097152]' ]
}

@test "keys, actions and values of a later torch are left out and told" {
	snapshot '{"segments": [S(4096, 2 * MiB, [B(4096, 2 * MiB, "active_somehow", user_metadata={"a": [1]}, future=None)], registration_counter=-1, more=object is None)],
	"device_traces": [[E("alloc", 4096, 512, 1, version_counter=3, compile_context="0/0"), E("defragment", 1, 2, 3), E("free_requested", 4096, 512, 4), E("free_completed", 4096, 512, 5)]],
	"cudagraph_pools": {1: (2, 3)}, "allocator_settings": {"new_setting": 1.5, "roundup_power2_divisions": {"1": 0}}}' >s.pickle
	run text
	[ "$status" -eq 0 ]
	[[ $output == *'unknown action "defragment"'* && $output == *cudagraph_pools* ]]
	[[ $output == *"the compile_context of 1 trace entry is left out"* ]]
	[ "$(value '[.snapshots[0].unknown_entries, .snapshots[0].devices[0].events]')" = '[1,4]' ]
}

@test "numbers that make no sense cost only their entry" {
	snapshot '{"segments": [], "device_traces": [[E("alloc", 4096, 512, 1), E("alloc", 8192, -1, 2), E("alloc", float("nan"), 5, 3), E("alloc", 1 << 70, 1 << 70, 4), E("alloc", None, None, None), E("alloc", -4096, 512, 5),
	E("alloc", 16384, 512, -1 << 80), E("oom", 0, 1 << 40, 7, device_free=-3), E("free_requested", -4096, 512, 8), E("free_completed", -4096, 512, 9)]]}' >s.pickle
	[ "$(value '.snapshots[0] | [.unknown_entries, .devices[0].events, .devices[0].requested.peak, .devices[0].requested.end]')" = '[4,10,1536,1024]' ]
}

@test "a range that was one segment when the recording began and is two later counts once at every moment" {
	snapshot '{"segments": [S(1 << 40, 20 * MiB, []), S((1 << 40) + 20 * MiB, 8 * MiB, [])],
	"device_traces": [[E("segment_free", 1 << 40, 40 * MiB, 1), E("segment_alloc", 1 << 40, 20 * MiB, 2), E("segment_alloc", (1 << 40) + 20 * MiB, 8 * MiB, 3)]]}' >s.pickle
	[ "$(value '.snapshots[0].devices[0].reserved | [.start,.peak,.end]')" = "[$((40 << 20)),$((40 << 20)),$((28 << 20))]" ]
	[[ $(text) != *"do not lead to"* ]]
	snapshot '{"segments": [S(1 << 40, 20 * MiB, [])], "device_traces": [[E("segment_alloc", 1 << 40, 8 * MiB, 1), E("segment_alloc", 1 << 41, 2 * MiB, 2)]]}' >s.pickle
	[[ $(text) == *"do not lead to the segments at the end (first at 0x10000000000): a range is got twice"* ]]
}

@test "segments without a block, or without an event of one, are reserved memory" {
	snapshot '{"segments": [S(1 << 40, 20 * MiB, [B(1 << 40, 20 * MiB, "inactive")])], "device_traces": []}' >s.pickle
	[ "$(value '.snapshots[0].devices[0] | [.reserved.end, .requested.end, .inactive_end, .level]')" = "[$((20 << 20)),0,$((20 << 20)),\"framework\"]" ]
}

@test "freed before the recording began, but still awaited then: allocated no longer, active still" {
	snapshot '{"segments": [S(1 << 40, 20 * MiB, [B(1 << 40, 8 * MiB, "active_pending_free"), B((1 << 40) + 8 * MiB, 12 * MiB)])],
	"device_traces": [[E("alloc", (1 << 40) + 8 * MiB, 12 * MiB, 2), E("free_requested", (1 << 40) + 8 * MiB, 12 * MiB, 3),
	E("free_completed", (1 << 40) + 8 * MiB, 12 * MiB, 4), E("alloc", (1 << 40) + 8 * MiB, 12 * MiB, 5)]]}' >s.pickle
	[ "$(value '.snapshots[0].devices[0] | [.active.peak, .allocated.peak, .requested.start]')" = "[$((20 << 20)),$((12 << 20)),$((8 << 20))]" ]
	snapshot '{"segments": [S(1 << 40, 20 * MiB, [B(1 << 40, 8 * MiB, "active_pending_free"), B((1 << 40) + 8 * MiB, 12 * MiB)])],
	"device_traces": [[E("alloc", (1 << 40) + 8 * MiB, 4 * MiB, 1), E("alloc", (1 << 40) + 12 * MiB, 8 * MiB, 2)]]}' >s.pickle
	[ "$(value '.snapshots[0].devices[0].requested.start')" = "$((8 << 20))" ]
}

@test "an address that belongs to a private pool at the end may have been the default pool's before" {
	snapshot '{"segments": [S(1 << 40, 20 * MiB, [B(1 << 40, 20 * MiB)], segment_pool_id=(0, 7))],
	"device_traces": [[E("segment_alloc", 1 << 40, 20 * MiB, 1), E("alloc", 1 << 40, 3 * MiB, 2), E("free_requested", 1 << 40, 3 * MiB, 3), E("free_completed", 1 << 40, 3 * MiB, 4),
	E("segment_free", 1 << 40, 20 * MiB, 5, ("empty_cache",)), E("segment_alloc", 1 << 40, 20 * MiB, 6, ("capture",)), E("alloc", 1 << 40, 20 * MiB, 7, ("capture",))]]}' >s.pickle
	[ "$(gpumemsnap whatif -f json -c '' s.pickle | jq -c '[.fidelity.events - .fidelity.matched, .runs[0].device_allocs, .runs[0].device_frees, .runs[0].reserved_peak]')" = "[0,2,1,$((20 << 20))]" ]
}

@test "an expandable segment grows by pages of 20 MiB: enough for the request may be too little for them" {
	snapshot '{"segments": [S(1 << 40, 40 * MiB, [B(1 << 40, 40 * MiB, frames=("step",))], is_expandable=True)], "allocator_settings": {"expandable_segments": True},
	"device_traces": [[E("segment_map", 1 << 40, 40 * MiB, 1), E("alloc", 1 << 40, 40 * MiB, 2), E("oom", 0, 24 * MiB, 3, device_free=30 * MiB)]]}' >s.pickle
	[ "$(value '.snapshots[0].devices[0].ooms[0] | [.cause, .missing]')" = "[\"real shortage\",$((10 << 20))]" ]
}

@test "a snapshot inside another object is read, and several in one file as the ranks of a job" {
	one='{"segments": [S(1 << 40, 2 * MiB, [B(1 << 40, MiB)])], "device_traces": [[E("segment_alloc", 1 << 40, 2 * MiB, 1), E("alloc", 1 << 40, MiB, 2)]]}'
	for whole in '{"rank": 3, "snapshot": '"$one"'}' "[$one]" "($one, 7)"; do
		snapshot "$whole" >s.pickle
		[ "$(value '.snapshots[0].devices[0] | [.requested.peak, .reserved.peak]')" = "[1048576,2097152]" ]
	done
	two='{"segments": [S(1 << 41, 4 * MiB, [B(1 << 41, 3 * MiB)])], "device_traces": [[E("segment_alloc", 1 << 41, 4 * MiB, 1), E("alloc", 1 << 41, 3 * MiB, 2, pool_id=(1, 2))]],
	"external_annotations": [{"name": "late", "stage": "START", "device": 0, "time_us": 1}], "allocator_settings": {"max_split_size": 7}}'
	for whole in "[$one, $two]" "[$one, None, $two, 5]" "{0: $one, 1: $two}" "{'rank0': $one, 'rank1': $two}" "{'all': [$one, $two]}"; do
		snapshot "$whole" >s.pickle
		[ "$(value '[.snapshots[] | [.file, (.devices[0] | .requested.peak, .reserved.peak, (.phases | length))]]')" = '[["s.pickle#0",1048576,2097152,0],["s.pickle#1",3145728,4194304,1]]' ]
	done
	gpumemsnap convert 's.pickle#0' | jq -e '(.blocks | length) == 1 and (.phases | length) == 0 and (.meta.settings // {} | length) == 0'
	gpumemsnap convert 's.pickle#1' | jq -e '(.blocks | length) == 1 and (.phases | length) == 1'
	[ "$(gpumemsnap merge -o - s.pickle | grep -c '^{"format":"gpumemsnap",')" -eq 2 ]
	run gpumemsnap flame -o f.png s.pickle
	[ "$status" -eq 3 ]
	[[ $output == *"a pickle with 2 PyTorch memory snapshots; name one by a number behind the file's name, #0 to #1"* ]]
	run gpumemsnap report 's.pickle#2'
	[ "$status" -eq 3 ]
	[[ $output == *"the pickle holds 2 snapshots, counted from 0"* ]]
	snapshot '[S(1 << 40, 2 * MiB, [B(1 << 40, MiB)])]' >s.pickle # what torch.cuda.memory_snapshot() gives
	gpumemsnap report 's.pickle#0' | grep -q 'GPU 0'
	run gpumemsnap report 's.pickle#1'
	[ "$status" -eq 3 ]
	[[ $output == *"the pickle holds 1 snapshot, counted from 0"* ]]
}

@test "what-if believes the settings in force, whatever their text says or lacks" {
	for conf in '' 'PYTORCH_X:1' 'expandable_segments:False'; do
		snapshot '{"segments": [S(1 << 40, 40 * MiB, [B(1 << 40, 30 * MiB)], is_expandable=True)], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "'"$conf"'", "expandable_segments": True, "max_split_size": -1,
		"garbage_collection_threshold": 0.0}, "device_traces": [[E("segment_map", 1 << 40, 40 * MiB, 1), E("alloc", 1 << 40, 30 * MiB, 2)]]}' >s.pickle
		[ "$(gpumemsnap whatif -f json -c '' s.pickle | jq -c '[.fidelity.events - .fidelity.matched, .runs[0].reserved_peak]')" = "[0,$((30 << 20))]" ]
	done
}
