# shellcheck shell=bash disable=SC2016,SC2154
# cost.sh: what recording costs (part of run.sh, which says what the functions used here do).
#
# Rounds in which every way runs once, so that what disturbs the machine disturbs all; a disturbance only adds,
# so the best of the rounds count. What is recorded goes to fresh pages of a file, whose first use costs several
# microseconds each on a virtual machine, whatever is written there; a flight recorder uses its pages again.
# The recorder is preloaded as `record` does it, but no snapshot is written.
least() { sort -n | head -n 1; }
. "$here/../bench/clock.sh"
minus() { awk -v a="${1:-}" -v b="${2:-}" 'BEGIN { if (a == "" || b == "") print "nan"; else printf "%.1f", a - b }'; }
at_most() { awk -v a="${1:-nan}" -v b="$2" 'BEGIN { exit !(a + 0 == a && a != "nan" && a <= b) }'; }
recorded() { # STACKS COMMAND…
	rm -rf cost.spool && mkdir cost.spool
	LD_PRELOAD=${library:-$sim/../libgpumemsnap.so} GPUMEMSNAP_SPOOL=$PWD/cost.spool GPUMEMSNAP_OPTIONS=stacks=$1 "${@:2}"
}
once() { # WAY: what bin/pair says that way
	case $1 in
	plain) timeout 60 bin/pair ;;
	none | alloc | all) recorded "$1" timeout 60 bin/pair ;;
	ring) recorded all,max-size=4000000 timeout 60 bin/pair ;;
	slow) library=$work/slow/libgpumemsnap.so recorded all timeout 60 bin/pair ;;
	cupti) [ ! -e bin/cupti_memory.so ] || LD_PRELOAD=$work/bin/cupti_memory.so timeout 60 bin/pair ;;
	pauses) timeout 60 bin/pair "$pause" ;;
	esac
}
best() { awk -v m="$2" -v n="$3" '$1 == m && $2 == n { print $3 }' "cost.$1.pairs" | least; } # WAY shared|own THREADS
more() { minus "$(best "$1" "$2" "$3")" "$(best plain "$2" "$3")"; }
bound() { # WHAT VALUE LIMIT: judged, with the value told
	at_most "$2" "$3"
	judge "$1 ($2)" $? cost.err
}
# In each round the ways start with another one, so that each meets what the others leave behind.
pairs() {
	local ways=(plain none alloc all ring slow cupti pauses) way pool threads round
	rm -f cost.*.pairs
	pause=150
	mkdir -p slow && cp "$sim/../libgpumemsnap.so" slow # without libunwind beside it
	for round in 0 2 4 6; do
		for way in "${ways[@]:round}" "${ways[@]:0:round}"; do
			once "$way" >>"cost.$way.pairs" 2>>cost.err
		done
		pause=$(awk -v n="$(more all shared 1)" 'BEGIN { printf "%.0f", (n + 0 > 0) ? n / 2 : 150 }')
	done
	say "a pair, ns: pool, threads | alone | more with: no stacks, the allocation's stack, both stacks, both in a flight recorder (no fresh pages) | CUPTI's memory records, no stacks | not recorded, pauses of $pause ns before each call"
	for pool in shared own; do
		for threads in 1 2 4 16; do
			say "$pool $threads | $(best plain $pool $threads) | +$(more none $pool $threads) +$(more alloc $pool $threads) +$(more all $pool $threads) +$(more ring $pool $threads) | +$(more cupti $pool $threads) | +$(more pauses $pool $threads)"
		done
	done
	bound "a pair recorded with the allocation's stack costs at most 300 ns more" "$(more alloc shared 1)" 300
	bound 'a pair recorded with both stacks costs at most 450 ns more' "$(more all shared 1)" 450
	bound 'stacks through the CUDA runtime need no unwinder: without libunwind as much' "$(more slow shared 1)" \
		"$(awk -v a="$(more all shared 1)" 'BEGIN { print a + 400 }')"
}
quick() { # THREADS STACKS: ns of a pair on a driver that takes no time and no lock
	local driver=$work/quick
	LD_LIBRARY_PATH=$driver recorded "$2" timeout 60 bin/rec_pair "$1" 100000 own 2>>cost.err | sed -n 's/.*ns_per_pair //p'
}
alone() {
	local ways=(none alloc all all,max-size=4000000) threads round stacks
	mkdir -p quick && cp bin/libquick.so quick/libcuda.so.1
	for round in 0 1 2 3; do
		for threads in 1 2 4 16; do
			for stacks in "${ways[@]:round}" "${ways[@]:0:round}"; do
				quick $threads "$stacks" >>"cost.$threads.$stacks.quick"
			done
		done
	done
	for threads in 1 2 4 16; do
		say "the recorder by itself, ns a pair, $threads threads: no stacks $(least <cost.$threads.none.quick), the allocation's stack $(least <cost.$threads.alloc.quick), both $(least <cost.$threads.all.quick), both in a flight recorder (no fresh pages) $(least <cost.$threads.all,max-size=4000000.quick)"
	done
	bound 'two threads record at 1.3 times the cost of one at most' "$(least <cost.2.all.quick)" \
		"$(awk -v a="$(least <cost.1.all.quick)" 'BEGIN { print 1.3 * a }')"
}

say "on $(uname -sr), clock $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null), spools on $(stat -f -c %T .), load $(cut -d' ' -f1 /proc/loadavg) of $(nproc)"
if [ -x bin/rec_pair ] && [ -e bin/libquick.so ]; then
	alone
else
	skip 'two threads record at 1.3 times the cost of one at most' 'no gcc or cuda.h'
fi
if [ -x bin/pair ]; then
	pairs
	for _ in $(seq 11); do
		until_it_runs env >>cost.plain.ms
		until_it_runs gpumemsnap record -q -o cost.json >>cost.record.ms
		seconds gpumemsnap record -q -o cost.json true >>cost.record.s
	done
	added=$(minus "$(least <cost.record.ms)" "$(least <cost.plain.ms)")
	say "record of a program that does nothing takes $(least <cost.record.s) s in all"
	bound 'a recorded program starts at most 30 ms later' "$added" 30
	for _ in $(seq 8); do
		timeout 60 bin/launch 2>>cost.err | tail -n 1 >>cost.plain.launch
		timeout 60 gpumemsnap record -q -o cost.json bin/launch 2>>cost.err | tail -n 1 >>cost.record.launch
	done
	plain=$(least <cost.plain.launch) ours=$(least <cost.record.launch)
	say "kernel launch: $plain ns, recorded $ours ns"
	bound 'launching kernels costs the same when recorded' "$ours" "$(awk -v a="$plain" 'BEGIN { print 1.03 * a }')"
else
	skip 'a recorded pair costs at most 450 ns more' 'no nvcc'
fi
