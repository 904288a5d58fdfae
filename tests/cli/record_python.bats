# record: Python programs, with every interpreter from 3.11 on that is installed here.

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	F=$B/tests/fault
	[ -x "$F/ends" ] || skip "needs the CUDA headers to build"
	GPU=$BATS_TEST_DIRNAME/../data/python/gpu.py
}

# Every interpreter once per minor version.
interpreters() {
	local p v
	for p in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 /usr/bin/python3.1[1-4] $(command -v python3 python3.11 python3.12 python3.13 python3.14); do
		[ -x "$p" ] || continue
		v=$("$p" -c 'import sys, ctypes; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
		case $v in 3.11 | 3.12 | 3.13 | 3.14) echo "$v $p" ;; esac
	done | sort -u -k1,1 | cut -d' ' -f2
}

# The Python frames of the allocation of so many bytes, innermost first.
frames() {
	jq -r --argjson size "$1" '. as $d | .events[] | select(.[4] == $size and ($d.ops[.[1]] == "device.alloc"))
		| [$d.stacks[.[6]][] | $d.frames[.] | select($d.strings[.[1]] | endswith(".py"))
		| "\($d.strings[.[0]]):\(.[2])"] | join(" ")' s.json
}

@test "Python frames stand in the stack with their lines, where the interpreter ran them" {
	local python functions
	[ -n "$(interpreters)" ] || skip "no CPython 3.11 or newer"
	functions='. as $d | .events[] | select(.[4] == $size) | [$d.stacks[.[6]][] | $d.strings[$d.frames[.][0]]]'
	for python in $(interpreters); do
		run gpumemsnap record --sim -q -o s.json "$python" "$GPU" train
		[ "$status" -eq 0 ]
		[ "$(frames 1000)" = "alloc:22 Layer.forward:28 train:36 <module>:82" ]
		[ "$(frames 2000)" = "alloc:22 Layer.forward:28 train:37 <module>:82" ]
		[ "$(frames 3000)" = "alloc:22 generate:32 train:38 <module>:82" ]
		[ "$(frames 4000)" = "alloc:22 <module>:1 train:40 <module>:82" ]
		[ "$(jq '.strings | index("schön.py") != null' s.json)" = true ]
		# One activation of the loop ran forward and train; map's C code lies between them the second time.
		[ "$(jq --argjson size 1000 "$functions | index(\"Layer.forward\") + 1 == index(\"train\")" s.json)" = true ]
		[ "$(jq --argjson size 2000 "$functions | index(\"Layer.forward\") + 1 < index(\"train\")
			and index(\"_PyEval_EvalFrameDefault\") == null" s.json)" = true ]
	done
}

@test "CPython 3.14, whose loop may have no name, or be a function for each instruction" {
	local python
	for python in $(interpreters); do
		[[ $("$python" -c 'import sys; print(sys.version)') == 3.14.* ]] && break
		python=
	done
	[ -n "$python" ] || skip 'no CPython 3.14 here'
	run gpumemsnap record --sim -q -o s.json "$python" "$GPU" train
	[ "$status" -eq 0 ]
	[ "$(frames 2000)" = "alloc:22 Layer.forward:28 train:37 <module>:82" ]
	# map's C code lies between forward and train; only the outermost frames are no Python.
	[ "$(jq '. as $d | .events[] | select(.[4] == 2000) | [$d.stacks[.[6]][] | $d.strings[$d.frames[.][0]]] |
		index("Layer.forward") + 1 < index("train") and index("<module>") < index("PyEval_EvalCode")' s.json)" = true ]
}

@test "a lock wanted by who holds the GIL does not deadlock with an allocation inside it" {
	local python
	[ -n "$(interpreters)" ] || skip "no CPython 3.11 or newer"
	for python in $(interpreters); do
		run timeout 60 gpumemsnap record --sim -q -o s.json "$python" "$GPU" locked "$F/liblock.so"
		[ "$status" -eq 0 ]
		[ "$(jq '[.events[] | select(.[4] == 64)] | length' s.json)" -eq 300 ]
		[[ "$(frames 64 | sort -u)" == "locked.<locals>.free_running:"* ]]
	done
}

@test "os.fork and multiprocessing" {
	local python
	python=$(interpreters | head -1)
	[ -n "$python" ] || skip "no CPython 3.11 or newer"
	run timeout 60 gpumemsnap record --sim -q -o s.json "$python" "$GPU" forked
	[ "$status" -eq 0 ]
	[ "$(jq '[.events[][4]] | map(select(. == 100 or . == 400)) | length' s.json)" -eq 2 ]
	[ "$(find . -name 's.*json' | wc -l)" -eq 2 ]
	[ "$(cat ./s.*json | jq '[.events[][4]] | map(select(. == 200 or . == 300)) | length' | sort -n | tail -1)" -eq 2 ]
}

@test "Python frames beyond --depth are left out, and it is said" {
	local python
	python=$(interpreters | tail -1)
	[ -n "$python" ] || skip "no CPython 3.11 or newer"
	run gpumemsnap record --sim --depth 3 -q -o s.json "$python" "$GPU" train
	[ "$(frames 1000)" = "alloc:22 Layer.forward:28 train:36" ]
	gpumemsnap report s.json | grep -q 'call stacks were deeper than 3 frames'
}

@test "--no-python leaves the interpreter's own frames as they are" {
	local python
	python=$(interpreters | head -1)
	[ -n "$python" ] || skip "no CPython 3.11 or newer"
	run gpumemsnap record --sim --no-python -q -o s.json "$python" "$GPU" train
	[ "$status" -eq 0 ]
	[ -z "$(frames 1000)" ]
}
