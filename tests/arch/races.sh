#!/bin/bash
# races.sh: the allocator and the recorder's spool, each under many threads, compiled to look for races
# (ThreadSanitizer). Without a compiler that can, or CUDA's headers, it says so.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}/include
echo 1..3

why=
echo 'int main(void) { return 0; }' >"$work/none.c"
tsan=(-fsanitize=thread -Og -g1 -fno-omit-frame-pointer)
if ! "${CC:-cc}" "${tsan[@]}" "$work/none.c" -o "$work/none" 2>/dev/null; then
	why='the compiler has no thread sanitizer'
elif ! "$work/none" 2>/dev/null; then
	why='programs with the thread sanitizer do not run here'
elif [ ! -e "$cuda/cuda.h" ]; then
	why='no CUDA headers'
fi
if [ -n "$why" ]; then
	for n in 1 2 3; do echo "ok $n - races # SKIP $why"; done
	exit 0
fi

build() { # NAME SOURCE…: as one program
	local name=$1
	shift
	"${CC:-cc}" "${tsan[@]}" -w -std=gnu11 -D_GNU_SOURCE -DGPUMEMSNAP_VERSION='"test"' -Isrc -Iinclude -isystem "$cuda" \
		"$@" -o "$work/$name" -ldl -lpthread >"$work/$name.log" 2>&1
}
result() { # STATUS NUMBER NAME FILE: a race shows in the status too
	if [ "$1" -eq 0 ]; then echo "ok $2 - $3"; else
		echo "not ok $2 - $3"
		grep -m1 -A12 'WARNING: ThreadSanitizer' "$4" | sed 's/^/# /'
		tail -n 3 "$4" | sed 's/^/# /'
	fi
}

# The recorder's dlsym stands before libc's; the sanitizer must not meet it before it has begun.
build spool -Ddlsym=rec_dlsym -Ddlvsym=rec_dlvsym src/record/*.c tests/stress/spool_threads.c &
spool=$!
shopt -s extglob
build alloc src/alloc/!(shim*).c tests/stress/gma_threads.c
alloc=$?
[ $alloc -eq 0 ] && timeout 300 "$work/alloc" 4 60 >"$work/alloc.log" 2>&1
result $? 1 'threads that share an allocator race for nothing' "$work/alloc.log"

# Once with room for all events, once as a flight recorder that must make room.
wait $spool
built=$?
mkdir "$work/all" "$work/ring"
[ $built -eq 0 ] && GPUMEMSNAP_SPOOL=$work/all timeout 300 "$work/spool" 4 1000 >"$work/spool.log" 2>&1 &&
	GPUMEMSNAP_SPOOL=$work/ring GPUMEMSNAP_OPTIONS=max-size=524288 timeout 300 "$work/spool" 4 2000 >"$work/ring.log" 2>&1
rc=$?
[ -e "$work/ring.log" ] && cat "$work/ring.log" >>"$work/spool.log"
result $rc 2 'threads that share a spool race for nothing' "$work/spool.log"
"$B/bin/gpumemsnap" dump -q -o "$work/all.json" "$work"/all/*.spool >"$work/dump.log" 2>&1 &&
	[ "$("$B/bin/gpumemsnap" report -f json "$work/all.json" | jq -r '.snapshots[0].devices[0].kinds.block | "\(.allocs) \(.frees)"')" = '8000 8000' ]
result $? 3 'and none of their events is lost' "$work/dump.log"
