# The report in words, compared with how it read when somebody last looked at it (tests/golden/report).
# UPDATE=1 bats tests/cli/report_golden.bats writes what is printed now; read the difference before you commit it.

setup() {
	golden="$BATS_TEST_DIRNAME/../golden/report"
	cd "$BATS_TEST_DIRNAME/../data"
}

same() { # NAME COMMAND…
	local name=$1
	shift
	"$@" >"$BATS_TEST_TMPDIR/now"
	if [ -n "${UPDATE:-}" ]; then
		cp "$BATS_TEST_TMPDIR/now" "$golden/$name.txt"
	fi
	diff -u "$golden/$name.txt" "$BATS_TEST_TMPDIR/now"
}

@test "a leak in a training loop" { same leak gpumemsnap report torch/leak.pickle.gz; }
@test "out of memory by a limit" { same oom gpumemsnap report torch/oom.pickle.gz; }
@test "a ring that lost its beginning" { same ring gpumemsnap report torch/ring.pickle.gz; }
@test "nothing wrong, on a narrow page" { same train_narrow gpumemsnap report --width 60 --top 5 torch/train.pickle.gz; }
@test "the same without Unicode" { LC_ALL=C same train_ascii gpumemsnap report --width 80 --top 3 torch/train.pickle.gz; }
@test "fragmentation over time and pinned segments" { same mix1_frag gpumemsnap report --frag --top 4 torch/mix1.pickle.gz; }
@test "streams, pools and sizes" { same streams gpumemsnap report --streams --pools --sizes torch/streams.pickle.gz; }
@test "phases and churn" { same train_phases gpumemsnap report --phases --churn torch/train.pickle.gz; }
@test "full stacks and their coverage" { same solver_stacks gpumemsnap report --stacks --top 3 --device 0 solver.json; }
@test "divided by function" { same leak_function gpumemsnap report --by function --top 5 torch/leak.pickle.gz; }
@test "a part of the recording" { same leak_where gpumemsnap report --where 'function~softmax|linear' --no-charts torch/leak.pickle.gz; }
@test "several recordings" { same several gpumemsnap report torch/leak.pickle.gz torch/ring.pickle.gz torch/train.pickle.gz torch/oom.pickle.gz; }
@test "two devices recorded at the driver" { same solver gpumemsnap report solver.json; }
@test "what changed" { same diff gpumemsnap diff --top 6 torch/leak.pickle.gz torch/ring.pickle.gz; }

# Figures that PyTorch itself gave for these runs (memory_stats) or that were counted by hand.
@test "the figures of the fixtures are exact" {
	while read -r name peak event end alloc_peak alloc_end reserved inactive live unmatched; do
		run gpumemsnap report -f json "torch/$name.pickle.gz"
		[ "$status" -eq 0 ]
		got=$(jq -r '.snapshots[0].devices[0] | [.requested.peak, .requested.peak_event, .requested.end, .allocated.peak,
			.allocated.end, .reserved.peak, .inactive_end, .live_blocks_end, .unmatched_frees] | join(" ")' <<<"$output")
		[ "$got" = "$peak $event $end $alloc_peak $alloc_end $reserved $inactive $live $unmatched" ] || {
			echo "$name: $got"
			return 1
		}
	done <<-'T'
	expandable 624474056 2277 285562880 624476160 285562880 757071872 200976384 129 0
	leak 377503673 3922 165791804 378823168 166845440 738197504 571352064 61 0
	mix1 1691777156 34821 1458493822 1700338176 1465238528 2120220672 654982144 333 0
	oom 2810183680 404 2805989376 2862612480 2858418176 2988441600 130023424 117 0
	ring 615012616 715 323391488 617111040 325488640 750780416 425291776 165 65
	streams 139103204 371 136251204 139103744 136251392 226492416 90241024 5 0
	train 2026901512 1936 399048704 2034242560 406388736 2308964352 1902575616 237 0
	T
}
