#!/usr/bin/env bats
# The import hook of `record --torch`, on its own: Python programs that import a stand-in for torch
# (tests/fake/python), which makes addresses up when there is no driver.

setup() {
	hook=$BATS_TEST_DIRNAME/../../src/record/python
	fakes=$BATS_TEST_DIRNAME/../fake/python
	export GPUMEMSNAP_SPOOL=$BATS_TEST_TMPDIR/spool PYTHONDONTWRITEBYTECODE=1
	mkdir "$GPUMEMSNAP_SPOOL"
}
py() { PYTHONPATH=$hook:$fakes python3 "$@"; }
# The actions in the only snapshot there is.
actions() {
	python3 -c 'import pickle, sys
print(*[e["action"] for e in pickle.load(open(sys.argv[1], "rb"))["device_traces"][0]])' "$GPUMEMSNAP_SPOOL"/*.torch
}
spool_is_empty() { [ -z "$(ls "$GPUMEMSNAP_SPOOL")" ]; }

@test "a program that imports torch leaves its history at exit" {
	py -c 'import torch; x = torch.empty(1000); del x'
	[ "$(actions)" = "segment_alloc alloc free_requested free_completed" ]
	[ -p "$(echo "$GPUMEMSNAP_SPOOL"/*.torch.ask)" ]
	[ ! -e "$(echo "$GPUMEMSNAP_SPOOL"/*.note)" ]
}

@test "torch 2.0's way to switch on the history works too" {
	FAKE_TORCH=2.0.1 py -c 'import torch; x = torch.empty(1000)'
	[ "$(actions)" = "segment_alloc alloc" ]
}

@test "a torch without history is left alone, and a line says so" {
	FAKE_TORCH=1.13.1 py -c 'import torch; x = torch.empty(1000); print("fine")' | grep -qx fine
	grep -q "PyTorch 1.13.1 could not switch on its history" "$GPUMEMSNAP_SPOOL"/*.torch.note
	[ ! -e "$(echo "$GPUMEMSNAP_SPOOL"/*.torch)" ]
}

@test "with the cudaMallocAsync allocator a line says that there is no history" {
	FAKE_TORCH=async py -c 'import torch; x = torch.empty(1000)'
	grep -q "no history with its cudaMallocAsync allocator" "$GPUMEMSNAP_SPOOL"/*.torch.note
}

@test "a torch without CUDA, or never used with CUDA, leaves nothing" {
	FAKE_TORCH=cpu py -c 'import torch; x = torch.empty(1000)'
	spool_is_empty
	py -c 'import torch'
	spool_is_empty
}

@test "without torch, Python is as always" {
	py -c 'import json, sys; assert not [p for p in sys.path if "record/python" in p]; print(json.dumps(1))' | grep -qx 1
	spool_is_empty
	run py -c 'import torch_that_is_not_there'
	[ "$status" -eq 1 ]
	[[ $output == *ModuleNotFoundError* ]]
}

@test "without a spool folder nothing happens" {
	unset GPUMEMSNAP_SPOOL
	py -c 'import sys, torch; x = torch.empty(1000); assert not [f for f in sys.meta_path if type(f).__name__ == "Finder"]'
}

@test "looking for torch before importing it does not unhook it" {
	py -c 'import importlib.util as u; u.find_spec("torch"); u.find_spec("torch"); import torch; x = torch.empty(1)'
	[ "$(actions)" = "segment_alloc alloc" ]
}

@test "the module's loader is the one Python would have used" {
	py -c 'import torch; print(type(torch.__loader__).__name__, type(torch.__spec__.loader).__name__)' |
		grep -qx 'SourceFileLoader SourceFileLoader'
}

@test "a torch that fails to import fails in the same way" {
	mkdir "$BATS_TEST_TMPDIR/broken"
	echo 'raise OSError("libcudart.so: cannot open")' >"$BATS_TEST_TMPDIR/broken/torch.py"
	PYTHONPATH=$hook:$BATS_TEST_TMPDIR/broken run python3 -c 'import torch'
	[ "$status" -eq 1 ]
	[[ ${lines[-1]} == "OSError: libcudart.so: cannot open" ]]
}

@test "another sitecustomize still has its turn" {
	mkdir "$BATS_TEST_TMPDIR/theirs"
	echo 'import builtins; builtins.theirs_ran = __file__' >"$BATS_TEST_TMPDIR/theirs/sitecustomize.py"
	PYTHONPATH=$hook:$BATS_TEST_TMPDIR/theirs:$fakes python3 -c '
import sitecustomize, torch
assert theirs_ran.startswith("'"$BATS_TEST_TMPDIR"'")
assert sitecustomize.__file__ == theirs_ran
x = torch.empty(1)'
	[ "$(actions)" = "segment_alloc alloc" ]
}

@test "who writes to the FIFO gets a snapshot of the running program" {
	cat >"$BATS_TEST_TMPDIR/p.py" <<-'PY'
		import glob, os, threading, time, torch
		x = torch.empty(1000)
		assert threading.active_count() == 1
		folder = os.environ["GPUMEMSNAP_SPOOL"]
		with open(glob.glob(folder + "/*.ask")[0], "w") as f:
		    f.write("x")
		end = time.time() + 60
		while not glob.glob(folder + "/*.torch") and time.time() < end:
		    time.sleep(0.01)
		os._exit(0)  # nothing more at exit
	PY
	py "$BATS_TEST_TMPDIR/p.py"
	[ "$(actions)" = "segment_alloc alloc" ]
}

@test "a snapshot is taken every N seconds if wanted" {
	GPUMEMSNAP_TORCH=every=0.05 py -c '
import os, time, torch
x = torch.empty(1000)
time.sleep(0.5)
os._exit(0)'
	[ "$(actions)" = "segment_alloc alloc" ]
}

@test "a snapshot that another thread saves at the end is not the last one" {
	GPUMEMSNAP_TORCH=every=0.05 py -c '
import time, torch
x = torch.empty(1000)
take = torch.cuda.memory._snapshot
def slow():
    old = take()
    time.sleep(0.5)
    return old
torch.cuda.memory._snapshot = slow
time.sleep(0.3)
y = torch.empty(2000)'
	[ "$(actions)" = "segment_alloc alloc alloc" ]
}

@test "a snapshot imports no part of torch that the program has not" {
	py -c '
import atexit, sys
def check():
    assert "torch._inductor" not in sys.modules and "_inductor" not in vars(torch)
    print("fine")
atexit.register(check)
import torch
x = torch.empty(1000)
for f in sys.meta_path:
    if type(f).__name__ == "Finder":
        assert f._then.__self__.dump()' | grep -qx fine
	[ "$(actions)" = "segment_alloc alloc" ]
	py -c 'import torch, torch._inductor as i; x = torch.empty(1000); torch.cuda.memory._snapshot(); assert torch._inductor is i'
}

@test "the history keeps as many entries as wanted" {
	GPUMEMSNAP_TORCH=entries=3 py -c 'import torch; keep = [torch.empty(1000) for i in range(9)]'
	[ "$(actions)" = "alloc alloc alloc" ]
}

@test "children of multiprocessing leave their own" {
	cat >"$BATS_TEST_TMPDIR/p.py" <<-'PY'
		import multiprocessing as mp, torch
		def work(n):
		    global keep
		    keep = torch.empty(n)
		if __name__ == "__main__":
		    for way in "fork", "spawn":
		        p = mp.get_context(way).Process(target=work, args=(10,))
		        p.start()
		        p.join()
	PY
	py "$BATS_TEST_TMPDIR/p.py"
	[ "$(ls "$GPUMEMSNAP_SPOOL"/*.torch | wc -l)" -eq 2 ]
}

@test "a child forked after CUDA began leaves nothing" {
	py -c '
import os, torch
x = torch.empty(1)
if os.fork() == 0:
    raise SystemExit(0)
os.wait()'
	[ "$(ls "$GPUMEMSNAP_SPOOL"/*.torch | wc -l)" -eq 1 ]
}
