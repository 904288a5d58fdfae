# record: programs that do what few do. Each behaves as without us, and what it allocated is in its snapshot.

load record_helpers

setup() { recorder_setup; }

# same WAY: recorded and not, the program says and returns the same; all that it counts is recorded.
same() {
	local plain
	plain=$(LD_LIBRARY_PATH=$B/lib/gpumemsnap/sim "$F/odd" "$1") || plain="$plain $?"
	rm -f s*.json*
	rec "$F/odd" "$1"
	[ "$output$([ "$status" -eq 0 ] || echo " $status")" = "$plain" ]
	[ "${2-all}" != all ] || [ "$(all_events) $(complete)" = "$((output * 3 / 2)) true" ]
}
# Allocations and frees of all snapshots.
all_events() {
	local f n=0
	for f in s*.json; do n=$((n + $(events device.alloc "$f") + $(events device.free "$f"))); done
	echo $n
}
# stops WAY WHY: recording stops, is told so, and the program does not notice.
stops() {
	rec "$F/odd" "$1"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" -ge 5000 ]
	[ "$(complete) $(jq -r .meta.why_incomplete s.json)" = "false recording stopped: $2" ]
	[ "$(events device.alloc)" -ge 1000 ]
}
# broken WHAT: the file grows by single chunks, of which one fails (tests/fault/libbroken.c), in a program that
# counts the calls that returned.
broken() {
	rm -f count s*.json*
	GPUMEMSNAP_OPTIONS=grow=65536 rec env BROKEN="$1" LD_PRELOAD="$F/libbroken.so" "$F/killed" count 1 ${2+"$2"}
}
# signal_once_ready SIGNAL PID: when the program has said something, to `out`; then until it has ended.
signal_once_ready() {
	for _ in {1..1200}; do [ -s out ] && break; sleep 0.05; done
	kill -"$1" "$2"
	wait "$2" || true
}
calls() { od -An -v -t u8 -w64 count | awk '{n += $1} END {print n}'; }

@test "coroutines have whole stacks" {
	same coroutines
	[ "$(jq -c .notes s.json)" = '[]' ]
	jq -e '. as $d | [$d.stacks[] | [.[] | $d.strings[$d.frames[.][0]]] | select(index("coroutine"))] |
		length == 2 and all(index("coroutine") == length - 2)' s.json
}

@test "handlers on a stack of their own allocate, and jump out" { same altstack; }

@test "a program that closes all at once, cannot be looked at, or blocks all signals in all threads" {
	same close_all
	same undumpable
	same all_blocked
}

@test "a program that closes the driver and opens it again" { same close_driver; }

@test "a program that has no descriptors is no more recorded once the file is full, and does not notice" {
	stops descriptors 'cannot grow the spool: Too many open files'
	rm s.json
	stops few_descriptors 'cannot grow the spool: Too many open files'
}

@test "a program that has no address space left" {
	mkdir fake
	cp "$F/libfake.so" fake/libcuda.so.1 # which needs none
	LD_LIBRARY_PATH=$PWD/fake run gpumemsnap record -q -o s.json "$F/odd" address_space
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" -eq 5000 ]
	[ "$(jq -r .meta.why_incomplete s.json)" = 'recording stopped: cannot grow the spool: Cannot allocate memory' ]
}

@test "a sandbox that kills who opens files is not noticed, and with room in advance all is recorded" {
	LD_LIBRARY_PATH=$B/lib/gpumemsnap/sim "$F/odd" sandboxed || skip 'no filters of system calls here'
	stops sandboxed 'the spool is full, and the program has forbidden itself system calls (seccomp)'
	GPUMEMSNAP_OPTIONS=grow=4000000 same sandboxed
}

@test "a thread allocates while another starts programs by vfork" {
	rec "$F/odd" vforks
	[ "$status $(all_events) $(complete)" = "0 $((output * 3 / 2)) true" ]
}

@test "a program that becomes itself again eight times has a snapshot of each time" {
	same execs 'each has 10'
	[ "$(find . -name 's*.json' | wc -l) $(all_events)" = "9 135" ]
}

@test "main returns while threads allocate, quick_exit's and exit's handlers allocate, one aborts" {
	same main_gone some
	[ "$(complete) $(($(events device.alloc) >= 1000))" = "true 1" ]
	same quick 'not told'
	[ "$(all_events) $(complete)" = "30 true" ]
	same abort_late 'not told'
	[ "$(all_events) $(complete)" = "30 false" ]
}

@test "handlers of the program's own are the only ones" {
	same own_handlers 'not told'
	[ "$(all_events)" -eq 105 ]
}

@test "a request without a context was asked of no device, so it is no failure" {
	same no_context
	[ "$(events device.fail)" -eq 0 ]
}

@test "another name space of users" {
	unshare -r true 2>/dev/null || skip 'no user namespaces here'
	rec unshare -rm "$F/odd" close_all
	[ "$(all_events) $(complete)" = "7500 true" ]
	run unshare -r gpumemsnap record --sim -q -o s.json "$F/odd" close_all
	[ "$(all_events) $(complete)" = "7500 true" ]
}

@test "nohup and setsid" {
	rec nohup "$F/odd" close_all
	[ "$(all_events) $(complete)" = "7500 true" ]
	rec setsid "$F/odd" close_all
	[ "$(all_events) $(complete)" = "7500 true" ]
}

@test "a timeout around record, or in it, ends the program by its signal, or lets it end in order" {
	local sig way
	for sig in HUP TERM; do
		for way in wait_here:false:30 wait_and_end:true:60; do
			: >out
			timeout 600 gpumemsnap record --sim -q -o s.json "$F/odd" ${way%%:*} >out 3>&- &
			signal_once_ready $sig $!
			[ "$(complete):$(all_events)" = "${way#*:}" ]
			: >out
			gpumemsnap record --sim -q -o s.json timeout 600 "$F/odd" ${way%%:*} >out 3>&- &
			signal_once_ready $sig $!
			[ "$(complete):$(all_events)" = "${way#*:}" ]
		done
	done
}

@test "a signal that comes while the snapshot is written does not cost it" {
	local recorder
	mkfifo pipe
	exec 9<>pipe
	gpumemsnap record --sim -q -o - "$F/odd" close_all >pipe 2>err 3>&- 9>&- &
	recorder=$!
	read -r -N 100 first <&9 # 5000\n and the snapshot's begin: more than a pipe holds is to come
	kill -TERM $recorder
	kill -HUP $recorder
	exec 8<pipe 9>&-
	{ printf '%s' "$first"; cat <&8; } >out
	exec 8<&-
	wait $recorder
	tail -n +2 out | jq -e '.meta.complete and (.events | length) >= 7500'
}

@test "a terminal's keys reach the program once, and a program that Ctrl-C ends takes a shell's loop with it" {
	cat >keys.py <<-'PY'
		import os, pty, sys
		pid, fd = pty.fork()
		if not pid:
		    os.execvp(sys.argv[2], sys.argv[2:])
		out, sent = b"", False
		while True:
		    try:
		        out += os.read(fd, 4096)
		    except OSError:
		        break
		    if b"20" in out and not sent:
		        sent = os.write(fd, {"int": b"\x03", "quit": b"\x1c"}[sys.argv[1]])
		status = os.waitpid(pid, 0)[1]
		sys.stdout.write(out.decode())
		sys.exit(os.waitstatus_to_exitcode(status) % 256)
	PY
	run python3 keys.py int gpumemsnap record --sim -q -o s.json "$F/odd" wait_here
	[ "$status" -eq 254 ] # by SIGINT itself
	[ "$(jq -r .meta.why_incomplete s.json)" = 'killed by signal 2 (Interrupt)' ]
	run python3 keys.py int gpumemsnap record --sim -q -o s.json "$F/odd" wait_and_end
	[ "$status $(all_events) $(complete)" = "9 60 true" ]
	run python3 keys.py quit gpumemsnap record --sim -q -o s.json "$F/odd" wait_and_end
	[ "$status" -eq 131 ]
	[ "$(jq -r .meta.why_incomplete s.json)" = 'killed by signal 3 (Quit)' ]
	run python3 keys.py int bash -c "for i in 1 2; do gpumemsnap record --sim -q -o s.json $F/odd wait_here; done; echo on"
	[[ $output != *on* ]]
}

@test "stopped and continued" {
	gpumemsnap record --sim -q -o s.json "$F/odd" wait_and_end >out 3>&- &
	for _ in {1..600}; do [ -s out ] && break; sleep 0.05; done
	kill -STOP "$(pgrep -P $!)"
	kill -CONT "$(pgrep -P $!)" # which it handles, and then ends
	rc=0
	wait $! || rc=$?
	[ $rc -eq 9 ]
	[ "$(all_events) $(complete)" = "60 true" ]
}

@test "SIGKILL at each step of the file's growth: every call that had returned is there, and no other" {
	local what
	for what in before:1 before:4 after:3 mapped:2 mapped:5 touched:2 touched:5 touched:6; do
		broken $what
		[ "$status" -eq 137 ]
		[ ! -e count ] || [ "$(all_events)" -eq "$(calls)" ]
	done
}

@test "a disk that fails as the file grows is no signal for the program: recording stops, and that is told" {
	local what
	for what in disk:1 disk:4 page:1 page:5 page:8; do
		broken $what 5000
		[ "$status" -eq 0 ]
		[ "$(calls)" -eq 5000 ]
		[[ $output == *"recording stopped in process"*": Input/output error"* ]]
		case $what in *:1) continue ;; esac # there was no file to say it in
		[[ "$(jq -r .meta.why_incomplete s.json)" == "recording stopped: cannot "*" the spool: Input/output error" ]]
	done
}
