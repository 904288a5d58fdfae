# record_helpers.bash: what the tests of the recorder share (loaded by them).

recorder_setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	F=$B/tests/fault
	[ -x "$F/ends" ] || skip "needs the CUDA headers to build"
}

# rec ARGS…: record on the simulated driver into s.json; $status and $output are the program's.
rec() { run gpumemsnap record --sim -q -o s.json "$@"; }

# rec_fake ARGS…: the same on the least driver there is, which has no locks.
rec_fake() {
	mkdir -p fake
	cp "$F/libfake.so" fake/libcuda.so.1
	LD_LIBRARY_PATH=$PWD/fake run gpumemsnap record -q -o s.json "$@"
}

# events OP [FILE]: how many events of that kind a snapshot has. (Rows stand on lines of their own.)
events() {
	awk -v op="$1" -F, '
		/^"ops":/ { sub(/^"ops":\[/, ""); n = split($0, o, ","); for (i in o) { gsub(/["\]]/, "", o[i]); if (o[i] == op) k = i - 1 } }
		/^"events":/ { on = 1; next }
		on && k != "" && $2 == k { c++ }
		END { print c + 0 }' "${2:-s.json}"
}

complete() { jq -r '.meta.complete' "${1:-s.json}"; }
