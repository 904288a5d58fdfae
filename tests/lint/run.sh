#!/bin/bash
# run.sh [FILE…]: what `make lint` does: cppcheck, gcc -fanalyzer and clang-tidy (which runs Clang's static
# analyser, the one of scan-build) over the sources. Prints what is not in tests/lint/judged, and fails if
# there is something. Takes minutes; never part of `make check`.
set -u
cd "$(dirname "$0")/../.." || exit 2
cuda=${CUDA_HOME:-/usr/local/cuda}/include
files=("$@")
[ $# -gt 0 ] || files=(src/*/*.c samples/*.c)
[ -e "$cuda/cuda.h" ] || files=($(printf '%s\n' "${files[@]}" | grep -vE '^(src/(record|simcuda|alloc)|samples)/'))
flags="-std=gnu11 -D_GNU_SOURCE -DGPUMEMSNAP_VERSION=__FILE__ -DFONT_DIR=__FILE__ -Isrc -Iinclude -isystem $cuda
	$(pkg-config --cflags libcjson libpng freetype2 | sed 's/-I/-isystem /g')"
export flags
found=$(mktemp)
trap 'rm -f "$found"' EXIT

with_cppcheck() {
	nice cppcheck -j "$(nproc)" --quiet --std=c11 --enable=warning,performance,portability -D_GNU_SOURCE -D__x86_64__ \
		-DGPUMEMSNAP_VERSION='""' -Isrc -Iinclude --suppress=preprocessorErrorDirective --template='{file}:{line}: {id}: {message}' "$@"
}
# shellcheck disable=SC2086
one_gcc() { gcc $flags -O1 -fanalyzer -c -o /dev/null "$1" 2>&1 | grep -E '^src.*warning:'; }
# shellcheck disable=SC2086
one_clang() { clang-tidy --quiet "$1" -- $flags 2>/dev/null | grep -E '^/.*(warning|error):'; }
export -f one_gcc one_clang
each() { printf '%s\n' "${@:2}" | nice xargs -P "$(nproc)" -n 1 bash -c "$1"' "$1"' _; }
with_gcc() { each one_gcc "$@"; }
with_clang() { each one_clang "$@"; }

missing=
for tool in cppcheck gcc clang-tidy; do
	command -v $tool >/dev/null || { missing+=" $tool"; continue; }
	echo "== $tool"
	"with_${tool%-tidy}" "${files[@]}" 2>&1 | sed "s|^$PWD/||" | sort -u >>"$found"
done

judged=$(sed -e '/^#/d' -e 's/[.[\^$]/\\&/g' -e 's/\*/.*/g' -e 's/^/^/' tests/lint/judged)
grep -v -e "$judged" "$found"
[ $? -eq 1 ] || exit 1
echo "clean: $(wc -l <"$found") findings, all judged (tests/lint/judged)${missing:+; not installed, left out:$missing}"
