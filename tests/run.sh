#!/bin/bash
# run.sh [NAME…]: every test, or those whose file name contains a NAME. Everything speaks TAP.
#
#   tests/unit/test_*.c   cmocka programs, built into $B/tests/unit
#   tests/cli/*.bats      commands as a user types them; gpumemsnap is on PATH
#   tests/arch/*.sh       rules of the house
#
# The last line is "N passed, N failed, N skipped"; the exit status is 1 if a test failed.
set -u
cd "$(dirname "$0")/.." || exit 2
: "${B:=$PWD/build}"
export B PATH="$B/bin:$PATH" CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8 NO_COLOR=1 GPUMEMSNAP_FONTS=
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

suites() {
	find "$B/tests/unit" -maxdepth 1 -type f -executable -name 'test_*' 2>/dev/null | while read -r f; do
		[ -e "tests/unit/${f##*/}.c" ] && echo "$f"
	done
	ls tests/cli/*.bats tests/arch/*.sh 2>/dev/null
}
wanted() {
	[ $# -eq 1 ] && return 0
	local file=$1 name
	shift
	for name in "$@"; do
		case ${file##*/} in *"$name"*) return 0 ;; esac
	done
	return 1
}
run_one() { # FILE: its TAP goes to $out/NAME.tap
	local name=${1##*/} rc start=$SECONDS
	case $1 in # the limit ends what hangs; on a machine that is very busy a suite may take many times as long as usual
	*.bats) timeout 1800 bats --tap "$1" ;;
	*) timeout 1800 "$1" ;;
	esac >"$out/$name.tap" 2>&1 </dev/null
	rc=$?
	# cmocka's TAP calls a skipped test "not ok N # SKIP".
	sed -i 's/^not ok \(.*# SKIP\)/ok \1/' "$out/$name.tap"
	# A crash or a time-out must not pass for "no failures".
	if [ $rc -ne 0 ] && ! grep -q '^not ok' "$out/$name.tap"; then
		echo "not ok - $name ended with status $rc" >>"$out/$name.tap"
	fi
	printf '%-32s %s ok, %s failed (%ds)\n' "$name" "$(grep -c '^ok' "$out/$name.tap")" \
		"$(grep -c '^not ok' "$out/$name.tap")" $((SECONDS - start))
	grep -A14 '^not ok' "$out/$name.tap" | sed 's/^/    /'
}
export -f run_one
export out

suites | while read -r f; do wanted "$f" "$@" && echo "$f"; done |
	xargs -r -P "${JOBS:-$(nproc)}" -I{} bash -c 'run_one "$1"' _ {}

cat "$out"/*.tap >"$out/all" 2>/dev/null
failed=$(grep -c '^not ok' "$out/all")
skipped=$(grep -ciE '^ok.*# *skip' "$out/all")
passed=$(($(grep -c '^ok' "$out/all") - skipped))
grep -hiE '^ok.*# *skip' "$out/all" | sed 's/^ok [0-9]* *-* */skipped: /'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
