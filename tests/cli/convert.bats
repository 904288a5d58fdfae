#!/usr/bin/env bats
# convert.bats: recordings in the formats of other tools, each judged by that tool's rules.

setup() {
	data=$BATS_TEST_DIRNAME/../data
	cd "$BATS_TEST_TMPDIR" || return 1
}
same() { # A B: are the two files the same?
	cmp "$1" "$2"
}

@test "json: a snapshot comes back as it was, also through gzip and standard input" {
	gpumemsnap convert "$data/solver.json" >a.json
	gpumemsnap convert a.json -o b.json
	same a.json b.json
	gpumemsnap convert a.json -o c.json.gz
	gzip -dc c.json.gz | cmp - a.json
	cat c.json.gz | gpumemsnap convert | cmp - a.json
	gpumemsnap convert - <a.json | cmp - a.json
	jq -e .format a.json
}

@test "json: what jq makes of a snapshot is read the same" {
	gpumemsnap convert "$data/solver.json" >a.json
	for how in . -S -c; do
		jq $how . a.json >b.json 2>/dev/null || jq $how a.json >b.json
		gpumemsnap convert b.json | cmp - a.json
	done
}

@test "json: a file cut anywhere is read up to the cut, and says so" {
	gpumemsnap convert "$data/solver.json" >a.json
	size=$(stat -c %s a.json)
	for at in $(seq 1024 1024 "$size"); do
		head -c "$at" a.json | gpumemsnap convert - >cut.json
		[ "$(jq .meta.complete cut.json)" = false ]
		jq -r .meta.why_incomplete cut.json | grep -q "the file is cut at byte $at"
	done
}

@test "json: damage is an error with status 3 that names the byte" {
	gpumemsnap convert "$data/solver.json" >a.json
	at=$(grep -abo '"events"' a.json | cut -d: -f1)
	printf 'x' | dd of=a.json bs=1 seek=$((at + 30)) conv=notrunc 2>/dev/null
	run gpumemsnap convert a.json
	[ "$status" -eq 3 ]
	[[ "$output" == *"a.json: byte "*"damaged snapshot"* ]]
	echo '{"format":"gpumemsnap-report","version":1}' >r.json
	run gpumemsnap convert r.json
	[ "$status" -eq 3 ]
	[[ "$output" == *'"gpumemsnap-report", not a snapshot'* ]]
	: >empty
	run gpumemsnap convert empty
	[ "$status" -eq 3 ]
	[[ "$output" == *"empty: is empty"* ]]
	run gpumemsnap convert "$BATS_TEST_FILENAME"
	[ "$status" -eq 3 ]
	run gpumemsnap convert missing.json
	[ "$status" -eq 3 ]
}

@test "folded: bytes at the peak add up, and every line is what flamegraph.pl reads" {
	gpumemsnap convert --to folded "$data/solver.json" >f
	grep -vE '^[^ ].* [0-9]+$' f && return 1
	sum=$(awk '{s += $NF} END {printf "%.0f", s}' f)
	peak=$(gpumemsnap report --format json "$data/solver.json" | jq '[.snapshots[0].devices[].requested.peak] | max')
	[ "$sum" = "$peak" ]
	gpumemsnap convert "$data/solver.json" -o g.folded
	same f g.folded
	gpumemsnap convert --to folded --by count --at total "$data/solver.json" >c
	[ "$(wc -l <c)" -ge "$(wc -l <f)" ]
}

@test "names that mean something to a format do not break it" {
	cat >odd.json <<-'J'
		{"format":"gpumemsnap","version":1,"meta":{"source":"gpumemsnap","duration_ns":9,"has_time":true,"complete":true},
		"strings":["","a;b","line\nbreak","kernel 12","x,\"y\""],
		"frames":[[0,0,0,0],[1,0,0,0],[2,0,0,0],[3,0,0,0],[4,0,0,0]],"stacks":[[],[3,1],[4,2],[0,1]],
		"ops":["device.alloc"],"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],
		"events":[
		[1,0,0,4096,100,0,1,0,0],
		[2,0,0,8192,20,0,2,0,0],
		[3,0,0,12288,3,0,3,0,0],
		[4,0,0,16384,4000,0,0,0,0]]}
	J
	gpumemsnap convert --to folded odd.json | sort >f
	diff f - <<-'E'
		[no stack recorded] 4000
		a:b;[unknown] 3
		a:b;kernel_12 100
		line break;x,"y" 20
	E
	gpumemsnap convert odd.json -o odd.pb
	for name in '[unknown]' 'kernel 12' 'a;b' '[no stack recorded]'; do
		grep -qaF "$name" odd.pb
	done
}

@test "csv: one line per event, in Python's own csv reader" {
	gpumemsnap convert --to csv "$data/solver.json" >e.csv
	python3 - e.csv "$(jq '.events | length' "$data/solver.json")" <<-'PY'
		import csv, sys
		rows = list(csv.DictReader(open(sys.argv[1], newline="")))
		assert len(rows) == int(sys.argv[2]), len(rows)
		assert all(None not in r and None not in r.values() for r in rows)
		live = {}
		for r in rows:
		    if r["action"] == "alloc" and r["kind"] in ("device", "async"):
		        live[r["addr"]] = int(r["size"])
		        assert r["function"]
		    elif r["action"] == "free" and r["addr"] in live:
		        assert int(r["size"]) == live.pop(r["addr"])
	PY
}

@test "torch: a pickle of plain data for every Python, that reads back the same" {
	gpumemsnap convert --to torch "$data/solver.json" >s.pickle
	python3 - s.pickle <<-'PY'
		import pickle, pickletools, sys
		raw = open(sys.argv[1], "rb").read()
		ops = {op.name for op, _, _ in pickletools.genops(raw)}
		assert not ops & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "NEWOBJ"}, ops
		d = pickle.loads(raw)
		assert set(d) == {"segments", "device_traces", "allocator_settings", "external_annotations"}
		live = {}
		for trace in d["device_traces"]:
		    for e in trace:
		        assert all(set(f) == {"name", "filename", "line"} for f in e["frames"])
		        if e["action"] == "alloc":
		            live[e["addr"]] = e["size"]
		        elif e["action"] == "free_completed":
		            live.pop(e["addr"], None)
		blocks = {b["address"]: b["requested_size"] for s in d["segments"] for b in s["blocks"] if b["state"] == "active_allocated"}
		assert {a: s for a, s in live.items() if a not in blocks} == {}
		for s in d["segments"]:
		    assert s["total_size"] == sum(b["size"] for b in s["blocks"])
	PY
	run bash -c 'diff <(gpumemsnap report --format json s.pickle | jq ".snapshots[0].devices[0].requested | {peak, end}") \
		<(gpumemsnap report --format json "$1" | jq ".snapshots[0].devices[0].requested | {peak, end}")' _ "$data/solver.json"
	[ "$status" -eq 0 ]
}

@test "torch: the viewer can undo every event of it, also where no segments are known or memory has no address" {
	rules=$BATS_TEST_DIRNAME/../consumers/torch_rules.py
	printf 'Thread,Time,Action,Pointer,Size,Stream\n1,10.000001,allocate,0x7f0000000000,512,0x0\n1,10.000002,allocate,0x7f0000000200,100,0x0\n1,10.000003,free,0x7f0000000000,512,0x0\n' >log.csv
	jq -c '.failures = [] | .ops = ["array.alloc", "physical.alloc", "array.free"] | .events = [[1, 0, 0, 94000000000001, 5, 0, 1, 1, 0],
		[2, 1, 0, 77, 2097152, 0, 1, 1, 0], [3, 0, 0, 94000000000002, 3, 0, 1, 1, 0], [4, 2, 0, 94000000000001, 0, 0, 1, 1, 0]]' \
		"$data/solver.json" >handles.json
	for file in "$data/solver.json" log.csv handles.json "$data"/torch/{train,streams,expandable}.pickle.gz; do
		gpumemsnap convert --to torch "$file" >x.pickle
		python3 "$rules" x.pickle
		gpumemsnap convert "$file" | gpumemsnap convert --to torch >x.pickle
		python3 "$rules" x.pickle
	done
	gpumemsnap convert --to torch log.csv >log.pickle
	[ "$(gpumemsnap report --format json log.pickle | jq -c '.snapshots[0].devices[0] | [.requested.peak, .reserved.end]')" = '[612,100]' ]
}

@test "torch: blocks of the pinned-memory allocator are host segments and traces again" {
	python3 - >host.pickle <<-'PY'
		import pickle, sys
		def ev(action, addr, t, size):
		    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": t, "frames": [{"name": "pin", "filename": "a.py", "line": 3}]}
		def segment(addr, size, used):
		    blocks = [{"address": addr, "size": size, "requested_size": used, "state": "active_allocated" if used else "inactive", "frames": []}]
		    return {"device": 0, "address": addr, "total_size": size, "stream": 0, "segment_type": "large", "blocks": blocks}
		pickle.dump({"segments": [], "device_traces": [[]], "host_segments": [segment(4096, 4096, 1500), segment(16384, 8192, 0)],
		             "host_traces": [[ev("segment_alloc", 4096, 2, 4096), ev("alloc", 4096, 3, 1500), ev("segment_alloc", 16384, 4, 8192),
		                              ev("alloc", 16384, 5, 8000), ev("free_requested", 16384, 6, 8000), ev("free_completed", 16384, 7, 8000)]]}, sys.stdout.buffer)
	PY
	gpumemsnap convert --to torch host.pickle >again.pickle
	same <(gpumemsnap convert --to csv host.pickle) <(gpumemsnap convert --to csv again.pickle)
	[ "$(gpumemsnap convert --to csv again.pickle | grep -c host_block)" -eq 4 ]
	python3 - again.pickle <<-'PY'
		import pickle, sys
		d = pickle.load(open(sys.argv[1], "rb"))
		assert [(s["address"], s["total_size"], s["active_size"]) for s in d["host_segments"]] == [(4096, 4096, 1500), (16384, 8192, 0)]
		assert len(d["host_traces"][0]) == 6
	PY
}

@test "speedscope: frames, samples and weights fit together and add up" {
	gpumemsnap convert "$data/solver.json" -o s.speedscope.json
	jq -e '(.shared.frames | length) as $n | .profiles | length == 2 and
		all(.[]; .type == "sampled" and (.samples | length) == (.weights | length) and
			(.weights | add) == .endValue and all(.samples[][]; . >= 0 and . < $n))' s.speedscope.json
	jq -e '."$schema" == "https://www.speedscope.app/file-format-schema.json" and all(.shared.frames[]; .name | type == "string")' s.speedscope.json
	peak=$(gpumemsnap report --format json "$data/solver.json" | jq '[.snapshots[0].devices[].requested.peak] | max')
	[ "$(jq '.profiles[0].endValue' s.speedscope.json)" = "$peak" ]
}

@test "perfetto: every event has what Chrome's format asks for, and the peak is there" {
	gpumemsnap convert "$data/solver.json" -o s.perfetto.json
	jq -e '.traceEvents | all(.[]; .ph and (.pid | type) == "number" and (.name | type) == "string") and
		all(.[] | select(.ph == "C"); (.ts | type) == "number" and (.args.bytes | type) == "number") and
		all(.[] | select(.ph == "X"); .dur >= 0) and all(.[] | select(.ph == "i"); .s)' s.perfetto.json
	jq -e '[.traceEvents[] | select(.ph == "C" and .name == "GPU 0 requested") | .ts] | . == sort' s.perfetto.json
	peak=$(gpumemsnap report --format json "$data/solver.json" | jq '.snapshots[0].devices[0].requested.peak')
	[ "$(jq '[.traceEvents[] | select(.ph == "C" and .name == "GPU 0 requested") | .args.bytes] | max' s.perfetto.json)" = "$peak" ]
}

@test "perfetto: pools have counters that add up to their device's" {
	gpumemsnap convert "$data/torch/train.pickle.gz" -o t.perfetto.json
	jq -e '[.traceEvents[] | select(.ph == "C")] | group_by(.name) | map({(.[0].name): last.args.bytes}) | add |
		."GPU 0 requested" == ."GPU 0 requested, default pool, large" + ."GPU 0 requested, default pool, small"' t.perfetto.json
	jq -r '.traceEvents[] | select(.ph == "C" and .name == "GPU 0 requested, default pool, large") | .args.bytes' t.perfetto.json | sort -n | tail -1 >most
	[ "$(cat most)" = "$(gpumemsnap report --by pool --format json "$data/torch/train.pickle.gz" | jq '.snapshots[0].devices[0].pools[0].peak_bytes')" ]
}

@test "pprof: the profile parses by profile.proto, refers to nothing missing and adds up" {
	gpumemsnap convert "$data/solver.json" -o s.pb.gz
	peak=$(gpumemsnap report --format json "$data/solver.json" | jq '[.snapshots[0].devices[].requested.peak] | max')
	python3 - s.pb.gz "$peak" <<-'PY'
		import gzip, sys
		def varint(b, i):
		    v = s = 0
		    while True:
		        v |= (b[i] & 127) << s; s += 7; i += 1
		        if b[i - 1] < 128: return v, i
		def fields(b):
		    i = 0
		    while i < len(b):
		        key, i = varint(b, i)
		        assert key & 7 in (0, 2), key
		        n, i = varint(b, i)
		        if key & 7 == 2:
		            yield key >> 3, b[i:i + n]; i += n
		        else:
		            yield key >> 3, n
		def packed(b):
		    i = 0
		    while i < len(b):
		        v, i = varint(b, i); yield v
		msg = list(fields(gzip.open(sys.argv[1]).read()))
		get = lambda n: [v for k, v in msg if k == n]
		strings = [s.decode() for s in get(6)]
		assert strings[0] == ""
		types = [tuple(strings[v] for _, v in sorted(fields(t))) for t in get(1)]
		assert types == [("inuse_objects", "count"), ("inuse_space", "bytes")], types
		functions = {dict(fields(f))[1]: dict(fields(f)) for f in get(5)}
		assert all(strings[f[2]] for f in functions.values())
		locations = {dict(fields(l))[1]: dict(fields(l)) for l in get(4)}
		assert all(dict(fields(l[4]))[1] in functions for l in locations.values())
		total = 0
		for s in get(2):
		    s = dict(fields(s))
		    assert list(packed(s[1])) and all(i in locations for i in packed(s[1]))
		    total += list(packed(s[2]))[1]
		assert total == int(sys.argv[2]), total
	PY
}

@test "massif: ms_print reads it and shows the peak" {
	gpumemsnap convert "$data/solver.json" -o s.massif
	peak=$(gpumemsnap report --format json "$data/solver.json" | jq '[.snapshots[0].devices[].requested.peak] | max')
	[ "$(grep -A9 'heap_tree=peak' s.massif | grep -oE '^n[0-9]+: [0-9]+' | cut -d' ' -f2)" = "$peak" ]
	[ "$(grep -c heap_tree=peak s.massif)" = 1 ]
	printf 'Thread,Time,Action,Pointer,Size,Stream\n' >nothing.csv
	gpumemsnap convert nothing.csv -o nothing.massif
	[ "$(grep -c ^mem_heap_B=0 nothing.massif)" = 1 ]
	command -v ms_print >/dev/null || skip 'ms_print is not installed'
	ms_print nothing.massif >text
	ms_print s.massif >text
	grep -q '(peak)' text
	grep -qE '^->' text
}

@test "the ending of the output's name chooses the format; an unknown one is refused" {
	gpumemsnap convert "$data/solver.json" -o x.csv
	head -1 x.csv | grep -q '^event,t_ns,'
	run gpumemsnap convert --to nonsense "$data/solver.json"
	[ "$status" -eq 2 ]
	[[ "$output" == *"--to: 'nonsense' is not json|folded|csv|"* ]]
}

@test "a pickle is not written to a terminal" {
	run script -qec "gpumemsnap convert --to torch '$data/solver.json'" /dev/null
	[ "$status" -eq 2 ]
	[[ "$output" == *"gpumemsnap convert --to torch > out.pickle"* ]]
}
