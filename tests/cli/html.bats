#!/usr/bin/env bats
# html.bats: the page, as a file and as used in a browser (skipped where there is none).

setup() {
	data="$BATS_TEST_DIRNAME/../data"
	html="$BATS_TEST_DIRNAME/../html"
	cd "$BATS_TEST_TMPDIR" || return 1
}
part() { # ID: the content of a script element
	python3 -c '
import re, sys
page = open("page.html", encoding="utf-8").read()
sys.stdout.write(re.search(r"<script[^>]* id=\"%s\">(.*?)</script>" % sys.argv[1], page, re.S).group(1))' "$1"
}

@test "html writes one page that needs nothing else" {
	gpumemsnap html "$data/solver.json" -o page.html
	[ "$(head -c 15 page.html)" = '<!DOCTYPE html>' ]
	grep -q '</html>' page.html
	[ "$(grep -cE '(src|href)="|url\(|@import|https?://' page.html)" -eq 0 ]
	[ "$(grep -c '<!--#' page.html)" -eq 0 ]
}

@test "the page holds the report as it is printed" {
	gpumemsnap html "$data/solver.json" -o page.html
	part report | jq -S . >embedded
	gpumemsnap report --format json --top 200 "$data/solver.json" | jq -S . >printed
	cmp embedded printed
}

@test "the page's data is JSON, and its columns are gzip of the length they say" {
	gpumemsnap html "$data/solver.json" -o page.html
	part data | jq -e '.files | length == 1' >/dev/null
	want=$(part data | jq '[.files[0].sections[][1]] | add')
	part columns-0 | base64 -d | gzip -dc >columns
	[ "$(wc -c <columns)" = "$want" ]
}

@test "names that look like HTML or end a script stay names" {
	jq -c '.strings |= map(if . == "flux" then "</script><b>&x" else . end)' "$data/solver.json" >odd.json
	gpumemsnap html --title '<i>&t' odd.json -o page.html
	grep -qF '<title>&#60;i&#62;&#38;t</title>' page.html
	[ "$(grep -cF '</script><b>' page.html)" -eq 0 ]
	part data | jq -e '.files[0].strings | index("</script><b>&x")' >/dev/null
}

@test "several recordings are tabs of one page" {
	gpumemsnap html "$data/solver.json" "$data/solver.json" -o page.html
	[ "$(part data | jq '.files | length')" = 2 ]
	[ "$(part report | jq '.snapshots | length')" = 2 ]
	grep -q 'id="columns-1"' page.html
}

@test "a recording without events and an unreadable file" {
	jq -c '.events = [] | .phases = [] | .failures = []' "$data/solver.json" >empty.json
	gpumemsnap html empty.json -o page.html
	run gpumemsnap html nowhere.json -o other.html
	[ "$status" -ge 3 ]
	[ ! -e other.html ]
}

@test "the page is not written to a terminal" {
	run script -qec "gpumemsnap html '$data/solver.json'" /dev/null
	[ "$status" -eq 2 ]
	[[ "$output" == *"gpumemsnap html -o report.html"* ]]
}

@test "in a browser: hover, click, brush, zoom, search, tables, keys and themes" {
	gpumemsnap html "$data/solver.json" -o page.html
	rc=0
	timeout 300 python3 "$html/browser.py" page.html "$html/probe.js" >seen.json || rc=$?
	[ "$rc" -ne 77 ] || skip "no Chromium or Chrome here"
	[ "$rc" -eq 0 ]
	see() { jq -e "$1" seen.json >/dev/null || { jq -c . seen.json >&2; return 1; }; }
	see '.errors == []'
	see '.peak == "2687500288" and .whole == .peak and .other == "402653184"'
	see '.verdict >= 3'
	see '.legend | index("flux flux.c:77")'
	see '.hover | startswith("grid_new grid.c:12")'
	see '.block | startswith("keep_log log.c:5") and contains("40.00 MiB") and contains("freed: never")'
	see '.closed | startswith("Point at a picture")'
	see '.stack == ["cuMemAlloc_v2", "keep_log", "step", "main"]'
	see '.brushed == [100000000, 250000000] and .zoomed == .brushed and .all == [0, 560000000]'
	see '.search | startswith("1 function, ")'
	see '.searchNothing == "nothing found"'
	see '.stepped >= 0 and .marked == [true, true] and .cancelled'
	see '.moved == "state_new" and .entered == "state_new" and .segment == "grid_new grid.c:12"'
	see '.flame == ["setup", "grid_new", "state_new"]'
	see '.leaks == ["keep_log log.c:5|400.00 MiB|10|45.00 ms|495.00 ms"]'
	see '.sorted == "flux flux.c:77"'
	see '.themeSwitched and .unlabelled == 0'
	# a brushed range has the numbers of the report of that range
	gpumemsnap report --format json --device 0 --from 100ms --to 250ms "$data/solver.json" |
		jq '.snapshots[0].devices[0].requested | {"start": .start, "peak": .peak, "end": .end} | map_values(tostring)' >window.json
	[ "$(jq -cS .brush seen.json)" = "$(jq -cS . window.json)" ]
}

@test "a long recording is shown at once, from bands computed in C, which are the page's own" {
	gpumemsnap html "$data/torch/mix1.pickle.gz" -o page.html
	part data | jq -e '.files[0].devices[0].sketch | .columns == 1200 and .peak == 1691777156 and (.bands | length) >= 12' >/dev/null
	gpumemsnap html "$data/solver.json" -o short.html
	[ "$(grep -c 'id="sketch-0"' short.html)" = 0 ]
	cat >sketch.js <<-'JS'
		await frame();
		const file = app.file, s = await Sketch.of(file), b = new Bands(app.device, 'stack');
		const want = b.columns(file.from, file.to, s.width), got = s.columns(file.from, file.to, s.width);
		let differ = 0;
		for (let c = 0; c < s.width; c++) {
		  differ += want.high[c] !== got.high[c] || want.low[c] !== got.low[c];
		  for (let i = 0; i < b.list.length; i++) {
		    const j = s.list.findIndex(x => x.rest ? b.list[i].rest : x.key === b.list[i].key);
		    differ += j < 0 || want.value[c * want.m + i] !== got.value[c * got.m + j];
		  }
		}
		return { differ, shown: document.documentElement.dataset.sketch, names: s.list.every((x, i) => x.name === b.list[i].name) };
	JS
	rc=0
	timeout 300 python3 "$html/browser.py" page.html sketch.js >seen.json || rc=$?
	[ "$rc" -ne 77 ] || skip "no Chromium or Chrome here"
	jq -e '.errors == [] and .differ == 0 and .shown == "true" and .names' seen.json >/dev/null || { cat seen.json >&2; return 1; }
}

@test "in a browser: the page begins where the events are, and without stacks it divides otherwise" {
	gpumemsnap html "$data/torch/train.pickle.gz" -o page.html
	jq -c '.events |= map(.[6] = 0) | .stacks = [[]]' "$data/solver.json" >stackless.json
	gpumemsnap html stackless.json -o stackless.html
	echo 'await frame(); const t = app.timeline, a = [t.from, t.to]; t.canvas.focus(); await key("0"); return { a, all: [t.from, t.to], group: document.getElementById("group").value };' >look.js
	rc=0
	timeout 300 python3 "$html/browser.py" page.html look.js >seen.json || rc=$?
	[ "$rc" -ne 77 ] || skip "no Chromium or Chrome here"
	jq -e '.errors == [] and .a[0] > 3e9 and .a[1] <= .all[1] and .all[0] == 0 and .group == "stack"' seen.json >/dev/null || { cat seen.json >&2; return 1; }
	timeout 300 python3 "$html/browser.py" stackless.html look.js >seen.json
	jq -e '.errors == [] and .group == "stream"' seen.json >/dev/null || { cat seen.json >&2; return 1; }
}

@test "in a browser: recordings without events, without stacks and with a stack of 5,000 frames open without errors" {
	jq -c '.events = [] | .phases = [] | .failures = []' "$data/solver.json" >empty.json
	jq -c '.events |= map(.[6] = 0)' "$data/solver.json" >stackless.json
	jq -c '(.frames | length) as $n | .frames += [range(5000) | [1, 2, ., 3]] | .stacks[1] = [range(5000) + $n]' "$data/solver.json" >deep.json
	for f in empty stackless deep; do
		gpumemsnap html $f.json -o page.html
		echo 'await frame(); for (const b of document.querySelectorAll("#panels button, [data-view]")) { b.click(); await frame(); }
			document.getElementById("tab-flame").click(); document.getElementById("flame-plumbing").click(); await frame();
			const rows = Math.max(0, ...app.flame.boxes.map(b => b.row)), last = app.flame.boxes.find(b => b.row === rows); if (last) app.flame.open(last.node); await frame();
			return { rows, zoomed: app.flame.boxes.length ? Math.max(...app.flame.boxes.map(b => b.row)) : 0, hint: document.getElementById("flame-hint").textContent };' >walk.js
		rc=0
		timeout 300 python3 "$html/browser.py" page.html walk.js >seen.json || rc=$?
		[ "$rc" -ne 77 ] || skip "no Chromium or Chrome here"
		jq -e '.errors == []' seen.json >/dev/null || { cat seen.json >&2; return 1; }
	done
	jq -e '.rows == 399 and .zoomed > 399 and (.hint | contains("Only 400 rows are shown"))' seen.json >/dev/null || { cat seen.json >&2; return 1; }
}
