#!/usr/bin/env bats
# top.bats: the live view, on recorded programs of the simulated driver and a fake NVML.

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export FAKE_NVML=$BATS_TEST_TMPDIR/nvml
	fake=$B/tests/fake
	mkfifo hold
	screen="gpumemsnap-test-$BATS_TEST_NUMBER-$$"
}
teardown() {
	exec 9>&- # the lingering program ends
	[ -z "${busy:-}" ] || kill -KILL "$busy" 2>/dev/null
	command -v tmux >/dev/null && tmux -L "$screen" kill-server 2>/dev/null
	wait
	true
}
# A recorded program that waits: $pid.
linger() {
	[ -x "$B/tests/fault/linger" ] || skip 'record was not built (no CUDA headers)'
	gpumemsnap record -q --sim -o linger.json "$B/tests/fault/linger" 60 <hold >ready 3>&- 9>&- &
	exec 9>hold
	for _ in $(seq 600); do grep -q ready ready 2>/dev/null && break; sleep 0.1; done
	pid=$(pgrep -P $! -x linger)
	[ -n "$pid" ]
}
# NVML's world: the simulated device with `$pid` and another process on it, and a second device.
world() {
	cat >"$FAKE_NVML" <<-END
		driver 580.95.05
		gpu GPU-73696d75-6c61-7465-6420-475055200000 17179869184 0 805306368 37 5 gpumemsnap simulated GPU
		process $pid 536870912 compute
		process 1 104857600 compute
		process 9999999 1048576 compute
		gpu GPU-11111111-2222-3333-4444-555555555555 150000000000 629145600 3145728 0 0 NVIDIA Other
	END
}
# A terminal of 80 x 24 that runs a script (not a shell that is typed to: where its prompt appears is
# a matter of chance). Afterwards it stays, so that the last screen can be seen.
terminal() { # SCRIPT
	command -v tmux >/dev/null || skip 'tmux is not installed'
	printf '%s\n' "$1" 'exec sleep 600' >script
	tmux -L "$screen" -f /dev/null new-session -d -x 80 -y 24 "sh script" 3>&- 9>&-
}
wait_for() { # PATTERN: until the screen shows it
	for _ in $(seq 600); do
		tmux -L "$screen" capture-pane -p >shown && grep -qE "$1" shown && return 0
		sleep 0.1
	done
	cat shown
	return 1
}
wait_for_file() { # FILE: until it has something in it
	for _ in $(seq 600); do [ -s "$1" ] && return 0; sleep 0.1; done
	return 1
}

@test "without NVML and without recorded programs, top says so and succeeds" {
	run gpumemsnap top --once 1
	[ "$status" -eq 0 ]
	[[ $output == *"no NVML here (libnvidia-ml.so.1"*"only recorded processes are known"* ]]
	gpumemsnap top --format json 1 | jq -e '.format == "gpumemsnap-top" and (.no_nvml | length > 0)'
}

@test "with NVML alone, top lists devices and processes" {
	pid=2
	world
	LD_LIBRARY_PATH=$fake gpumemsnap top --format json 1 >look.json
	jq -e '.no_nvml == null and .driver == "580.95.05" and (.gpus | length) == 2' look.json
	jq -e '.gpus[1] == {gpu: 1, name: "NVIDIA Other", uuid: "GPU-11111111-2222-3333-4444-555555555555",
		total: 150000000000, used: 3145728, free: 149367708672, busy_percent: 0}' look.json
	jq -e '.processes[] | select(.pid == 1) | .gpu == 0 and .used == 104857600 and .recording == null' look.json
	LD_LIBRARY_PATH=$fake gpumemsnap top --once 1 | grep -E '^1 +NVIDIA Other +3.00 MiB 139.11 GiB 139.70 GiB'
}

@test "an NVML that lists no processes is not taken for a GPU that nobody uses" {
	pid=2
	world
	echo no-processes >>"$FAKE_NVML"
	LD_LIBRARY_PATH=$fake gpumemsnap top --format json | jq -e '.no_nvml == null and .processes_listed == false'
	LD_LIBRARY_PATH=$fake gpumemsnap top --once >look.txt
	grep -qx "NVML does not list every GPU's processes: only recorded processes are known" look.txt
	grep -qx ' *no recorded process uses a GPU' look.txt || grep -q '1 recorded process' look.txt
}

@test "a process that this /proc does not know is said to be one" {
	pid=2
	world
	LD_LIBRARY_PATH=$fake gpumemsnap top --once | grep -E '^9999999 .* 1.00 MiB .*\(not in this /proc\)$'
	LD_LIBRARY_PATH=$fake gpumemsnap top --format json | jq -e '.processes[] | select(.pid == 9999999) | .command == null'
}

@test "a recorded program in a container is found by its id here" {
	[ -x "$B/tests/fault/linger" ] || skip 'record was not built (no CUDA headers)'
	unshare -rp --fork true 2>/dev/null || skip 'no PID namespaces here'
	gpumemsnap record -q --sim -o out.json unshare -rp --fork "$B/tests/fault/linger" 60 <hold >ready 3>&- 9>&- &
	exec 9>hold
	for _ in $(seq 600); do grep -q ready ready && break; sleep 0.1; done
	pid=$(pgrep -x linger -P "$(pgrep -x unshare -P $!)")
	[ "$(awk '/^NSpid/ {print $NF}' "/proc/$pid/status")" = 1 ]
	world
	LD_LIBRARY_PATH=$fake gpumemsnap top --format json "$pid" >look.json
	jq -e '.processes | length == 1 and .[0].used == 536870912 and .[0].recording.live == 100663296' look.json
	gpumemsnap dump -q -o now.json "$pid"
	jq -e '.meta.pid == 1 and (.events | length) > 33' now.json
}

@test "a recorded program is shown in detail, exactly" {
	linger
	gpumemsnap top --format json "$pid" >look.json
	jq -e --argjson p "$pid" '.processes | length == 1 and .[0].pid == $p and .[0].gpu == 0 and .[0].used == null' look.json
	jq -e '.processes[0].recording | .live == 100663296 and .blocks == 33 and .peak == 100663296 and .failed == 1' look.json
	jq -e '.processes[0].recording.stacks | length == 2 and (.[0].name | startswith("load_weights linger.c:"))
		and .[0].bytes == 67108864 and .[1].bytes == 33554432 and .[1].count == 32' look.json
	jq -e '.processes[0].recording.failures[0] | .size == 1125899906842624 and (.name | startswith("ask_for_too_much"))' look.json
	jq -e '.gpus[0] | .total == 17179869184 and .used > 100663296 and .used + .free == .total' look.json
}

@test "a long recording is looked at without keeping it in memory" {
	[[ ${MAKEFLAGS-} != *SAN=* ]] || skip 'a sanitizer takes memory of its own'
	[ -x "$B/tests/fault/actor" ] || skip 'record was not built (no CUDA headers)'
	gpumemsnap record -q --sim -o busy.json "$B/tests/fault/actor" alloc:1000 count:count 3>&- 9>&- &
	calls() { od -An -tu8 -N8 count 2>/dev/null || echo 0; }
	for _ in $(seq 600); do [ "$(calls)" -gt 900000 ] && break; sleep 0.1; done
	busy=$(pgrep -P $! -x actor)
	kill -STOP "$busy"
	# The million events are 44 bytes each in memory, if they are all kept.
	( ulimit -d 50000; gpumemsnap top --format json "$busy" ) >look.json
	made=$(calls)
	jq -e --argjson made "$made" '.processes[0].recording | .events > $made and .events < $made * 1.01 and
		(.live == 1000 or .live == 5096) and .peak == 5096 and .trouble == null' look.json
}

@test "NVML's figures and the recording meet in one row" {
	linger
	world
	LD_LIBRARY_PATH=$fake gpumemsnap top --format json 1 "$pid" >look.json
	jq -e '(.gpus | length) == 2 and (.processes | length) == 2' look.json
	jq -e --argjson p "$pid" '.processes[0] | .pid == $p and .used == 536870912 and .recording.live == 100663296' look.json
	LD_LIBRARY_PATH=$fake gpumemsnap top --once --sort pid 1 "$pid" >look.txt
	grep -E " 1   0 100.00 MiB +- " look.txt
	grep -E "^ +$pid   0 512.00 MiB  96.00 MiB  96.00 MiB .* linger 60$" look.txt
	grep -E '^ +64.00 MiB +1 .* load_weights linger.c:[0-9]+$' look.txt
	grep -E 'failed .* ago: 1.00 PiB asked for, .* free: ask_for_too_much linger.c:' look.txt
}

@test "the screen fits 80 x 24, and keys sort, select, snapshot and quit" {
	command -v tmux >/dev/null || skip 'tmux is not installed'
	linger
	world
	terminal "env LD_LIBRARY_PATH=$fake LC_ALL=C.UTF-8 FAKE_NVML=$FAKE_NVML $B/bin/gpumemsnap top -i 200ms 1 $pid 2>err
		echo ended \$? >ended"
	wait_for 'load_weights linger.c:'
	[ "$(wc -l <shown)" -eq 24 ]
	[ "$(wc -L <shown)" -le 80 ]
	head -1 shown | grep -q '2 GPUs, 1 recorded process, by used'
	tail -1 shown | grep -q '^q quit'
	tmux -L "$screen" send-keys l
	wait_for 'by live'
	tmux -L "$screen" send-keys Down
	tmux -L "$screen" send-keys s
	wait_for 'only a process under gpumemsnap record can be snapshot'
	tmux -L "$screen" send-keys k s
	wait_for "wrote gpumemsnap-$pid.json|no snapshot: gpumemsnap: no command"
	tmux -L "$screen" resize-window -x 120 -y 16
	wait_for 'PEAK'
	[ "$(wc -l <shown)" -eq 16 ]
	tmux -L "$screen" send-keys q
	wait_for_file ended
	grep -qx 'ended 0' ended
	[ ! -s err ]
}

@test "two hundred processes scroll, the screen may shrink, and the selected process may die" {
	command -v tmux >/dev/null || skip 'tmux is not installed'
	linger
	world
	sed -i "/^process 1 /,/^process 9/d" "$FAKE_NVML"
	for i in $(seq 200); do sed -i "/^process $pid/a process $((4194304 + i)) $((i << 20)) compute" "$FAKE_NVML"; done
	terminal "env LD_LIBRARY_PATH=$fake LC_ALL=C.UTF-8 FAKE_NVML=$FAKE_NVML $B/bin/gpumemsnap top -i 200ms 2>err
		echo ended \$? >ended"
	wait_for 'load_weights linger.c:'
	tmux -L "$screen" send-keys NPage NPage NPage
	wait_for '^4194475 '
	tmux -L "$screen" resize-window -x 40 -y 10
	for _ in $(seq 600); do tmux -L "$screen" capture-pane -p >shown; [ "$(grep -c '^41944' shown)" -eq 3 ] && break; sleep 0.1; done
	[ "$(wc -l <shown)" -eq 10 ]
	[ "$(wc -L <shown)" -le 40 ]
	tmux -L "$screen" send-keys PPage PPage PPage
	wait_for "^ *$pid "
	tmux -L "$screen" resize-window -x 80 -y 24
	wait_for 'keep_for_later linger.c:'
	kill -KILL "$pid"
	sed -i "/^process $pid/d" "$FAKE_NVML"
	for _ in $(seq 600); do tmux -L "$screen" capture-pane -p >shown; grep -qE "^ *$pid " shown || break; sleep 0.1; done
	wait_for '^4194504 '
	[ "$(grep -cE "^ *$pid " shown)" -eq 0 ]
	tmux -L "$screen" send-keys q
	wait_for_file ended
	grep -qx 'ended 0' ended
	[ ! -s err ]
}

@test "the terminal is put back when top is told to end" {
	terminal "trap : INT
		echo before
		$B/bin/gpumemsnap top
		stty -a | tr ' ' '\\n' >modes
		echo after"
	wait_for 'gpumemsnap top [0-9:]+ '
	[ "$(grep -c before shown)" -eq 0 ] # another screen
	tmux -L "$screen" send-keys C-c
	wait_for '^after'
	grep -qx before shown
	[ "$(grep -c 'gpumemsnap top' shown)" -eq 0 ]
	grep -qx icanon modes
	grep -qx echo modes
	grep -qx isig modes
}

@test "what is no process id is refused" {
	run gpumemsnap top --once train.py
	[ "$status" -eq 2 ]
	[[ $output == *"'train.py' is not a process id"* ]]
}

@test "a screen needs a terminal" {
	run gpumemsnap top </dev/null
	[ "$status" -eq 2 ]
	[[ $output == *"top needs a terminal; 'gpumemsnap top --once' prints one look"* ]]
}
