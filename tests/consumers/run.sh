#!/bin/bash
# run.sh: what `make check-formats` does: other programs' own importers read what convert writes.
#
# They come from npm into a temporary folder. Without npm, the network or a browser a check is skipped with a
# word; the formats' rules themselves are checked by tests/cli/convert.bats, which needs none of this.
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${B:=$PWD/build}"
export PATH="$B/bin:$PATH"
data=$PWD/tests/data browser=$PWD/tests/html/browser.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0
tell() { # ok|"not ok" WORDS
	n=$((n + 1))
	echo "$1 $n - $2"
	[ "$1" = ok ] || failed=1
}
package() { # NAME: unpacked into $work/NAME
	command -v npm >/dev/null || return 1
	mkdir -p "$work/$1"
	(cd "$work/$1" && timeout 120 npm pack --silent "$1" >/dev/null 2>&1 && tar xzf ./*.tgz --strip-components=1)
}

gpumemsnap convert "$data/solver.json" -o "$work/s.speedscope.json"
gpumemsnap convert "$data/solver.json" -o "$work/s.pb.gz"
peak=$(gpumemsnap report --format json "$data/solver.json" | jq '[.snapshots[0].devices[].requested.peak] | max')

if ! package speedscope; then
	tell ok "speedscope # SKIP no npm or no network"
else
	if python3 -c 'import jsonschema' 2>/dev/null; then
		python3 -c 'import json, jsonschema, sys
jsonschema.validate(*(json.load(open(f)) for f in sys.argv[1:]))' "$work/s.speedscope.json" "$work/speedscope/dist/release/file-format-schema.json" &&
			tell ok "speedscope's schema holds" || tell 'not ok' "speedscope's schema holds"
	else
		tell ok "speedscope's schema # SKIP no Python jsonschema"
	fi
	{
		printf 'speedscope.loadFileFromBase64("s.speedscope.json", "%s");' "$(base64 -w0 "$work/s.speedscope.json")"
		echo 'document.documentElement.dataset.ready = "true";'
	} >"$work/profile.js"
	cat >"$work/look.js" <<-'JS'
		for (let i = 0; i < 500 && document.title === 'speedscope'; i++) await pause(20);
		return { title: document.title, text: document.body.innerText };
	JS
	rc=0
	timeout 120 python3 "$browser" "$work/speedscope/dist/release/index.html#localProfilePath=$work/profile.js" "$work/look.js" >"$work/seen.json" || rc=$?
	if [ $rc -eq 77 ]; then
		tell ok "speedscope opens it # SKIP no Chromium or Chrome"
	elif jq -e '.errors == [] and (.text | contains("GPU 0: bytes, peak"))' "$work/seen.json" >/dev/null; then
		tell ok "speedscope opens it: $(jq -r .title "$work/seen.json")"
	else
		tell 'not ok' "speedscope opens it"
		sed 's/^/# /' "$work/seen.json"
	fi
fi

if ! package pprof-format || ! command -v node >/dev/null; then
	tell ok "pprof # SKIP no npm, node or network"
else
	sum=$(cd "$work" && node -e '
		const { Profile } = require("./pprof-format"), fs = require("fs"), zlib = require("zlib");
		const p = Profile.decode(zlib.gunzipSync(fs.readFileSync("s.pb.gz"))), text = i => p.stringTable.strings[Number(i)];
		const bytes = p.sampleType.findIndex(t => text(t.unit) === "bytes" && /space|bytes|live|inuse/.test(text(t.type)));
		console.log(String(p.sample.reduce((s, x) => s + BigInt(x.value[bytes]), 0n)));' 2>"$work/why") || sum=
	if [ "$sum" = "$peak" ]; then
		tell ok "pprof-format decodes the profile, and its bytes add up to the peak"
	else
		tell 'not ok' "pprof-format decodes the profile, and its bytes add up to the peak ($sum, not $peak)"
		sed 's/^/# /' "$work/why"
	fi
fi
echo "1..$n"
exit $failed
