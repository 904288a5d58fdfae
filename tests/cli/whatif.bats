# whatif.bats: predictions against what really happened, and the words around them.
#
# One PyTorch program was run on one GPU under eight settings; mix1 is its recording under the
# default ones, and the rows below are torch's own memory_stats() of the other runs.

load_data() {
	cd "$BATS_TEST_TMPDIR" || return 1
	data=$BATS_TEST_DIRNAME/../data/whatif
}
setup() { load_data; }

total=150109880320
real=(
	'|2120220672 1700338176 81 0 0 0 null'
	'max_split_size_mb:32|5083496448 1749535232 166 0 0 0 null'
	'max_split_size_mb:128|2120220672 1700338176 81 0 0 0 null'
	'roundup_power2_divisions:4|2252341248 1825379328 88 0 0 0 null'
	'expandable_segments:True|1853882368 1691828224 88 0 0 0 null'
	'per_process_memory_fraction:0.0135|1990197248 1700338176 82 25 1 0 null'
	'per_process_memory_fraction:0.0135,garbage_collection_threshold:0.6|1778384896 1702969344 109 41 0 0 null'
	'per_process_memory_fraction:0.0115|1717567488 1647137792 136 79 4 1 48234496'
)
predict() { # FILE: one line per real run
	local conf=() r
	for r in "${real[@]}"; do conf+=(-c "${r%%|*}"); done
	gpumemsnap whatif -f json -m $total "${conf[@]}" "$1" |
		jq -r '.runs[] | [.reserved_peak,.allocated_peak,.device_allocs,.device_frees,.retries,.ooms,.first_oom_size] | map(tostring) | join(" ")'
}

@test "from one recording every other run's real figures are predicted" {
	predict "$data/mix1.pickle.gz" >got
	printf '%s\n' "${real[@]#*|}" >want
	diff want got
}

@test "from the recording with garbage collection, whose limit is not in the file, too" {
	predict "$data/mix1-gc.pickle.gz" | head -7 >got
	printf '%s\n' "${real[@]#*|}" | head -7 >want
	diff want got
}

@test "from the recording with expandable segments, which shows no cudaMalloc at all, too" {
	predict "$data/../torch/mix1-expand.pickle.gz" >got
	printf '%s\n' "${real[@]#*|}" >want
	diff want got
}

@test "every complete snapshot at hand is replayed to the last event" {
	local shared=${GPUMEMSNAP_SHARED:-$BATS_TEST_DIRNAME/../../../shared}/snapshots n=0 f
	[ -d "$shared" ] || skip 'no further snapshots'
	for f in "$shared"/*/*.pickle.xz; do
		xz -dc "$f" >one.pickle
		gpumemsnap whatif -c '' -f json one.pickle >out
		jq -e '.fidelity | .matched == .events and .first_mismatch == null' out >/dev/null || { echo "$f"; jq -c .fidelity out; return 1; }
		n=$((n + 1))
	done
	[ "$n" -gt 0 ]
}

@test "a recording is replayed to the last event under its own settings" {
	for f in "$data"/*.gz "$data"/../torch/{expandable,leak,oom,streams,train,mix1}.pickle.gz; do
		[ -e "$f" ] || continue
		gpumemsnap whatif -c '' -f json "$f" >out
		[ "$(jq -c '.fidelity | [.matched == .events, .events > 100, .first_mismatch]' out)" = '[true,true,null]' ] || { echo "$f"; jq -c .fidelity out; return 1; }
	done
}

@test "where the program runs out of memory is said, with the reason" {
	run gpumemsnap whatif -m $total -c per_process_memory_fraction:0.0115 "$data/mix1.pickle.gz"
	[ "$status" -eq 0 ]
	[[ "$output" == *"replay matches recording: 37,530/37,530 events"* ]]
	output=$(tr -s ' \n' ' ' <<<"$output")
	[[ "$output" == *"event 34,812"*"44.62 MiB were asked for (46.00 MiB of the device)"*"fragmentation"* ]]
}

@test "a grid is tried and the best setting recommended with what it saves" {
	gpumemsnap whatif -f json "$data/mix1.pickle.gz" >out
	[ "$(jq '.runs | length' out)" -ge 12 ]
	[ "$(jq -r '[.runs[].kind] | unique | join(" ")' out)" = 'caching offline plain stream_ordered' ]
	[ "$(jq -r '.recommended.conf' out)" = "$(jq -r '[.runs[] | select(.kind == "caching")] | min_by(.reserved_peak) | .conf' out)" ]
	[ "$(jq '.recommended.saves_bytes' out)" = "$(jq '.runs[0].reserved_peak - ([.runs[] | select(.kind == "caching") | .reserved_peak] | min)' out)" ]
	[ "$(jq '[.runs[] | .reserved_peak >= .lower_bound] | all' out)" = true ]
}

@test "--timeline draws the recording's own settings, the best others and what is in use" {
	gpumemsnap whatif --timeline w.png "$data/mix1.pickle.gz" >table
	[ "$(head -c 8 w.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
	grep -q 'expandable_segments:True' table
	gpumemsnap whatif --layout --timeline w.layout "$data/mix1.pickle.gz" >table
	grep -q '^text title .*"Reserved GPU memory under 5 settings: 1.67 GiB to 1.97 GiB at the peak"' w.layout
	grep -q '^text time.title .*"event number"' w.layout
	# The legend goes from the most to the least, and so do the lines' last columns, from the top down.
	grep '^text legend.*reserves at most' w.layout | grep -o '[0-9.]* GiB' >peaks
	printf '%s GiB\n' 1.97 1.85 1.74 1.73 1.67 | diff - peaks
	sed -n 's/^area reserved#.*[ *]\([0-9]*\)-[0-9]*$/\1/p' w.layout >tops
	sort -n tops | diff - tops
	[ "$(wc -l <tops)" -eq 5 ]
	# Nobody reserves less than what is in use.
	use=$(grep '^area in_use' w.layout | grep -o '[0-9]*-[0-9]*$')
	[ "${use%-*}" -gt "$(tail -n 1 tops)" ]
}

@test "--timeline marks where settings run out of memory" {
	gpumemsnap whatif --layout --timeline w.layout -m $total -c per_process_memory_fraction:0.0115 "$data/mix1.pickle.gz" >table
	grep -q '^text out_of_memory#1 ' w.layout
	grep -q 'reserves at most 1.60 GiB, then runs out of memory' w.layout
	# The line ends there: its last columns are empty.
	grep -qE '^area reserved#1 .* [0-9]+\*0-0$' w.layout
	[ "$(grep -cE '^area reserved#0 .* [0-9]+\*0-0$' w.layout)" = 0 ]
}

@test "--timeline - writes only the picture" {
	gpumemsnap whatif --timeline - "$data/mix1.pickle.gz" >out
	[ "$(head -c 4 out | tail -c 3)" = PNG ]
	[ "$(grep -ac RESERVED out)" = 0 ]
}

@test "--device-mem says whether the program fits" {
	fits() { gpumemsnap whatif -m "$1" -c '' -c expandable_segments:True -f json "$data/mix1.pickle.gz" | jq -c '[.runs[].ooms]'; }
	[ "$(fits 1600MiB)" = '[1,1]' ]
	[ "$(fits 1670MiB)" = '[0,1]' ]
	[ "$(fits 1700MiB)" = '[0,0]' ]
}

@test "a wrong key or value is named with its place" {
	run gpumemsnap whatif -c max_split_size_mb:64,expandable_segmets:True "$data/mix1.pickle.gz"
	[ "$status" -eq 2 ]
	[[ "$output" == *"character 22"*"'expandable_segmets' is not known"* ]]
	run gpumemsnap whatif -c max_split_size_mb:4 "$data/mix1.pickle.gz"
	[ "$status" -eq 2 ]
	[[ "$output" == *"at least 20"* ]]
}

@test "a fraction of an unknown amount of memory is refused" {
	run gpumemsnap whatif -c per_process_memory_fraction:0.5 "$data/mix1.pickle.gz"
	[ "$status" -eq 2 ]
	[[ "$output" == *"--device-mem"* ]]
}

@test "the JSON has every member that is promised" {
	gpumemsnap whatif -f json -m $total -c '' -c per_process_memory_fraction:0.0115 "$data/mix1.pickle.gz" >out
	jq -e --arg file "$data/mix1.pickle.gz" '.format == "gpumemsnap-whatif" and .version == 1 and .file == $file' out
	jq -e '(["conf","device_mem","reserved_peak","allocated_peak","requested_peak","device_allocs","device_frees","retries","ooms",
		"first_oom_event","first_oom_size","fragmentation_at_peak","lower_bound"] - (.runs[0] | keys)) == []' out
	jq -e '.fidelity == {"events":37530,"matched":37530,"first_mismatch":null}' out
	jq -e '.runs[0] | .device_mem == 150109880320 and .first_oom_event == null and .first_oom_size == null' out
	jq -e '.runs[1] | .ooms == 1 and .first_oom_event == 34812 and .first_oom_size == 48234496' out
	jq -e '.recommended | has("conf") and has("saves_bytes")' out
}

@test "a recorded out of memory: which setting would have avoided it" {
	run gpumemsnap whatif "$data/../torch/oom.pickle.gz"
	output=$(tr -s ' \n' ' ' <<<"$output")
	[[ "$output" == *'GPU 0 ran out of memory in the recording, at event 408, so it is taken to have no more than 2.81 GiB.'* ]]
	[[ "$output" == *'> set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: it avoids the out of memory'* ]]
	gpumemsnap whatif -f json -c '' "$data/../torch/oom.pickle.gz" >out
	# As torch itself counted.
	[ "$(jq -c '.runs[0] | [.ooms,.retries,.device_allocs,.device_frees,.reserved_peak,.allocated_peak]' out)" = '[1,1,117,0,2988441600,2862612480]' ]
	[ "$(jq -c '[.runs[0].first_oom_event, .recorded_oom.event]' out)" = '[408,408]' ]
}

@test "a key without effect is named" {
	run gpumemsnap whatif -c graph_capture_record_stream_reuse:True "$data/../torch/streams.pickle.gz"
	[[ "$output" == *'graph_capture_record_stream_reuse has no effect on what is predicted here.'* ]]
	run gpumemsnap whatif -c max_split_size_mb:32,expandable_segments:False "$data/../torch/streams.pickle.gz"
	[[ "$output" != *'no effect'* ]]
}

@test "growth:False takes the pool at the start, and says if that is too little or too much" {
	gpumemsnap whatif -f json -m 4GiB -c growth:False,memory_limit:2GiB -c growth:False,memory_limit:1700MiB -c growth:False,memory_limit:5GiB \
		"$data/mix1.pickle.gz" | jq -c '[.runs[] | [.reserved_peak, .device_allocs, .ooms]]' >out
	[ "$(<out)" = '[[2147483648,1,0],[1782579200,1,1],[0,0,1]]' ]
}

@test "a recording of plain driver calls is replayed too" {
	cat >s.json <<-'J'
	{"format":"gpumemsnap","version":1,"meta":{"command":"./app","complete":true,"history":"complete"},
	"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],"ops":["device.alloc","device.free"],
	"strings":["","leak","app.c"],"frames":[[0,0,0,0],[1,2,7,0]],"stacks":[[],[1]],
	"events":[
	[10,0,0,4096,1000,0,1,0,0],
	[20,0,0,8192,500,0,1,0,0],
	[30,1,0,8192,0,0,0,0,0],
	[40,0,0,8192,400,0,1,0,0]]}
	J
	gpumemsnap whatif -f json -c '' s.json >out
	gpumemsnap whatif s.json | grep -q 'cudaMalloc \*' # what the program does
	[ "$(gpumemsnap whatif s.json | grep -c '(default) \*')" = 0 ]
	[ "$(jq -c '[.fidelity, .runs[0].reserved_peak, .runs[0].allocated_peak, .runs[0].requested_peak, .runs[0].device_allocs]' out)" = '[null,2097152,1536,1500,1]' ]
}

@test "a recording without allocations is no error" {
	cat >s.json <<-'J'
	{"format":"gpumemsnap","version":1,"meta":{"command":"./app","complete":true},"event_fields":["t_ns","op","device","addr","size","stream","stack","thread","pool"],
	"ops":["device.alloc"],"strings":[""],"frames":[[0,0,0,0]],"stacks":[[]],
	"events":[
	]}
	J
	run gpumemsnap whatif s.json
	[ "$status" -eq 0 ]
	[[ "$output" == *"no allocations"* ]]
}

@test "without a history nothing is recommended" {
	python3 -c "import gzip, pickle, sys
s = pickle.load(gzip.open(sys.argv[1]))
s['device_traces'] = [[] for _ in s['device_traces']]
pickle.dump(s, open('bare.pickle', 'wb'))" "$data/../torch/streams.pickle.gz"
	run gpumemsnap whatif bare.pickle
	[[ "$(tr -s ' \n' ' ' <<<"$output")" == *'No history recorded: only what is live now was laid out anew, which recommends no setting.'* ]]
	gpumemsnap whatif -f json bare.pickle >out
	[ "$(jq -c '.recommended.conf' out)" = null ]
}

@test "blocks that other streams use complete stream by stream, as two threads on a GPU recorded it" {
	gpumemsnap whatif -c '' -f json "$BATS_TEST_DIRNAME/../data/waits.json.gz" >out
	[ "$(jq -c '.fidelity' out)" = '{"events":1261,"matched":1261,"first_mismatch":null}' ]
}
