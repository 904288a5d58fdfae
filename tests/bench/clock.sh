# shellcheck shell=bash disable=SC2016
# clock.sh: how long commands take, by the clock. Sourced by what measures: run.sh here, and cost.sh on a GPU.
seconds() { # COMMAND…: how long it took
	local from=$EPOCHREALTIME
	"$@" >/dev/null 2>&1
	awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f\n", b - a }'
}
until_it_runs() { # COMMAND…: ms from its start until a program that it starts runs
	local from=$EPOCHREALTIME
	awk -v a="$from" -v b="$("$@" bash -c 'echo $EPOCHREALTIME' 2>/dev/null)" 'BEGIN { if (b != "") printf "%.2f\n", (b - a) * 1000 }'
}
