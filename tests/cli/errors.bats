# The error messages, in one place: what is said, word for word, and the exit status (2: wrong use,
# 3: bad input, 4: the system refused, 126 and 127: no program to run). One message is one line on
# standard error, and nothing is on standard output. Messages about damaged recordings name the byte.

data=$BATS_TEST_DIRNAME/../data

setup() { cd "$BATS_TEST_TMPDIR" && cp "$data/solver.json" . && mkdir dir; }

says() { # STATUS MESSAGE COMMAND…
	local expected=$1 message="gpumemsnap: $2" status=0
	shift 2
	gpumemsnap "$@" >out 2>err </dev/null || status=$?
	[ "$status" -eq "$expected" ] && [ "$(cat err)" = "$message" ] && [ ! -s out ] && return 0
	printf '%s\n' "gpumemsnap $*" "wanted ($expected): $message" "got ($status): $(cat err)"
	return 1
}

@test "mistyped commands and options get a suggestion, or the place to look" {
	says 2 "no command 'reprot'; did you mean 'report'?" reprot
	says 2 "no command 'falme'; did you mean 'flame'?" help falme
	says 2 "no command 'x'; 'gpumemsnap help' lists them" x
	says 2 "no command 'frobnicate'; 'gpumemsnap help' lists them" frobnicate
	says 2 "unknown option '--fromat=json'; did you mean '--format'?" report --fromat=json
	says 2 "unknown option '--max-peek'; did you mean '--max-peak'?" check --max-peek 1GiB
	says 2 "unknown option '--frobnicate'; see 'gpumemsnap report --help'" report --frobnicate
	says 2 "unknown option '-Z'; see 'gpumemsnap report --help'" report -Z
}

@test "values say what they should have been" {
	says 2 "--format: 'xml' is not text|json" report --format xml
	says 2 "--top: 'many' is not a whole number" report --top many
	says 2 "--max-peak: 'lots' is not a size like 12GiB or 512K" check --max-peak lots
	says 2 "--max-frag: 'much' is not a number, or a percentage like 20%" check --max-frag much
	says 2 "--duration: 'long' is not a time like 250ms or 1.5s" record --duration long true
	says 2 "--top needs a value: N" report --top
	says 2 "--leaks takes no value" report --leaks=1
	says 2 "filter 'size>>1': '>1' is not a size" report --where 'size>>1' solver.json
	says 2 "filter 'colour=red': starts with none of device, stream, thread, pool, kind, size, time, function, file, module, phase" \
		report --where colour=red solver.json
	says 2 "filter 'kind=foo': 'foo' is no kind of memory (device, async, managed, block, ...)" report --where kind=foo solver.json
	says 2 "filter 'device~1': after device comes = or !=" report --where device~1 solver.json
	says 2 "filter 'device=x': 'x' is no number" report --where device=x solver.json
	says 2 "--from 2s is behind --to 1s" report --from 2s --to 1s solver.json
	says 2 "--at: 'never' is not a time like 250ms or 1.5s" flame --at never solver.json
	says 2 "--width must be 200 to 32767 pixels" flame --width 5 solver.json
	says 2 "--scale must be 0.5 to 10" flame --scale 50 solver.json
	says 2 "--height must be 100 to 32767 pixels" flame --height 5 solver.json
	says 2 "--width times --height must be at most 268435456 pixels" flame --width 30000 --height 32000 solver.json
	says 2 "--device: 'x' is not a device number" flame --device x solver.json
	says 2 "solver.json: has no device 9; it has: 0, 1" flame --device 9 solver.json
	says 2 "--conf 'a:b': at character 1: key 'a' is not known" whatif --conf a:b "$data/torch/oom.pickle.gz"
	says 2 "--conf 'max_split_size_mb:x': at character 19: value 'x' must be a whole number of MiB, at least 20" \
		whatif --conf max_split_size_mb:x "$data/torch/oom.pickle.gz"
	says 2 "'abc' is not a process id" top abc
}

@test "missing arguments say what the command needs" {
	says 2 "diff takes two snapshots, not 1" diff solver.json
	says 2 "flame takes one snapshot, not 2" flame a b
	says 2 "a picture of segments shows one snapshot, not 2" timeline --view segments solver.json solver.json
	says 2 "--at, --by and what a picture looks like need --flame FILE" diff --at peak solver.json solver.json
	says 2 "dump needs one process id (or spool)" dump
	says 2 "merge needs snapshots: gpumemsnap merge snapshot.*.json" merge
	says 2 "nothing to check: give a limit such as --max-peak 12GiB or --no-leaks" check solver.json
	says 2 "top needs a terminal; 'gpumemsnap top --once' prints one look" top
	says 2 "record needs a program: gpumemsnap record ./app ARGS" record
}

@test "inputs that are none name the file, and the byte where that is known" {
	for c in report flame timeline check\ --no-leaks whatif convert html; do
		says 3 "no snapshot.json here; name a snapshot, or make one with 'gpumemsnap record ./app'" $c
	done
	says 3 "gone.json: cannot open: No such file or directory" report gone.json
	says 3 "dir: is a directory, not a snapshot" report dir
	: >empty
	says 3 "empty: is empty" report empty
	echo '{"a":1}' >other
	says 3 "other: is no recording this program knows: a gpumemsnap snapshot or spool, a PyTorch memory snapshot (pickle), an RMM log or a JAX memory profile (pprof), each also gzipped" report other
	sed 's/"version":1/"version":99/' solver.json >new.json
	says 3 "new.json: byte 33: snapshot of version 99; this gpumemsnap reads up to version 1" report new.json
	gzip -dc "$data/torch/oom.pickle.gz" | head -c 200 >cut.pickle
	says 3 "cut.pickle: byte 200: the pickle ends in the middle: the file was cut short" report cut.pickle
	says 3 "solver.json#4: the file holds one snapshot" report 'solver.json#4'
	says 3 "there is no process 4194305" dump 4194305
	says 3 "process $$ is not being recorded: it was not started by gpumemsnap record" dump $$
	says 3 "this is no out-of-memory message that I know" explain-oom 'all is well'
}

damaged() { # MESSAGE BYTES: what report says about a file of these bytes (as printf writes them)
	printf "$2" >damaged
	says 3 "damaged: $1" report damaged
}

@test "damaged pickles: what is wrong, and at which byte" {
	damaged 'a pickle, but no PyTorch memory snapshot: it has neither segments nor device_traces' '\200\004}.'
	damaged 'byte 2: 0xff is no pickle opcode: the file is damaged' '\200\004\377.'
	damaged 'byte 4: the pickle uses value 5 before storing it' '\200\004}h\005.'
	damaged 'byte 1: pickle protocol 9 is not known' '\200\011}.'
	damaged 'byte 3: a length of 2147483647 bytes goes past the end: the file is damaged or was cut short' '\200\004X\377\377\377\177ab.'
	damaged 'byte 8: the pickle adds items to something that cannot hold them' '\200\004K\001(K\002e.'
	damaged 'byte 69: the snapshot has a segment on device 9999' \
		"(dp0\nVsegments\np1\n(lp2\n(dp3\nVdevice\np4\nI9999\nsVtotal_size\np5\nI4096\nsasVdevice_traces\np6\n(lp7\ns."
	damaged 'the snapshot has a segment on a device below 0' \
		"(dp0\nVsegments\np1\n(lp2\n(dp3\nVdevice\np4\nI-1\nsVtotal_size\np5\nI4096\nsasVdevice_traces\np6\n(lp7\ns."
}

@test "damaged spools and sets: what is wrong" {
	head -c 8192 "$data/../fuzz/corpus/spool/actor.spool" >whole
	changed() { cp whole spool && printf "$2" | dd of=spool bs=1 seek="$1" conv=notrunc 2>/dev/null; }
	head -c 100 whole >spool
	says 3 "spool: byte 100: is too short for a spool" report spool
	says 3 "spool: byte 100: is too short for a spool" dump spool
	changed 8 '\143'
	says 3 "spool: byte 8: is a spool of version 99; this program reads version 1" report spool
	changed 16 '\377\377\377'
	says 3 "spool: byte 12: has a damaged header" report spool
	says 3 "solver.json: byte 0: is not a spool of the recorder" dump solver.json
	gpumemsnap merge -o set.json solver.json solver.json 2>/dev/null
	says 3 "set.json#7: the set holds 2 snapshots, counted from 0" report 'set.json#7'
}

@test "settings of an allocator: which is wrong, where, and what it could be" {
	conf() { says 2 "--conf '$2': $1" whatif --conf "$2" "$data/torch/oom.pickle.gz"; }
	conf "at character 1: key 'expandable_segments' needs ':' and a value behind it" expandable_segments
	conf "at character 21: value 'maybe' must be True or False" expandable_segments:maybe
	conf "at character 30: value '2' must be a number between 0 and 1" garbage_collection_threshold:2
	conf "at character 29: value '7' must be a number from 0 to 1" per_process_memory_fraction:7
	conf "at character 29: value '3' must be a power of two up to 128" pinned_num_register_threads:3
	conf "at character 26: value '3' is not a power of two up to 32768 or a list in []" roundup_power2_divisions:3
	conf "at character 27: interval '256' needs ':' and a number behind it" 'roundup_power2_divisions:[256]'
	conf "at character 27: interval '3' is not a power of two (MiB) or '>'" 'roundup_power2_divisions:[3:2]'
	conf "at character 31: divisions '3' is not 0 or a power of two up to 32768" 'roundup_power2_divisions:[256:3]'
	conf "growth:False takes all memory at the start, but how much is that? Add memory_limit or give --device-mem" growth:False
	conf "a fraction of what? The recording does not say how much memory the device has: give --device-mem" \
		per_process_memory_fraction:0.5
}

@test "outputs that cannot be written name the file, before any work is done" {
	says 4 "none/x.json: cannot write: No such file or directory" convert -o none/x.json solver.json
	says 4 "none/x.png: cannot write: No such file or directory" flame -o none/x.png solver.json
	says 4 "dir: cannot write: Is a directory" html -o dir solver.json
	says 4 "/dev/full: write: No space left on device" convert -o /dev/full solver.json
	gpumemsnap report solver.json 2>err >/dev/full && return 1
	[ $? -eq 4 ]
	[ "$(cat err)" = 'gpumemsnap: standard output: write: No space left on device' ]
}

@test "record: a program that cannot be started, an output that cannot be named" {
	[ -e "$B/lib/gpumemsnap/libgpumemsnap.so" ] || skip 'record was not built (no CUDA headers)'
	says 127 "./nothing: No such file or directory" record ./nothing
	says 127 "nothing-like-it: no such program on PATH" record nothing-like-it
	says 127 "solver.json: no such program on PATH (did you mean ./ before it?)" record solver.json
	says 2 "--output: %q{NOPE}: no such environment variable" record -o '%q{NOPE}' true
	says 2 "--output: %q needs a variable: %q{NAME}" record -o '%q' true
	says 2 "--output: '%z' means nothing; there are %p, %h, %r, %q{NAME} and %%" record -o x.%z.json true
	says 126 "./dir: is not a program" record ./dir
	says 126 "./solver.json: Permission denied" record ./solver.json
	says 2 "--output: the name is empty" record -o '' true
	says 4 "dir: cannot write: is a directory" record -o dir true
	says 4 "none/x.json: cannot write: No such file or directory" record -o none/x.json true
	says 2 "--signal: 'FOO' is no signal; USR2 is one" record --signal FOO true
	says 2 "--depth: at most 1024" record --depth 99999 true
	says 2 "--include-children and --no-children exclude each other" record --include-children --no-children true
	[ -z "$(find . -name '.*spool*' -o -name '*.json.*')" ]
}

@test "gzip: again in gzip, cut between two lines, cut at once, without end" {
	gzip -c "$data/torch/leak.pickle.gz" | gzip -c >again.gz
	gpumemsnap report again.gz | grep -q '4,331 events'
	printf 'Thread,Time,Action,Pointer,Size,Stream\n' >log.csv
	python3 - <<-'PY'
		import gzip, random, zlib
		rows = [b"1,10.5,allocate,0x%x,512,0x0\n" % random.Random(7).getrandbits(40 + i % 2) for i in range(3000)]
		z = gzip.compress(open("log.csv", "rb").read() + b"".join(rows))
		cuts = (z[:n] for n in range(len(z) // 2, len(z)))
		open("log.gz", "wb").write(next(c for c in cuts if zlib.decompressobj(31).decompress(c).endswith(b"\n")))
	PY
	run gpumemsnap report log.gz
	[ "$status" -eq 0 ]
	[[ $output == *"not whole (the gzip data are cut short or damaged"* ]]
	head -c 30 "$data/torch/leak.pickle.gz" >none.gz
	run gpumemsnap report none.gz
	[ "$status" -eq 3 ]
	[[ $output == *"none.gz: byte 30: the gzip data were cut short before anything can be read"* ]]
	gzip -c again.gz | gzip -c >deep.gz
	run gpumemsnap report deep.gz
	[ "$status" -eq 3 ]
	gzip -c </dev/null >empty.gz
	run gpumemsnap report empty.gz
	[[ $output == *"empty.gz: is empty"* ]]
}

@test "a set from standard input: how to name one of it" {
	gpumemsnap merge -o set.json "$data/solver.json" "$data/torch/leak.pickle.gz"
	run bash -c 'gpumemsnap report <set.json -'
	[ "$status" -eq 3 ]
	[[ $output == *"standard input: holds 2 snapshots; name one: -#0 ("*"solver.json)"* ]]
	gpumemsnap report -- '-#1' <set.json | grep -q '4,331 events'
}
