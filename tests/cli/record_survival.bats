# record: whatever the program does, it behaves as without the recorder, and nothing before the end is lost.

load record_helpers

setup() { recorder_setup; }

# functions OP [FILE]: the innermost named function of each such event's stack, with their number.
functions() {
	jq -r --arg op "$1" '. as $d | .events[] | select($d.ops[.[1]] == $op) | $d.stacks[.[6]] as $s
		| [$s[] | $d.strings[$d.frames[.][0]]] | join(" ")' "${2:-s.json}"
}

@test "a program that returns from main is complete" {
	rec "$F/ends" return
	[ "$status" -eq 0 ]
	[ "$(events device.alloc) $(events device.free) $(complete)" = "20 10 true" ]
}

@test "exit, _exit, _Exit, quick_exit and exit in a thread keep their status and every event" {
	local how
	for how in exit:2 _exit:3 _Exit:3 quick_exit:4 thread:5 main_gone:5 waiting_threads:8; do
		rec "$F/ends" "${how%:*}"
		[ "$status" -eq "${how#*:}" ]
		[ "$(events device.alloc) $(events device.free)" = "20 10" ]
	done
}

@test "abort, a segmentation fault and SIGKILL keep every event and are told" {
	local how
	for how in abort:134 segv:139 kill:137; do
		rec "$F/ends" "${how%:*}"
		[ "$status" -eq "${how#*:}" ]
		[ "$(events device.alloc) $(events device.free) $(complete)" = "20 10 false" ]
		[ -n "$(jq -r .meta.why_incomplete s.json)" ]
	done
}

@test "what the program prints and returns is the same with and without us" {
	run env LD_LIBRARY_PATH="$B/lib/gpumemsnap/sim" "$F/ends" exit
	local without="$status $output"
	rec "$F/ends" exit
	[ "$status $output" = "$without" ]
}

@test "a program that closes all descriptors is recorded to the end, and finds none of ours" {
	rec "$F/ends" closefds
	[ "$status" -eq 7 ]
	[ "$(events device.alloc)" -eq 5020 ]
}

@test "a program that changes its directory and environment is recorded" {
	rec "$F/ends" chdir
	[ "$status" -eq 0 ]
	[ "$(events device.alloc)" -eq 20 ]
}

@test "exec ends a recording in order, and an exec that fails does not" {
	rec "$F/ends" exec
	[ "$status" -eq 6 ]
	[ "$(events device.alloc "$(ls -S s*.json | head -1)")" -eq 20 ]
	rm -f s*
	rec "$F/ends" exec_fails
	[ "$(events device.alloc) $(complete)" = "40 true" ]
}

@test "every route to the driver gives the same recording" {
	local how
	for how in dlsym global "default global" deepbind v1 v2 itself_v2 "v2 11000" "v2 11020" "v2 12000" "v2 12080" "v2 13000" \
		"v2_deepbind 12000" "v1 11030" "v1 11080"; do
		case $how in "v2 11000") continue ;; esac # cuMemAllocAsync is newer than that
		# shellcheck disable=SC2086
		rec "$F/routes" $how
		[ "$status" -eq 0 ]
		[ "$(events device.alloc) $(events device.free) $(events async.alloc) $(events async.free)" = "6 3 2 1" ]
	done
}

@test "a library opened with RTLD_DEEPBIND that is itself linked with the driver is recorded" {
	local how
	for how in now lazy registered; do
		rec "$F/deepbind" "$F/liblinked_${how/registered/now}.so" ${how#now}
		[ "$status" -eq 0 ]
		[ "$(jq -c '.ops as $o | [.events[] | select($o[.[1]] == "device.alloc") | .[4]]' s.json)" = "[1000,2000,3000]" ]
		[ "$(events device.free)" -eq 1 ]
	done
}

@test "dlopen looks where its caller's own search path says" {
	rec "$F/deepbind" liblinked_now.so # beside the program, by its RUNPATH
	[ "$status" -eq 0 ]
	[ "$(events device.alloc)" -eq 3 ]
}

@test "the per-thread default stream is its own stream" {
	rec "$F/routes" v2_ptsz 12000
	[ "$status" -eq 0 ]
	[ "$(events async.alloc)" -eq 2 ]
	[ "$(jq '[.streams[][0]] | index(2) != null' s.json)" = true ]
}

@test "a program linked with the driver is recorded" {
	rec "$F/linked_plain"
	[ "$status" -eq 0 ]
	[ "$(events device.alloc)" -eq 5 ]
}

@test "where there is no driver, none is found, and unknown functions stay unknown" {
	rec "$F/routes" absent
	[ "$status" -eq 0 ]
	rec "$F/routes" unknown
	[ "$status" -eq 0 ]
	rec "$F/routes" dlvsym
	[ "$status" -eq 0 ]
}

@test "another preloaded library still finds what is next after itself" {
	local by
	[[ ${MAKEFLAGS-} != *SAN=* ]] || skip 'a sanitizer wants to be the first library of gpumemsnap itself'
	for by in '' 1; do
		LD_PRELOAD=$F/libnext.so NEXT_BY_HANDLE=$by rec "$F/linked_plain"
		[ "$status" -eq 0 ]
		[[ $output == *"next saw 5, malloc seen"* ]]
		[ "$(events device.alloc)" -eq 5 ]
	done
}

@test "a program that sets an LD_PRELOAD of its own for its children, or takes it away, has them recorded" {
	cat >spawn.py <<-'PY'
		import os, subprocess, sys
		subprocess.run([sys.argv[1]], env=dict(os.environ, LD_PRELOAD=sys.argv[2]), check=True)
		subprocess.run([sys.argv[1]], env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}, check=True)
		os.posix_spawn(sys.argv[1], [sys.argv[1]], dict(os.environ, LD_PRELOAD=sys.argv[2]))
		os.wait()
	PY
	rec python3 spawn.py "$F/linked_plain" "$F/libnext.so"
	[ "$status" -eq 0 ]
	[ "$(grep -c 'next saw 5, malloc seen' <<<"$output")" -eq 2 ]
	[ "$(find . -name 's*.json' | wc -l)" -eq 3 ]
	for f in s*.json; do [ "$(events device.alloc "$f")" -eq 5 ]; done
}

@test "a program started with an empty environment is recorded, and so is what system and popen start" {
	cat >spawn.py <<-'PY'
		import ctypes, os, subprocess, sys
		app, other, path = sys.argv[1], sys.argv[2], os.environ["LD_LIBRARY_PATH"]
		libc = ctypes.CDLL(None)
		libc.popen.restype = ctypes.c_void_p
		subprocess.run([app], env={"LD_LIBRARY_PATH": path}, check=True)
		os.environ["LD_PRELOAD"] = other
		assert os.system(f"{app}; [ \"${{LD_PRELOAD#*:}}\" = '{other}' ]; exit $((3 + $?))") == 3 << 8
		del os.environ["LD_PRELOAD"]
		assert libc.pclose(ctypes.c_void_p(libc.popen(app.encode(), b"r"))) == 0
		os.environ.clear()
		os.environ["LD_LIBRARY_PATH"] = path
		assert os.system(app) == 0
	PY
	rec python3 spawn.py "$F/linked_plain" "$F/libnext.so"
	[ "$status" -eq 0 ]
	[ "$(grep -c 'next saw 5' <<<"$output")" -eq 1 ]
	[ "$(find . -name 's*.json' | wc -l)" -eq 4 ]
	for f in s*.json; do [ "$(events device.alloc "$f")" -eq 5 ]; done
	rm s*.json
	rec env -i "$F/linked_plain" # which finds the simulated driver, too
	[ "$(events device.alloc)" -eq 5 ]
}

@test "forced unwinding passes through the recorder, and an old driver's lacks are its own" {
	rec_fake "$F/unwound"
	[ "$status" -eq 0 ]
	[ "$(events device.alloc)" -eq 4 ]
}

@test "signal handlers that allocate at any instruction lose nothing" {
	local calls
	rec_fake "$F/signals" 400
	[ "$status" -eq 0 ]
	calls=$output
	[ "$calls" -gt 1000 ]
	[ $(($(events device.alloc) + $(events device.free) + $(jq .meta.dropped_events s.json))) -eq $((calls + 1)) ]
	[ "$(jq .meta.dropped_events s.json)" -eq 0 ]
}

@test "signal handlers that jump out of the recorder do not stop it" {
	rec_fake "$F/signals" 400 jump
	[ "$status" -eq 0 ]
	[ "$(jq '[.events[] | select(.[4] == 999999)] | length' s.json)" -eq 1 ]
}

@test "64 threads at once, and a thousand that live shortly" {
	rec "$F/storm" 64 200
	[ "$status" -eq 0 ]
	[ "$(events device.alloc) $(events device.free)" = "12864 12800" ]
	[ "$(jq '.threads | length' s.json)" -ge 64 ]
	rec "$F/storm" 1000 2 short
	[ "$status" -eq 0 ]
	[ "$(events device.alloc) $(events device.free)" = "3000 2000" ]
}

@test "threads have their names, also those that got them late" {
	rec "$F/storm" 3 2
	[ "$(jq '. as $d | [.threads[] | select($d.strings[.[1]] == "stormy")] | length' s.json)" -eq 3 ]
	gpumemsnap report --by thread s.json | grep -q 'stormy'
}

@test "C++ exceptions are thrown and caught in a program that loads its C++ late" {
	cat >late.cc <<-'CC'
		#include <stdexcept>
		extern "C" int late(int (*call)()) {
		    try {
		        call();
		        throw std::runtime_error("thrown");
		    } catch (const std::exception &e) {
		        return e.what()[0] == 't' ? 0 : 1;
		    }
		}
	CC
	g++ -shared -fPIC -o liblate.so late.cc 2>err || skip "no C++ compiler"
	rec "$F/late" "$PWD/liblate.so"
	[ "$status" -eq 0 ]
	[ "$(events device.alloc)" -eq 20 ]
}

@test "times never run backwards, and every thread's events are in its order" {
	rec "$F/storm" 8 500
	[ "$(jq '[.events[][0]] | . == sort' s.json)" = true ]
	[ "$(jq '.ops as $o | [.events[] | select($o[.[1]] | startswith("device."))] | group_by(.[7])
		| map(.[:-1] | [range(0; length; 2) as $i | .[$i][3] == .[$i + 1][3]] | all) | all' s.json)" = true ]
}

@test "frames of unloaded libraries keep their names, also where another came to lie" {
	rec "$F/plugins" "$F"
	[ "$status" -eq 0 ]
	[ "$(functions device.alloc | grep -c '^plugin_helper_a plugin_run run main')" -eq 3 ]
	[ "$(functions device.alloc | grep -c '^plugin_helper_b plugin_run run main')" -eq 3 ]
}

@test "the fast walk of the stack is libc's, through all kinds of frames" {
	run "$F/walk"
	[ "$status" -eq 0 ]
	[[ $output == *" 0 differ, 0 of "* ]]
}

@test "a stack that ends in code without unwind information is recorded, and it is said" {
	rec "$F/jitted"
	[ "$status" -ne 77 ] || skip 'code cannot be made here'
	[ "$status" -eq 0 ]
	[[ "$(functions device.alloc)" == "gpu_get leaf 0x"* ]]
	gpumemsnap report s.json | grep -q '1 call stack ends in code without unwind information'
}
