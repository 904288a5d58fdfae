#!/bin/bash
# demo.sh: what `make demo` does. Records a sample on the GPU, or on the simulated driver where
# there is none, prints the report and leaves two pictures in the current directory.
set -euo pipefail
: "${B:=build}"
run() { # show the command as a user would type it, then do it
	printf '\n$ %s\n' "$1"
	shift
	"$@"
}
gpumemsnap=$B/bin/gpumemsnap
sim=--sim
if ls /dev/nvidia[0-9]* >/dev/null 2>&1 && ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	sim=
fi
[ -n "$sim" ] && echo 'No NVIDIA driver here: the sample runs on the simulated driver.'

if [ ! -x "$B/samples/growth" ]; then
	echo 'Without the CUDA headers record was not built; set CUDA_HOME to a toolkit and try again.'
	exit 1
fi
# shellcheck disable=SC2086
run "gpumemsnap record $sim ./growth" "$gpumemsnap" record $sim "$B/samples/growth"
run 'gpumemsnap report' "$gpumemsnap" report
run 'gpumemsnap flame > flame.png' "$gpumemsnap" flame -o flame.png
run 'gpumemsnap timeline > timeline.png' "$gpumemsnap" timeline -o timeline.png
printf '\nLook at flame.png and timeline.png. Then try it on a program of yours: %s record ./app\n' "$gpumemsnap"
