#!/usr/bin/env bats
# record.bats: a program is recorded as a user records it, on the simulated driver.

bats_require_minimum_version 1.5.0

setup() {
	[ -x "$B/lib/gpumemsnap/libgpumemsnap.so" ] || [ -e "$B/lib/gpumemsnap/libgpumemsnap.so" ] ||
		skip 'the recorder was not built (no CUDA headers)'
	actor=$B/tests/fault/actor
	cd "$BATS_TEST_TMPDIR" || return 1
}
record() { gpumemsnap record --sim "$@"; }
events() { # FILE OP: how many events of that kind.action
	jq --arg op "$2" '(.ops | index($op)) as $o | [.events[] | select(.[1] == $o)] | length' "$1"
}
meta() { jq -r ".meta.$2" "$1"; }
until_true() { # COMMAND: for at most a minute, on a machine that may be busy
	for _ in {1..600}; do
		"$@" && return
		sleep 0.1
	done
	return 1
}
has_spool() { [ -n "$(find . -name '*.0.spool' -size +8k)" ]; }
no_leftovers() { [ -z "$(find . -name '*.spool')" ]; }

@test "a program's allocations become a snapshot, and the program does not notice" {
	run record "$actor" alloc:1000 alloc:2000 free print:hello exit:7
	[ "$status" -eq 7 ]
	[ "${lines[0]}" = hello ]
	[[ "$output" == *"wrote snapshot.json: "*"peak 2.93 KiB"*"1000 B in 1 allocation still live at the end"* ]]
	[[ "$output" == *"next: gpumemsnap report"* ]]
	[ "$(events snapshot.json device.alloc)" = 2 ]
	[ "$(events snapshot.json device.free)" = 1 ]
	[ "$(meta snapshot.json complete)" = true ]
	no_leftovers
}

@test "stacks name the program's functions, files and lines" {
	record "$actor" alloc:1000 2>/dev/null
	jq -r '.strings as $s | .frames as $f | (.ops | index("device.alloc")) as $o | .stacks as $k |
		.events[] | select(.[1] == $o) | $k[.[6]][] | $f[.] | "\($s[.[0]]) \($s[.[1]]) \(.[2])"' snapshot.json >stack
	grep -qE '^allocate .*/tests/fault/actor.c [0-9]+$' stack
	grep -qE '^main .*/tests/fault/actor.c [0-9]+$' stack
	line=$(grep -n 'check(alloc(&live' "$BATS_TEST_DIRNAME/../fault/actor.c" | cut -d: -f1)
	grep -q "^allocate .* $line$" stack
}

@test "an existing snapshot is kept, -o names another, .gz compresses it" {
	echo old >snapshot.json
	record -q "$actor" alloc:1
	[ "$(cat snapshot.json.old)" = old ]
	record -q -o other.json.gz "$actor" alloc:1
	[ "$(gzip -dc other.json.gz | jq -r .format)" = gpumemsnap ]
}

@test "names may hold the process id, the host, the rank and variables" {
	WHO=me RANK=3 record -q -o 'a-%q{WHO}-%r-%h-%p-%%.json' "$actor" alloc:1
	f=$(ls a-me-3-"$(uname -n)"-*-%.json)
	[ "$f" = "a-me-3-$(uname -n)-$(meta "$f" pid)-%.json" ]
	run record -o 'a-%z.json' "$actor" alloc:1
	[ "$status" -eq 2 ]
	[[ "$output" == *"'%z' means nothing"* ]]
	run record -o 'a-%q{NOT_SET}.json' "$actor" alloc:1
	[ "$status" -eq 2 ]
}

@test "a rank started by itself gets its rank into the name" {
	for r in 0 1; do OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 record -q "$actor" alloc:1 3>&- & done
	wait
	[ "$(meta snapshot.0.json rank)" = 0 ]
	[ "$(meta snapshot.1.json rank)" = 1 ]
	[ ! -e snapshot.json ]
}

@test "the exit status is the program's, for every kind of end" {
	run record -q "$actor" alloc:1 exit:42
	[ "$status" -eq 42 ]
	run record -q "$actor" alloc:1 _exit:5
	[ "$status" -eq 5 ]
	[ "$(meta snapshot.json complete)" = true ]
	run record -q "$actor" alloc:1 abort
	[ "$status" -eq 134 ]
	run record -q "$actor" alloc:1 segv
	[ "$status" -eq 139 ]
	[ "$(meta snapshot.json why_incomplete)" = "killed by signal 11 (Segmentation fault)" ]
	run record -q "$actor" alloc:1 kill:9
	[ "$status" -eq 137 ]
	[ "$(meta snapshot.json complete)" = false ]
	no_leftovers
}

@test "SIGKILL at a random moment loses no event" {
	for i in 1 2 3 4 5 6; do
		rm -f count
		gpumemsnap record --sim -q "$actor" count:count 3>&- &
		until_true test -s count
		sleep "0.0$((RANDOM % 90 + 10))"
		pkill -9 -P $!
		rc=0
		wait $! || rc=$?
		[ $rc -eq 137 ]
		jq -e .format snapshot.json >/dev/null
		called=$(od -An -tu8 -N8 count | tr -d ' ')
		recorded=$(($(events snapshot.json device.alloc) + $(events snapshot.json device.free)))
		echo "called $called recorded $recorded"
		[ "$called" -gt 0 ]
		[ "$recorded" -ge "$called" ]
		[ "$recorded" -le $((called + 1)) ]
	done
}

@test "every process that uses the GPU has a file of its own" {
	record -q "$actor" both alloc:2
	set -- snapshot*.json
	[ $# -eq 2 ]
	[ -e snapshot.json ]
	record -q -o one.json sh -c "'$actor' alloc:1; true"
	[ "$(events one.json device.alloc)" = 1 ]
	record -q -o two.json sh -c "'$actor' alloc:1; '$actor' alloc:1"
	set -- two*.json
	[ $# -eq 2 ]
	[ ! -e two.json ]
}

@test "--no-children records the program alone" {
	record -q --no-children -o a.json "$actor" both alloc:2
	set -- a*.json
	[ $# -eq 1 ]
}

@test "exec keeps recording" {
	record -q "$actor" exec alloc:1000 free
	[ "$(events snapshot.json device.alloc)" = 1 ]
	record -q -o both.json "$actor" alloc:1 exec alloc:2
	set -- both*.json
	[ $# -eq 2 ]
}

@test "a program left in the background is waited for" {
	run record "$actor" background alloc:100 sleep:300 alloc:5000
	[ "$status" -eq 0 ]
	[ "$(jq '[.events[][4]] | max' snapshot.json)" -ge 5000 ]
}

@test "two recordings at once never write one file" {
	gpumemsnap record --sim -q "$actor" alloc:1 sleep:60000 3>&- &
	until_true has_spool
	run record "$actor" alloc:1
	[[ "$output" == *"another recording is writing snapshot.json"* ]]
	kill -TERM $!
	wait $! || true
	set -- snapshot*.json
	[ $# -eq 2 ]
	[ ! -e snapshot.json.old ]
}

@test "Ctrl-C reaches the program and the snapshot is written" {
	cat >run.py <<-'PY'
		import os, pty, signal, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execvp("gpumemsnap", ["gpumemsnap", "record", "--sim", "-q", sys.argv[1], "alloc:1", "print:ready", "sleep:20000"])
		while b"ready" not in os.read(fd, 1000):
		    pass
		os.write(fd, b"\x03")
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PY
	run python3 run.py "$actor"
	[ "$status" -eq 254 ] # by SIGINT itself, as without record
	[ "$(meta snapshot.json why_incomplete)" = "killed by signal 2 (Interrupt)" ]
}

@test "a signal sent to record goes on to the program" {
	gpumemsnap record --sim -q "$actor" alloc:1 sleep:20000 3>&- &
	until_true has_spool
	kill -TERM $!
	wait $! || true
	[ "$(meta snapshot.json why_incomplete)" = "killed by signal 15 (Terminated)" ]
}

@test "programs that cannot be run are told apart, and nothing is left behind" {
	run -127 record ./missing
	[[ "$output" == "gpumemsnap: ./missing: No such file or directory" ]]
	run -127 record no-such-program
	echo hello >text
	run -126 record ./text
	[[ "$output" == "gpumemsnap: ./text: Permission denied" ]] || [ "$(id -u)" -eq 0 ]
	run -126 record /tmp
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	run -126 record ./script
	no_leftovers
	run record
	[ "$status" -eq 2 ]
}

@test "a statically linked program runs, and record says why there is nothing" {
	printf 'int main(void) { return 3; }\n' >s.c
	cc -static -o s s.c || skip 'no static libc'
	run record ./s
	[ "$status" -eq 3 ]
	[[ "$output" == *"nothing was recorded: ./s is statically linked"* ]]
	[ ! -e snapshot.json ]
	no_leftovers
}

@test "a program that runs with other privileges runs, and record says why there is nothing" {
	[ "$(id -u)" -eq 0 ] || skip 'only root can make one'
	local d
	d=$(mktemp -d) && chmod 777 "$d"
	cp -rL "$B/bin" "$B/lib" "$d"
	cp "$(type -P true)" "$d/privileged"
	chmod 4755 "$d/privileged"
	cd "$d"
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./bin/gpumemsnap record --sim ./privileged
	cd "$BATS_TEST_TMPDIR"
	rm -r "$d"
	[[ "$output" == *setpriv:* ]] && skip 'no setpriv'
	[[ "$output" == *"made no CUDA call"* ]] && skip 'setuid means nothing on this file system'
	[ "$status" -eq 0 ]
	[[ "$output" == *"nothing was recorded: ./privileged runs with other privileges than yours"*"ignores preloading"* ]]
}

@test "a program without CUDA gets an empty snapshot and a word" {
	run record true
	[ "$status" -eq 0 ]
	[[ "$output" == *"true made no CUDA call"* ]]
	[ "$(jq '.events | length' snapshot.json)" = 0 ]
}

@test "without a driver record says so and suggests --sim" {
	ldconfig -p | grep -q 'libcuda\.so\.1' && skip 'there is a driver here'
	run gpumemsnap record "$actor" alloc:1
	[ "$status" -eq 69 ]
	[[ "$output" == *"no CUDA driver here"*"--sim"* ]]
	status=0
	output=$(gpumemsnap record "$B/samples/leak" 2>&1) || status=$? # linked with the driver: it does not even start
	[ "$status" -eq 127 ]
	[[ "$output" == *"no CUDA driver here"*"--sim"* ]]
}

@test "an output that cannot be written is told before the program starts" {
	run record -o /no/such/folder/s.json "$actor" print:started
	[ "$status" -eq 4 ]
	[[ "$output" != *started* ]]
	mkdir d
	run record -o d "$actor" print:started
	[ "$status" -eq 4 ]
	[[ "$output" == *"is a directory"* ]]
	[[ "$output" != *started* ]]
}

@test "the private directory can be read by its owner only" {
	gpumemsnap record --sim -q "$actor" alloc:1 sleep:60000 3>&- &
	until_true has_spool
	[ "$(stat -c %a .snapshot.json.spool)" = 700 ]
	kill -TERM $!
	wait $! || true
	no_leftovers
}

@test "-o - writes the snapshot behind the program's own output" {
	record -q -o - "$actor" alloc:1 >out
	[ "$(jq -r .format out)" = gpumemsnap ]
}

@test "an interrupted recording can still be turned into a snapshot" {
	gpumemsnap record --sim -q "$actor" alloc:1 alloc:2 print:ready sleep:60000 >ready 3>&- &
	until_true grep -q ready ready
	app=$(pgrep -P $!)
	kill -9 $!
	kill -9 "$app"
	wait $! || true
	gpumemsnap convert .snapshot.json.spool/"$app".0.spool -o saved.json
	[ "$(events saved.json device.alloc)" = 2 ]
	run record "$actor" alloc:1
	[[ "$output" == *".snapshot.json.spool is of a recording that was killed"* ]]
	[ "$(events snapshot.json device.alloc)" = 1 ]
}

@test "a full disk ends the recording, not the program" {
	unshare -rm true 2>/dev/null || skip 'no user namespaces here'
	cat >full.sh <<-SH
		mkdir small && mount -t tmpfs -o size=3m none small || exit 77
		cd small
		gpumemsnap record --sim -o s.json '$actor' count:count &
		sleep 2
		pkill -9 -P \$! actor
		wait \$!
		echo "status \$?"
		ls -la
	SH
	run unshare -rm sh full.sh
	[ "$status" -eq 77 ] && skip 'no tmpfs here'
	[[ "$output" == *"status 4"* ]] || [[ "$output" == *"status 137"* ]]
	[[ "$output" == *"No space left on device"* ]] || [[ "$output" == *"incomplete"* ]]
}

@test "wrong options are named" {
	run record --depth 5000 true
	[ "$status" -eq 2 ]
	run record --signal NOPE true
	[ "$status" -eq 2 ]
	[[ "$output" == *"'NOPE' is no signal"* ]]
	run record --include-children --no-children true
	[ "$status" -eq 2 ]
	run record --stacks some true
	[ "$status" -eq 2 ]
}

@test "options reach the recorder" {
	record -q --no-stacks -o n.json "$actor" alloc:1
	[ "$(jq '.stacks | length' n.json)" = 1 ]
	record -q --depth 1 -o d.json "$actor" alloc:1
	[ "$(jq '[.stacks[] | length] | max' d.json)" = 1 ]
	record -q --filter-size 4KiB -o f.json "$actor" alloc:100 alloc:8192
	[ "$(events f.json device.alloc)" = 1 ]
}
