# allocator.bats: libgpumemalloc in programs: alone, recorded, and behind an unchanged program.

setup() {
	[ -e "$B/lib/libgpumemalloc.so" ] || skip 'the allocator was not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR" || return 1
	export LD_LIBRARY_PATH=$B/lib/gpumemsnap/sim
}
sample() { "$B/samples/gma_$1"; }

@test "temporaries of all steps live on the first step's segments" {
	[ "$(sample reuse)" = '600 blocks, 3 segments, peak 26.2 MiB in 42.0 MiB' ]
}

@test "a block that another stream uses is not reused before that stream is done" {
	[ "$(sample streams)" = 'the second batch is elsewhere, the third where the first was' ]
}

@test "expandable segments grow where fixed ones pile up" {
	[ "$(sample expand)" = 'reserved: 1892 MiB in fixed segments, 320 MiB in expandable ones' ]
}

@test "a private pool keeps its addresses until it is released" {
	run sample pools
	[ "${lines[0]}" = 'outside the graph its memory is left alone' ]
	[ "${lines[1]}" = 'reserved 2 MiB for the graph, 0 MiB after it' ]
}

@test "out of memory says why, in one sentence" {
	run sample why
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" == limit:*'the limit of 64.00 MiB forbids it'*'memory_limit would have to allow 36.00 MiB more' ]]
	[[ "${lines[1]}" == shortage:*'a real shortage, the device has 16.00 GiB'* ]]
	[[ "${lines[2]}" == fragmentation:*'226.00 MiB are cached for it, but in 4 pieces, the largest of 56.50 MiB; 226.00 MiB are pinned by small blocks (6.00 MiB in 4 from gma_why+0x'*' keep 226.00 MiB); expandable_segments:True would have avoided it' ]]
	[ "${lines[3]}" = 'the same with expandable segments: it fits' ]
	[[ "${lines[4]}" == streams:*'cached for other streams or pools'* ]]
}

@test "GPUMEMALLOC_CONF configures it, and wins over PYTORCH_CUDA_ALLOC_CONF" {
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True run sample reuse
	[[ "$output" == '600 blocks, 0 segments'* ]]
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True GPUMEMALLOC_CONF=large_segment_size_mb:40 run sample reuse
	[ "$output" = '600 blocks, 2 segments, peak 25.7 MiB in 42.0 MiB' ] || { echo "$output"; false; }
	GPUMEMALLOC_CONF=growth:False,memory_limit:64MiB run sample reuse
	[ "$output" = '600 blocks, 3 segments, peak 26.2 MiB in 42.0 MiB' ] || { echo "$output"; false; }
}

@test "a wrong configuration is refused with key and place" {
	GPUMEMALLOC_CONF=expandable_segments:True,max_split:3 run sample reuse
	[ "$status" -eq 1 ]
	[[ "$output" == *"character 26: key 'max_split' is not known"* ]]
}

@test "recorded, a snapshot has the blocks, the segments and the driver's allocations" {
	gpumemsnap record --sim -q -o run.json "$B/samples/gma_reuse" >out
	grep -q '600 blocks' out
	gpumemsnap report -f json run.json >r.json
	[ "$(jq -c '.snapshots[0].devices[0].kinds | [.block.allocs,.block.frees,.segment.allocs,.device.allocs]' r.json)" = '[600,600,3,3]' ]
	[ "$(jq -c '.snapshots[0].devices[0] | [.reserved.peak, .allocated.peak]' r.json)" = '[44040192,27467776]' ]
	gpumemsnap report run.json | grep -q 'asked for by tensor gma_reuse.c'
	gpumemsnap whatif -f json -c '' run.json >w.json
	[ "$(jq -c '.fidelity | [.matched == .events, .events]' w.json)" = '[true,1203]' ]
}

@test "an allocator that is destroyed has given back what lived in it" {
	gpumemsnap record --sim -q -o run.json "$B/samples/gma_expand"
	gpumemsnap report -f json run.json >r.json
	[ "$(jq -c '.snapshots[0].devices[0] | [.requested.peak, .requested.end, .reserved.end, .live_blocks_end]' r.json)" = '[327155712,0,0,0]' ]
	[ "$(jq '.snapshots[0].devices[0].anomalies | add' r.json)" -eq 0 ]
}

@test "GPUMEMSNAP_OUTPUT records without gpumemsnap record" {
	mkdir tmp
	TMPDIR=$PWD/tmp GPUMEMSNAP_OUTPUT=alone.json sample reuse
	for _ in $(seq 600); do [ -e alone.json ] && break; sleep 0.1; done
	[ "$(gpumemsnap report -f json alone.json | jq -c '.snapshots[0].devices[0].kinds.block | [.allocs,.frees]')" = '[600,600]' ]
	for _ in $(seq 600); do [ -z "$(ls tmp)" ] && break; sleep 0.1; done
	[ -z "$(ls tmp)" ]
}

@test "record --allocator caching serves an unchanged program from the pool" {
	gpumemsnap record --sim -q -o plain.json "$B/samples/growth" >plain.out
	gpumemsnap record --sim -q -o pool.json --allocator caching "$B/samples/growth" >pool.out
	cmp plain.out pool.out
	figures() { gpumemsnap report -f json "$1" | jq -c '.snapshots[0].devices[0] | [.requested.peak,.requested.end,.live_blocks_end]'; }
	[ "$(figures plain.json)" = "$(figures pool.json)" ]
	[ "$(gpumemsnap report -f json plain.json | jq '.snapshots[0].devices[0].kinds.device.allocs')" -eq 1251 ]
	[ "$(gpumemsnap report -f json pool.json | jq '.snapshots[0].devices[0].kinds.device.allocs')" -lt 60 ]
	[ "$(gpumemsnap whatif -f json -c '' pool.json | jq '.fidelity | .matched == .events and .events > 2000')" = true ]
}

@test "record --allocator serves a program that is given an environment of its own" {
	gpumemsnap record --sim -q -o pool.json --allocator caching env -i "$B/samples/growth" >/dev/null
	[ "$(gpumemsnap report -f json pool.json | jq '.snapshots[0].devices[0].kinds.device.allocs')" -lt 60 ]
	run gpumemsnap record --sim -q -o pool.json --allocator caching env -i PATH="$PATH" sh -c "'$B/samples/growth'; exit 3"
	[ "$status" -eq 3 ]
	[ "$(gpumemsnap report -f json pool.json | jq '.snapshots[0].devices[0].kinds.device.allocs')" -lt 60 ]
}

@test "record --allocator caching-async serves the stream-ordered calls too" {
	gpumemsnap record --sim -q -o a.json --allocator caching-async "$B/samples/streams"
	[ "$(gpumemsnap report -f json a.json | jq '.snapshots[0].devices[0].kinds.async.allocs // 0')" -eq 0 ]
	[ "$(gpumemsnap report -f json a.json | jq '.snapshots[0].devices[0].kinds.block.allocs')" -gt 0 ]
}

@test "gma_snapshot writes a state that report reads" {
	cat >s.c <<-'C'
	#include "gpumemalloc.h"
	#include <stdio.h>
	int main(void)
	{
		struct gma *g = gma_for_device(0);
		void *a, *b;
		if (!g || gma_malloc(g, &a, 1000, 0) || gma_malloc(g, &b, 5 << 20, 7) || gma_snapshot(g, "state.json"))
			return puts(gma_error_text()), 1;
		return gma_valid(g) != NULL;
	}
	C
	cc -I"$BATS_TEST_DIRNAME/../../include" s.c -L"$B/lib" -lgpumemalloc -o s
	LD_LIBRARY_PATH=$B/lib:$LD_LIBRARY_PATH ./s
	[ "$(gpumemsnap report -f json state.json | jq -c '.snapshots[0].devices[0] | [.requested.end,.reserved.end,.live_blocks_end]')" = '[5243880,23068672,2]' ]
}

@test "many threads never get overlapping memory" {
	"$B/tests/stress/gma_threads" 8 400
}

@test "a program links against the static library" {
	cat >p.c <<-'C'
	#include "gpumemalloc.h"
	int main(void) { return gma_for_device(-1) != 0; }
	C
	cc -I"$BATS_TEST_DIRNAME/../../include" p.c "$B/lib/libgpumemalloc.a" -ldl -lpthread -o p
	./p
}
