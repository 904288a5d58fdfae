#!/usr/bin/env bats
# ranks.bats: a job of four ranks, as torchrun starts them, recorded by one command on the simulated driver,
# compared, merged and shown.

setup() {
	[ -x "$B/samples/leak" ] || skip 'record was not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR" || return 1
	cat >launch.py <<-'PY'
		import multiprocessing, os, subprocess, sys
		def run(rank):
		    env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="4")
		    program = "leak" if rank == 2 else "streams"
		    sys.exit(subprocess.call([os.path.join(sys.argv[1], program)], env=env, stdout=subprocess.DEVNULL))
		if __name__ == "__main__":
		    ranks = [multiprocessing.Process(target=run, args=(r,)) for r in range(4)]
		    [p.start() for p in ranks]
		    [p.join() for p in ranks]
		    sys.exit(max(p.exitcode for p in ranks))
	PY
	gpumemsnap record -q --sim -o job.%r.json python3 launch.py "$B/samples"
}
part() { # ID: the content of that script element of page.html
	python3 -c 'import re, sys
sys.stdout.write(re.search(r"<script[^>]* id=\"%s\">(.*?)</script>" % sys.argv[1], open("page.html").read(), re.S)[1])' "$1"
}

@test "one command records every rank into a file named after it" {
	[ "$(ls job.*)" = $'job.0.json\njob.1.json\njob.2.json\njob.3.json' ]
	for r in 0 1 2 3; do [ "$(jq .meta.rank job.$r.json)" = $r ]; done
}

@test "the rank that differs is named, and the peaks of all add up to what the job can need" {
	gpumemsnap report job.?.json >text
	head -1 text | grep -qx '! job.2.json differs most from the others (rank 2): its leaks: 2.50 MiB, where the median is 0 B.'
	grep -qE '^ +35.50 MiB .* all at the same time$' text
	gpumemsnap report --format json job.?.json >r.json
	jq -e '.comparison.odd.index == 2 and .comparison.sum_leaked == 2621440 and
		.comparison.sum_peak == ([.snapshots[].devices[0].requested.peak] | add)' r.json
}

@test "merged, they are one file, whose page has a tab for each rank" {
	gpumemsnap merge -o job.json.gz job.?.json
	gpumemsnap report --format json job.json.gz | jq -e '.comparison.odd.file == "job.json.gz#2"'
	gpumemsnap html job.json.gz -o page.html
	[ "$(part data | jq -c '[.files[].jobRank]')" = '[0,1,2,3]' ]
	[ "$(part report | jq -c '[.snapshots[].rank]')" = '[0,1,2,3]' ]
	[ "$(grep -c 'id="columns-' page.html)" -ge 1 ]
	rc=0
	timeout 300 python3 "$BATS_TEST_DIRNAME/../html/browser.py" page.html <(echo '
		const all = () => [...document.querySelectorAll("#files button")], is = (k, what) => all()[k] && what(all()[k]);
		const until = async ready => { for (let i = 0; i < 600 && !ready(); i++) await new Promise(r => setTimeout(r, 100)); };
		await until(() => is(2, () => true));
		all()[2].click();
		await until(() => is(2, tab => tab.getAttribute("aria-selected") === "true"));
		const tabs = all();
		return { tabs: tabs.map(t => t.textContent), selected: tabs[2].getAttribute("aria-selected") };') >seen.json || rc=$?
	[ "$rc" -eq 77 ] && skip 'no Chromium or Chrome here'
	cat seen.json
	jq -e '.errors == [] and .selected == "true" and .tabs[2] == "rank 2 · job.json.gz#2"' seen.json
}
