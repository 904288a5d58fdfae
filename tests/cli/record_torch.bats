#!/usr/bin/env bats
# record_torch.bats: `record --torch` from end to end: a stand-in for PyTorch (tests/fake/python) on the
# simulated driver. Its allocator takes segments with cuMemAlloc, as the real one does.

setup() {
	[ -e "$B/lib/gpumemsnap/python/sitecustomize.py" ] || skip 'record was not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR" || return 1
	export PYTHONPATH=$BATS_TEST_DIRNAME/../fake/python PYTHONDONTWRITEBYTECODE=1
	cat >train.py <<-'PY'
		import ctypes, torch

		def weights():
		    return [torch.empty(1000 * i) for i in range(1, 50)]

		def library():
		    address = ctypes.c_uint64()
		    torch.cuda._allocator.driver.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(33 << 20))

		keep = weights()
		x = torch.empty(5 << 20)
		del x
		torch.cuda.empty_cache()
		y = torch.empty(5 << 20)
		library()
	PY
}
record() { gpumemsnap record -q --sim --torch "$@"; }
report() { gpumemsnap report --format json "$@"; }
# Rows of the snapshot whose op is $1: [t, addr, size] a line.
rows() {
	jq -c --arg op "$1" '(.ops | index($op)) as $i | .events[] | select(.[1] == $i) | [.[0], .[3], .[4]]' "${2:-snapshot.json}"
}

@test "both levels come in one snapshot, exact to the byte" {
	record python3 train.py
	[ "$(rows block.alloc | wc -l)" -eq 51 ]
	[ "$(rows block.free | wc -l)" -eq 1 ]
	[ "$(rows device.alloc | wc -l)" -eq 4 ]
	report snapshot.json >r.json
	jq -e '.snapshots[0].devices[0] | .level == "framework" and .requested.peak == 6467880 and .requested.end == 6467880
		and .reserved.end == 23068672 and .kinds.device.end_bytes == 57671680' r.json
	jq -e '.meta.version == "PyTorch 2.11.0" and .meta.complete and .meta.history == "complete"' snapshot.json
}

@test "every segment stands right after the allocation it was made of" {
	record python3 train.py
	rows segment.alloc >segments
	rows device.alloc >allocations
	[ "$(wc -l <segments)" -eq 3 ]
	paste segments <(head -3 allocations) | while read -r s d; do
		jq -en --argjson s "$s" --argjson d "$d" '$s[1:] == $d[1:] and $s[0] >= $d[0] and $s[0] - $d[0] < 5000000' || exit 1
	done
	report snapshot.json | jq -e '.snapshots[0].notes[].text |
		test("^PyTorch.s history: 3 of its 3 segments found among the driver.s allocations, which align its clock to [0-9.]+ (us|ms)$")'
}

@test "a program that is given an environment of its own keeps its history" {
	record env -i PATH="$PATH" PYTHONPATH="$PYTHONPATH" python3 train.py
	[ "$(rows block.alloc | wc -l) $(rows device.alloc | wc -l)" = "51 4" ]
}

@test "Python's own lines are in the blocks' stacks" {
	record python3 train.py
	report snapshot.json | jq -e '.snapshots[0].devices[0].live_stacks | map(select(.bytes == 1225000 and .count == 49)) |
		.[0].stack | map(select(.function == "weights" and (.file | endswith("train.py")) and .line == 4)) | length >= 1'
}

@test "the program's results are the same with and without" {
	echo 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(7)' >exits.py
	run record python3 exits.py
	[ "$status" -eq 7 ]
	[ "$(record python3 exits.py 2>/dev/null)" = out ]
}

@test "without torch --torch changes nothing" {
	gpumemsnap record -q --sim -o plain.json "$B/samples/leak"
	record -o torch.json "$B/samples/leak"
	a=$(report plain.json | jq -c '.snapshots[0].devices[0].requested.peak')
	[ "$a" = "$(report torch.json | jq -c '.snapshots[0].devices[0].requested.peak')" ]
	[ "$(rows block.alloc torch.json | wc -l)" -eq 0 ]
}

@test "an out-of-memory error is in the snapshot on both levels" {
	cat >oom.py <<-'PY'
		import torch
		keep = torch.empty(100 << 20)
		try:
		    torch.empty(1 << 50)
		except torch.OutOfMemoryError as e:
		    print(e)
	PY
	record python3 oom.py | grep -q 'CUDA out of memory'
	report snapshot.json | jq -e '.snapshots[0].devices[0].ooms | map(.size) | index(1125899906842624) != null'
	[ "$(rows device.fail | wc -l)" -ge 1 ]
	[ "$(rows block.fail | wc -l)" -ge 1 ]
}

@test "a killed program keeps the driver's level, and it is said that PyTorch's is missing" {
	echo 'import os, signal, torch; x = torch.empty(5 << 20); os.kill(os.getpid(), signal.SIGKILL)' >killed.py
	run record python3 killed.py
	[ "$status" -eq 137 ]
	report snapshot.json | jq -e '.snapshots[0] | (.complete | not) and .devices[0].kinds.device.end_bytes == 20971520
		and (.notes | map(select(.text | test("ended before it could write it"))) | length == 1)'
}

@test "--torch-every saves the history of a program that is killed" {
	cat >killed.py <<-'PY'
		import os, signal, time, torch
		x = torch.empty(5 << 20)
		path, seen = "%s/%d.torch" % (os.environ["GPUMEMSNAP_SPOOL"], os.getpid()), set()
		while len(seen) < 3: # the first two may have been begun before x
		    seen |= {os.stat(path).st_mtime_ns} if os.path.exists(path) else set()
		    time.sleep(0.01)
		os.kill(os.getpid(), signal.SIGKILL)
	PY
	run record --torch-every 50ms timeout 600 python3 killed.py
	[ "$status" -eq 137 ]
	[ "$(rows block.alloc | wc -l)" -eq 1 ]
}

@test "os._exit leaves the history too, as servers' workers end" {
	echo 'import os, torch; x = torch.empty(5 << 20); os._exit(3)' >worker.py
	run record python3 worker.py
	[ "$status" -eq 3 ]
	[ "$(rows block.alloc | wc -l)" -eq 1 ]
}

@test "a signal to record is passed on after the history was saved" {
	cat >serve.py <<-'PY'
		import sys, time, torch
		keep = torch.empty(5 << 20)
		print("ready", flush=True)
		time.sleep(600)
	PY
	record python3 serve.py >ready 3>&- &
	for _ in $(seq 600); do grep -q ready ready && break; sleep 0.1; done
	kill -TERM $!
	rc=0
	wait $! || rc=$?
	[ $rc -eq 143 ]
	report snapshot.json | jq -e '.snapshots[0] | .devices[0].requested.end == 5242880 and .devices[0].level == "framework"
		and (.why_incomplete | test("signal 15"))'
}

@test "a worker that its parent terminates keeps both levels; forked workers without CUDA leave nothing" {
	cat >pool.py <<-'PY'
		import multiprocessing as mp, os, torch
		def serve(ready):
		    global keep
		    keep = torch.empty(3 << 20)
		    ready.set()
		    while True:
		        ready.wait()
		def load():
		    return 1
		if __name__ == "__main__":
		    spawn = mp.get_context("spawn")
		    ready = spawn.Event()
		    p = spawn.Process(target=serve, args=(ready,))
		    p.start()
		    assert ready.wait(100)
		    p.terminate()
		    p.join()
		    assert p.exitcode == -15
		    keep = torch.empty(4 << 20)
		    loader = mp.get_context("fork").Process(target=load)
		    loader.start()
		    loader.join()
	PY
	record -o w.json python3 pool.py
	[ "$(ls w*.json | wc -l)" -eq 2 ]
	report w*.json | jq -c '[.snapshots[] | [.devices[0].level, .devices[0].requested.end, .complete]] | sort' |
		grep -qx '\[\["framework",3145728,false\],\["framework",4194304,true\]\]'
}

@test "SIGTERM ends a program that keeps Python's lock, or is asked twice, and one with a handler of its own handles it" {
	cat >stuck.py <<-'PY'
		import ctypes, os, signal, sys, threading, time, torch
		keep = torch.empty(5 << 20)
		assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
		if sys.argv[1] == "own":
		    signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
		for _ in range(2 if sys.argv[1] == "twice" else 1):
		    ctypes.PyDLL(None).kill(os.getpid(), signal.SIGTERM)
		ctypes.PyDLL(None).sleep(600 if sys.argv[1] != "own" else 0)
	PY
	for how in stuck:143 twice:143 own:9; do
		run record python3 stuck.py ${how%:*}
		[ "$status" -eq "${how#*:}" ]
	done
	[ "$(rows block.alloc | wc -l)" -eq 1 ]
}

@test "after SIGTERM no wait returns, and exec and _exit come too late, while the history is saved" {
	cat >late.py <<-'PY'
		import ctypes, os, signal, sys, threading, time, torch
		how, take = sys.argv[1], torch.cuda.memory._snapshot
		begun = threading.Event()
		def slow():
		    begun.set()
		    time.sleep(1)
		    return take()
		torch.cuda.memory._snapshot = slow
		def later():
		    time.sleep(0.2)
		    os.kill(os.getpid(), signal.SIGTERM)
		keep, libc = torch.empty(5 << 20), ctypes.CDLL(None)
		threading.Thread(target=later, daemon=True).start()
		if how in ("pause", "sleep", "poll"):
		    {"pause": libc.pause, "sleep": lambda: libc.sleep(600), "poll": lambda: libc.poll(None, 0, 600000)}[how]()
		else:
		    begun.wait()
		    os.execv("/bin/true", ["true"]) if how == "exec" else ctypes.PyDLL(None)._exit(3)
		print("went on", flush=True)
		os._exit(3)
	PY
	for how in pause sleep poll exec _exit; do
		run record python3 late.py $how
		[ "$status" -eq 143 ]
		[ -z "$output" ]
		case $how in pause | sleep | poll) [ "$(rows block.alloc | wc -l)" -eq 1 ] ;; esac
	done
}

@test "SIGTERM kills a forked child of it at once, and not its parent" {
	cat >fork.py <<-'PY'
		import os, signal, time, torch
		keep = torch.empty(5 << 20)
		pid = os.fork()
		if not pid:
		    time.sleep(600)
		os.kill(pid, signal.SIGTERM)
		assert os.waitpid(pid, 0)[1] == signal.SIGTERM
		print("fine")
	PY
	record python3 fork.py | grep -qx fine
}

@test "--torch-entries bounds the history, and the report knows that it is partial" {
	echo 'import torch; keep = [torch.empty(1000) for i in range(90)]' >many.py
	record --torch-entries 20 python3 many.py
	report snapshot.json | jq -e '.snapshots[0] | .history == "partial" and .devices[0].requested.end == 90000'
}

@test "the cudaMallocAsync allocator has no history: said so, the driver's level is there" {
	FAKE_TORCH=async record python3 train.py
	report snapshot.json | jq -e '.snapshots[0] | .devices[0].level == "driver" and
		(.notes | map(select(.text | test("no history with its cudaMallocAsync allocator"))) | length == 1)'
}

@test "each process of multiprocessing has a snapshot of its own with both levels" {
	cat >workers.py <<-'PY'
		import multiprocessing as mp, torch
		def work(n):
		    global keep
		    keep = torch.empty(n << 20)
		if __name__ == "__main__":
		    ps = [mp.get_context("spawn").Process(target=work, args=(n,)) for n in (3, 4)]
		    [p.start() for p in ps]
		    [p.join() for p in ps]
	PY
	record -o w.json python3 workers.py
	[ "$(ls w.*.json | wc -l)" -eq 2 ]
	report w.*.json | jq -c '[.snapshots[].devices[0].requested.peak] | sort' | grep -qx '\[3145728,4194304\]'
}

@test "dump of a running program has PyTorch's history too" {
	cat >server.py <<-'PY'
		import sys, torch
		keep = torch.empty(7 << 20)
		print("ready", flush=True)
		sys.stdin.read()
	PY
	mkfifo hold
	gpumemsnap record -q --sim --torch -o server.json python3 server.py <hold >ready 3>&- &
	exec 9>hold
	for _ in $(seq 600); do grep -q ready ready && break; sleep 0.1; done
	gpumemsnap dump -q -o now.json "$(pgrep -P $! | head -1)"
	exec 9>&-
	wait
	[ "$(rows block.alloc now.json)" != "" ]
	report now.json | jq -e '.snapshots[0].devices[0].requested.end == 7340032'
}
