# words.sh: what run.sh and ranks.sh share: TAP, the unpacked tarball on PATH, record and its report. Sourced after
# `here` (this folder) is set, with the script's own arguments: [TARBALL], the newest under build/ unless named.
# Leaves: $work (the current folder), $out (results to look at: $OUT, else a temporary folder), $sim, $root.
root=$(cd "$here/../.." && pwd)
tarball=$(realpath "${1:-$(find "$root/build" -maxdepth 1 -name 'gpumemsnap-*.tar.gz' 2>/dev/null | head -n 1)}" 2>/dev/null)
out=${OUT:-$(mktemp -d)}
work=$(mktemp -d)
mkdir -p "$out"
cd "$work" || exit 2
n=0

# --- TAP ------------------------------------------------------------------------------------
ok() { n=$((n + 1)) && echo "ok $n - $*"; }
not_ok() { # NAME FILE…: the ends of the files say why
	local name=$1 f
	shift
	n=$((n + 1))
	echo "not ok $n - $name"
	for f in "$@"; do [ -s "$f" ] && tail -n 12 "$f" | cut -c1-400 | sed 's/^/# /'; done
}
skip() { n=$((n + 1)) && echo "ok $n - $1 # SKIP $2"; }
say() { echo "# $*"; }
have() { command -v "$1" >/dev/null 2>&1; }
judge() { # NAME STATUS FILE…
	local name=$1 status=$2
	shift 2
	if [ "$status" -eq 0 ]; then ok "$name"; else not_ok "$name" "$@"; fi
}

# --- tools ----------------------------------------------------------------------------------
record() { # NAME OPTIONS… -- COMMAND…: leaves NAME.json, NAME.out, NAME.err, and the report
	local name=$1 status
	shift
	timeout 120 gpumemsnap record -o "$out/$name.json" "$@" >"$name.out" 2>"$name.err"
	status=$?
	gpumemsnap report --format json "$out/$name.json" >"$out/$name.report.json" 2>>"$name.err" || status=1
	return $status
}
check() { python3 "$here/check.py" "$@"; }
sanitize() { # NAME COMMAND…
	GPU_TEST_RESET=1 timeout 120 compute-sanitizer --tool memcheck --leak-check full --show-backtrace no "${@:2}" \
		>"$1.sanitizer" 2>&1
}

if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1 && [ -z "${GPU_TEST_ANYWAY:-}" ]; then
	echo '1..0 # SKIP no NVIDIA GPU here'
	exit 0
fi
[ -n "$tarball" ] || { echo "Bail out! no tarball: make dist"; exit 2; }
mkdir dist
tar -xzf "$tarball" -C dist || { echo "Bail out! cannot unpack $tarball"; exit 2; }
PATH=$(dirname "$(find "$work/dist" -path '*bin/gpumemsnap' | head -1)"):$PATH
sim=$(dirname "$(find "$work/dist" -path '*sim/libcuda.so.1' | head -1)")
if gpumemsnap version >version.out 2>&1; then
	ok "the tarball's program runs here: $(head -1 version.out)"
else
	not_ok "the tarball's program runs here" version.out
	exit 1
fi
have nvidia-smi && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | sed 's/^/# /'
