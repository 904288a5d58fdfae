# record: killed at any moment, without room, forked, bounded, in windows.

load record_helpers

setup() { recorder_setup; }

# killed_after SECONDS|CALLS THREADS OPTIONS…: record a program that counts its calls, and kill it.
killed_after() {
	local seconds=$1 threads=$2 pid
	shift 2
	rm -f count
	: >out
	gpumemsnap record --sim -q -o s.json "$@" "$F/killed" count "$threads" >out 2>err 3>&- &
	until [ -s out ]; do sleep 0.02; done
	pid=$(head -1 out)
	if [[ $seconds = *calls ]]; then
		for _ in {1..2000}; do [ "$(calls)" -ge "${seconds%calls}" ] && break; sleep 0.02; done
	else
		sleep "$seconds"
	fi
	kill -KILL "$pid"
	wait $! || status=$?
}

calls() { od -An -v -t u8 -w64 count | awk '{n += $1} END {print n}'; }

@test "SIGKILL at any moment: every call that had returned is in the snapshot" {
	local seconds n got
	for seconds in 0.001 0.005 0.01 0.02; do
		killed_after $seconds 3
		[ "$status" -eq 137 ]
		n=$(calls)
		got=$(($(events device.alloc) + $(events device.free)))
		[ "$got" -ge "$n" ]
		[ "$got" -le $((n + 3)) ]
		[ "$(jq .meta.complete s.json)" = false ]
	done
}

@test "SIGKILL of a flight recorder: the live set is right" {
	local calls
	for calls in 50000 150000; do # 25,000 or so are in the file
		killed_after ${calls}calls 3 --max-size 1M
		[ "$(jq '.meta.dropped_events > 1000' s.json)" = true ]
		gpumemsnap report -f json s.json >r.json
		[ "$(jq '.snapshots[0].devices[0] | .live_blocks_end <= 3 and .anomalies.free_unknown == 0
			and .anomalies.double_free == 0 and .anomalies.alloc_live == 0' r.json)" = true ]
	done
}

@test "a flight recorder stays within its size and keeps the live set with its stacks" {
	rec --max-size 1M "$F/flight" 60000
	[ "$status" -eq 0 ]
	jq -r '[.snapshots[0].devices[0].live_stacks[] | {f: [.stack[].function | select(startswith("site_"))][0], n: .count,
		b: .bytes}] | group_by(.f)
		| map("\(.[0].f) \(map(.n) | add) \(map(.b) | add)") | sort | .[]' <(gpumemsnap report -f json s.json) \
		>got
	sort <<<"$output" | diff - got
	[ "$(jq '.meta.dropped_events > 30000' s.json)" = true ]
	[ "$(jq -r .meta.history s.json)" = partial ]
}

@test "fork: the child has a recording of its own, made when it first uses the GPU" {
	local how
	rec "$F/forks" fork # the driver refuses a context inherited by fork: 6 failures
	[ "$(cat ./s.*json | jq '[.failures[]] | length' | sort -n | tr '\n' ' ')" = "0 6 " ]
	for how in raw_fork fork_exec vfork_exec spawn system; do
		rm -f s.*
		rec "$F/forks" $how
		[ "$status" -eq 0 ]
		[ "$(find . -name 's.*json' | wc -l)" -eq 2 ]
		[ "$(cat ./s.*json | jq '.ops as $o | [.events[] | select($o[.[1]] == "device.alloc")] | length' | sort -n |
			tr '\n' ' ')" = "6 20 " ]
	done
}

@test "a child that never uses the GPU leaves nothing, and its parent's recording is untouched" {
	local how
	for how in fork_unused fork_exit vfork_exit; do
		rm -f s.*
		rec "$F/forks" $how
		[ "$status" -eq 0 ]
		[ "$(find . -name 's.*json' | wc -l)" -eq 1 ]
		[ "$(events device.alloc) $(jq .meta.complete s.json)" = "20 true" ]
	done
}

@test "a file size limit is no signal for the program: recording stops, and that is told" {
	run bash -c "trap '' PIPE; ulimit -f 400; exec gpumemsnap record --sim -q -o s.json $F/storm 1 8000"
	[ "$status" -eq 0 ]
	[[ $output == *"recording stopped"* ]]
	[ "$(jq .meta.complete s.json)" = false ]
	[[ "$(jq -r .meta.why_incomplete s.json)" == *"File too large"* ]]
}

@test "a full disk: recording stops, the program does not notice" {
	mkdir small
	mount -t tmpfs -o size=600k none small 2>/dev/null || skip "mounting is not allowed here"
	LD_LIBRARY_PATH=$B/lib/gpumemsnap/sim LD_PRELOAD=$B/lib/gpumemsnap/libgpumemsnap.so GPUMEMSNAP_SPOOL=$PWD/small \
		run "$F/storm" 1 8000
	gpumemsnap report -f json small/*.spool >r.json
	umount small
	[ "$status" -eq 0 ]
	[[ $output == *"recording stopped"* ]]
	[ "$(jq -r '.snapshots[0] | .complete, .why_incomplete' r.json | tr '\n' ' ')" = \
		"false recording stopped: cannot grow the spool: No space left on device " ]
	[ "$(jq '.snapshots[0].events > 3000' r.json)" = true ]
}

@test "a program that uses up its descriptors, or leaves for another root or user, is recorded to the end" {
	local how n=0
	for how in descriptors chroot setuid seteuid; do
		rm -rf jail
		rec "$F/confined" $how
		[ "$status" -ne 77 ] || continue # not root
		[ "$status" -eq 0 ]
		[ "$(events device.alloc) $(events device.free) $(jq .meta.complete s.json)" = "5020 2510 true" ]
		n=$((n + 1))
	done
	[ $n -ge 1 ]
}

@test "gms_record, phases, marks and a snapshot by the program" {
	rec "$F/window"
	[ "$status" -eq 0 ]
	[ "$(jq -c '.ops as $o | [.events[] | select($o[.[1]] == "device.alloc") | .[4]]' s.json)" = "[111,333,444,555]" ]
	[ "$(events device.free)" -eq 1 ]
	[ "$(jq -c '. as $d | [.phases[] | $d.strings[.[0]]]' s.json)" = '["outer","inner","here"]' ]
	[ "$(jq '[.phases[] | .[5] >= .[4]] | all' s.json)" = true ]
	[ "$(find . -name '*middle*' | wc -l)" -eq 1 ]
	[ "$(jq -c '.ops as $o | [.events[] | select($o[.[1]] == "device.alloc") | .[4]]' ./*middle*)" = "[111,333,444]" ]
}

@test "--off begins switched off" {
	rec --off "$F/window" off
	[ "$status" -eq 0 ]
	[ "$(jq -c '.ops as $o | [.events[] | select($o[.[1]] == "device.alloc") | .[4]]' s.json)" = "[222]" ]
}

@test "--start-after and --duration bound what is recorded, not what the program does" {
	rec --start-after 1h "$F/ends" exit
	[ "$status ${lines[0]}" = "2 worked" ]
	[ "$(events device.alloc)" -eq 0 ]
	rec --start-after 1ns "$F/ends" exit
	[ "$(events device.alloc) $(events device.free)" = "20 10" ]
	rec --duration 1h "$F/ends" exit
	[ "$(events device.alloc) $(events device.free)" = "20 10" ]
	rec --duration 1ns "$F/ends" exit
	[ "$status ${lines[0]}" = "2 worked" ]
	[ "$(events device.alloc) $(events device.free)" = "0 0" ]
	[ "$(jq -r .meta.history s.json)" = partial ]
}

@test "--signal: the program's state is written each time it gets the signal, and it runs on" {
	local app
	gpumemsnap record --sim -q --signal USR2 -o s.json "$F/actor" alloc:1000 alloc:2000 print:ready \
		sleep:60000 sleep:60000 sleep:60000 >out 2>&1 3>&- &
	for _ in {1..600}; do grep -q ready out && break; sleep 0.05; done
	app=$(pgrep -P $!)
	for n in 1 2; do
		kill -USR2 "$app"
		for _ in {1..600}; do [ -e s.dump$n.json ] && break; sleep 0.05; done
	done
	kill -TERM "$app"
	rc=0
	wait $! || rc=$?
	[ $rc -eq 143 ]
	[ "$(events device.alloc s.dump1.json) $(events device.alloc s.dump2.json) $(events device.alloc)" = "2 2 2" ]
}

@test "--filter-size leaves small allocations and their frees out and says so" {
	rec --filter-size 500 "$F/storm" 2 10
	[ "$status" -eq 0 ]
	[ "$(events device.alloc) $(events device.free)" = "2 0" ]
	[[ "$(jq -r '.notes | tostring' s.json)" == *"20 allocations below 500 bytes"* ]]
}

@test "--stacks and --depth" {
	rec --stacks alloc "$F/ends" return
	[ "$(jq '.ops as $o | [.events[] | select($o[.[1]] == "device.free") | .[6]] | all(. == 0)' s.json)" = true ]
	[ "$(jq '.ops as $o | [.events[] | select($o[.[1]] == "device.alloc") | .[6]] | all(. > 0)' s.json)" = true ]
	rec --no-stacks "$F/ends" return
	[ "$(jq '.stacks | length' s.json)" -eq 1 ]
	rec --depth 2 "$F/ends" return
	[ "$(jq '[.stacks[] | length] | max' s.json)" -le 4 ] # inlined calls come on top
	gpumemsnap report s.json | grep -qE '[0-9] call stacks? (was|were) deeper than 2 frames'
	rec "$F/ends" return
	[ "$(jq -c .notes s.json)" = '[]' ]
}
