#!/bin/bash
# aarch64.sh: no assumption about x86, as TAP: everything compiles for aarch64, and (with qemu-user) a
# program recorded there is read here. Needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build}"
B=${B#"$PWD"/} # as the Makefile calls it
cc=aarch64-linux-gnu-gcc
out=$B/aarch64
cuda=${CUDA_HOME:-/usr/local/cuda}/include
emulate="timeout 120 qemu-aarch64 -L /usr/aarch64-linux-gnu"
n=0
result() { # STATUS NAME: what went wrong is in $out/said
	n=$((n + 1))
	[ "$1" -eq 0 ] && { echo "ok $n - $2"; return; }
	echo "not ok $n - $2"
	grep -v '^  [A-Z]' "$out/said" | head -20 | sed 's/^/# /'
}
if ! command -v $cc >/dev/null; then
	echo "1..0 # SKIP $cc is not installed"
	echo "ok 1 - compiling for aarch64 # SKIP $cc is not installed"
	exit 0
fi
rm -rf "$out/headers" "$out/spools"
mkdir -p "$out/headers" "$out/spools"

# The libraries' headers are the same for every machine; only those we use, none of this machine's libc.
for h in /usr/include/{zlib,zconf,png,pngconf,pnglibconf,dwarf,libelf,gelf}.h /usr/include/*/{zconf,pnglibconf}.h \
	/usr/include/{cjson,elfutils,freetype2,libpng16}; do
	[ -e "$h" ] && ln -sfn "$h" "$out/headers/"
done
flags="-std=gnu11 -D_GNU_SOURCE -DGPUMEMSNAP_VERSION=__FILE__ -DFONT_DIR=__FILE__ -Isrc -Iinclude -isystem $out/headers -isystem $out/headers/freetype2
	-Wall -Wextra -Wshadow -Wformat=2 -Werror"
# shellcheck disable=SC2086
ls src/{base,model,symbol,format,analyze,render,nvml,cli}/*.c src/alloc/core*.c |
	xargs -P 2 -n 8 $cc $flags -fsyntax-only >"$out/said" 2>&1
result $? 'the command-line tool compiles for aarch64 without a warning'

if [ ! -e "$cuda/cuda.h" ]; then
	echo "ok $((n + 1)) - what runs in other processes # SKIP no CUDA headers"
	echo "1..$((n + 1))"
	exit 0
fi
recorder=$out/lib/gpumemsnap/libgpumemsnap.so
MAKEFLAGS='' make -s -j2 B="$out" CC=$cc AR=aarch64-linux-gnu-ar CFLAGS='-O1 -g' WERROR=1 NO_INSTALL=1 "$recorder" \
	"$out/lib/gpumemsnap/sim/libcuda.so.1" "$out/lib/libgpumemalloc.so" "$out/lib/gpumemsnap/libgpumemcache.so" >"$out/said" 2>&1
result $? 'recorder, simulated driver and allocator build for aarch64 without a warning'

# The simulated driver reserves more address space than qemu can keep account of: the least driver does.
recorded() {
	cat >"$out/app.c" <<-'C'
		#include <cuda.h>
		__attribute__((noinline)) static CUdeviceptr keep(size_t n) { CUdeviceptr p = 0; return cuMemAlloc(&p, n) ? 0 : p; }
		__attribute__((noinline)) static int work(int i) { CUdeviceptr p = keep(1000u); return p && i & 1 ? cuMemFree(p) : !p; }
		int main(void)
		{
			CUcontext c;
			int i, bad = cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c);
			for (i = 0; i < 10; i++)
				bad |= work(i);
			return bad;
		}
	C
	$cc -O1 -g -shared -fPIC -isystem "$cuda" -o "$out/libcuda.so.1" tests/fault/libfake.c &&
		$cc -O1 -g -isystem "$cuda" -o "$out/app" "$out/app.c" "$out/libcuda.so.1" &&
		$emulate -E LD_LIBRARY_PATH="$out" -E LD_PRELOAD="$recorder" -E GPUMEMSNAP_SPOOL="$(realpath "$out/spools")" "$out/app" &&
		"$B/bin/gpumemsnap" report --leaks "$out"/spools/*.spool >"$out/report" || return 1
	grep -q '4.88 KiB  100.0 %       5 .* keep app.c:2 ← work app.c:3 ← main app.c:9' "$out/report" || { cat "$out/report"; return 1; }
}
if [ -e "$recorder" ] && command -v qemu-aarch64 >/dev/null; then
	recorded >"$out/said" 2>&1
	result $? 'a program recorded on aarch64 is read here, with its stacks'
else
	n=$((n + 1))
	echo "ok $n - a program recorded on aarch64 # SKIP qemu-aarch64 is not installed"
fi
echo "1..$n"
