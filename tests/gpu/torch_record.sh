# torch_record.sh: `record --torch`, the account and `top` with the real PyTorch. Sourced by run.sh, whose
# words (record, judge, say …) it uses.

both() { # NAME WHATS MODE OPTIONS…: a run of torch_train.py with both levels, and what must be true of it
	local name=$1 whats=$2 mode=$3
	shift 3
	record "$name" --torch "$@" -- python3 "$here/torch_train.py" "$mode" </dev/null &&
		gpumemsnap report --accounting --format json "$out/$name.json" >"$out/$name.report.json" 2>>"$name.err" &&
		python3 "$here/torch_check.py" "$out/$name.report.json" "$name.out" $whats >"$name.check" 2>&1
	judge "torch, $name: $whats" $? "$name.check" "$name.out" "$name.err"
	sed 's/^/# /' "$name.check"
}
both levels 'figures segments account library' plain
grep -q '"nvml":.*true' "$out/levels.report.json" || say "NVML did not list this process: in a container its ids are the host's"
both refused 'figures segments oom' oom
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True both expandable 'figures segments account library' plain
PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync both async 'driver-only account' plain

# What convert writes, in PyTorch's own viewer.
python3 "$here/torch_viewer.py" "$out/matmul.json" "$out"/{levels,refused,expandable,async}.json >viewer.check 2>&1
judge "PyTorch's _memory_viz finds report's figures in what convert writes" $? viewer.check
sed 's/^/# /' viewer.check

# The loss is the same, and what the history costs.
time_of() { local t=$EPOCHREALTIME; "$@" >/dev/null 2>&1 </dev/null; awk -v a="$t" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'; }
say "torch_train.py: $(time_of python3 "$here/torch_train.py") s; recorded $(time_of gpumemsnap record -q -o time.json python3 "$here/torch_train.py") s; with --torch $(time_of gpumemsnap record -q --torch -o time.json python3 "$here/torch_train.py") s"

# While it runs: top, and a snapshot of both levels.
mkfifo hold
gpumemsnap record -q --torch -o "$out/waiting.json" python3 "$here/torch_train.py" wait <hold >waiting.out 2>waiting.err &
recorder=$!
exec 8>hold
for _ in $(seq 600); do grep -q ready waiting.out && break; sleep 0.1; done
pid=$(pgrep -P $recorder | head -n 1)
gpumemsnap top --format json "$pid" >"$out/top.json" 2>top.err
gpumemsnap top --once "$pid" 2>>top.err | sed 's/^/# /'
python3 - "$out/top.json" "$pid" <<'END' >top.check 2>&1
import json, sys
t = json.load(open(sys.argv[1]))
p = [p for p in t["processes"] if p["pid"] == int(sys.argv[2])]
assert t["no_nvml"] is None and t["gpus"][0]["used"] > 0, t["gpus"]
assert p and p[0]["recording"]["live"] > 0 and p[0]["recording"]["stacks"], p
assert p[0]["used"] is None or p[0]["used"] > p[0]["recording"]["live"], p
END
judge 'top shows the recorded process beside NVML' $? top.check top.err
gpumemsnap dump -q -o "$out/now.json" "$pid" 2>dump.err && gpumemsnap report --format json "$out/now.json" >"$out/now.report.json" &&
	python3 "$here/torch_check.py" "$out/now.report.json" waiting.out figures segments >now.check 2>&1
judge 'dump of a running program has both levels' $? now.check dump.err
exec 8>&-
wait $recorder
