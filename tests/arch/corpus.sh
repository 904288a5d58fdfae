#!/bin/bash
# corpus.sh: every fuzz target goes through its stored corpus, as TAP.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build}"
n=0
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c) name=${name#fuzz_}
	n=$((n + 1))
	if [ ! -x "$B/tests/fuzz/fuzz_$name" ]; then
		echo "ok $n - the corpus of $name # SKIP $B/tests/fuzz/fuzz_$name is not built"
	elif out=$(timeout 60 "$B/tests/fuzz/fuzz_$name" "tests/fuzz/corpus/$name" 2>&1) && [ "$out" != '0 inputs' ]; then
		echo "ok $n - the corpus of $name neither crashes nor hangs its reader"
	else
		echo "not ok $n - the corpus of $name neither crashes nor hangs its reader"
		printf '%s\n' "$out" | head -20 | sed 's/^/# /'
	fi
done
echo "1..$n"
