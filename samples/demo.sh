#!/bin/bash
# demo.sh: what `make demo` does. Records a sample on the GPU, or on the simulated driver where
# there is none, prints the report and leaves two pictures in the current directory. In the tarball of
# `make dist` it stands in share/gpumemsnap/samples, with the built samples in bin beside it.
set -euo pipefail
: "${B:=build}"
here=$(cd "$(dirname "$0")" && pwd)
samples=$B/samples gpumemsnap=$B/bin/gpumemsnap
if [ -d "$here/bin" ]; then
	samples=$here/bin gpumemsnap=$(cd "$here/../../.." && pwd)/bin/gpumemsnap
fi
run() { # show the command as a user would type it, then do it
	printf '\n$ %s\n' "$1"
	shift
	"$@"
}
snapshot=snapshot.json
sim=--sim
if ls /dev/nvidia[0-9]* >/dev/null 2>&1 && ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	sim=
fi
if [ -x "$samples/growth" ]; then
	[ -n "$sim" ] && echo 'No NVIDIA driver here: the sample runs on the simulated driver.'
	# shellcheck disable=SC2086
	run "gpumemsnap record $sim ./growth" "$gpumemsnap" record $sim "$samples/growth"
else
	echo 'No CUDA headers here, so record was not built (set CUDA_HOME to a toolkit for it).'
	echo 'A PyTorch training run that was recorded on an H200 is shown instead.'
	snapshot=tests/data/torch/train.pickle.gz
fi
run "gpumemsnap report $snapshot" "$gpumemsnap" report "$snapshot"
run "gpumemsnap flame $snapshot > flame.png" "$gpumemsnap" flame "$snapshot" -o flame.png
run "gpumemsnap timeline $snapshot > timeline.png" "$gpumemsnap" timeline "$snapshot" -o timeline.png
printf '\nLook at flame.png and timeline.png. Then try it on a program of yours: %s record ./app\n' "$gpumemsnap"
