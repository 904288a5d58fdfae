# record: jobs of several ranks, by MPI and by launchers like torchrun.

load record_helpers

setup() {
	recorder_setup
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}
needs_mpi() {
	mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "no Open MPI here"
	mpirun --oversubscribe -np 2 true >/dev/null 2>&1 || skip "Open MPI does not work here"
}
# ranks: of each snapshot its rank, whether it is complete, and its allocations.
ranks() {
	local f
	for f in s.[0-9].json; do
		echo "$(jq -r '"\(.meta.rank) \(.meta.complete)"' "$f") $(events device.alloc "$f")"
	done
}

@test "mpirun of four ranks, recorded once: four snapshots named by rank" {
	needs_mpi
	rec mpirun --oversubscribe -np 4 "$F/ends" return
	[ "$status" -eq 0 ]
	[ "$(find . -name 's*.json' | sort | xargs)" = "./s.0.json ./s.1.json ./s.2.json ./s.3.json" ]
	[ "$(ranks)" = $'0 true 20\n1 true 20\n2 true 20\n3 true 20' ]
	[ -z "$(find . -name '*.spool*')" ]
}

@test "mpirun of four recorders with one output name: four snapshots" {
	needs_mpi
	run mpirun --oversubscribe -np 4 gpumemsnap record --sim -q -o s.json "$F/ends" return
	[ "$status" -eq 0 ]
	[ "$(ranks)" = $'0 true 20\n1 true 20\n2 true 20\n3 true 20' ]
}

@test "a rank that fails fails the job, and no rank's recording is lost" {
	needs_mpi
	cat >rank.sh <<-'SH'
		[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$1" alloc:1 print:ready sleep:60000 >ready
		until [ -s ready ]; do sleep 0.05; done
		exec "$1" alloc:1 abort
	SH
	rec mpirun --oversubscribe -np 2 sh rank.sh "$F/actor"
	[ "$status" -ne 0 ]
	[ "$(ranks)" = $'0 false 1\n1 false 1' ]
}

@test "a launcher that sets RANK, as torchrun does" {
	cat >launch.py <<-'PY'
		import os, subprocess, sys
		ranks = [subprocess.Popen(sys.argv[1:], env=dict(os.environ, RANK=str(r), WORLD_SIZE="4")) for r in range(4)]
		sys.exit(max(p.wait() for p in ranks))
	PY
	rec python3 launch.py "$F/ends" return
	[ "$status" -eq 0 ]
	[ "$(ranks)" = $'0 true 20\n1 true 20\n2 true 20\n3 true 20' ]
	gpumemsnap report s.?.json | grep -q 's.3.json'
}
