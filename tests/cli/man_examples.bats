# The examples in the manual pages are commands that work: every line "$ gpumemsnap …" between .EX
# and .EE is run in a folder with the files and programs that the pages speak of, and must end with
# status 0, or with the status that a following line "# status N" names. Examples that need a GPU,
# a network of ranks or another program than ours are marked "# not run: why".

root=$BATS_TEST_DIRNAME/../..

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	if [ -x "$B/samples/growth" ]; then
		cp "$B/samples/growth" app
		cp "$B/samples/leak" leak
		gpumemsnap record --sim -o snapshot.json ./app >/dev/null 2>&1
		cp snapshot.json before.json
		gpumemsnap record --sim -o after.json ./leak >/dev/null 2>&1
		cp snapshot.json snapshot.0.json
		cp after.json snapshot.1.json
		for rank in 0 1 2 3; do
			program=streams
			[ $rank = 2 ] && program=leak
			RANK=$rank WORLD_SIZE=4 gpumemsnap record -q --sim -o job.json "$B/samples/$program" >/dev/null
		done
	fi
	cp "$root/tests/data/torch/train.pickle.gz" train.pickle.gz 2>/dev/null || true
	cp "$root/tests/data/torch/oom.pickle.gz" .
	cp "$root/tests/data/torch/mix1.pickle.gz" serving.pickle.gz
	cp "$root/tests/data/torch/mix1-expand.pickle.gz" serving-after.pickle.gz
	gzip -dc train.pickle.gz >train.pickle 2>/dev/null || true
}

# Plain text of a page's examples: one command a line; lines ending in \ are joined.
examples() {
	awk '/^\.EX/ {on = 1; next} /^\.EE/ {on = 0} on' "$1" | sed -e 's/\\-/-/g' -e 's/\\e/\\/g' -e "s/\\\\(aq/'/g" -e 's/\\&//g'
}

@test "every example of the manual pages runs" {
	[ -x "$B/samples/growth" ] || skip 'record was not built (no CUDA headers)'
	for page in "$root"/man/*.[157]; do
		examples "$page" | while IFS= read -r line; do
			[[ $line == '$ '* ]] || continue
			[[ $line == *'# not run'* ]] && continue
			expected=0
			[[ $line =~ '# status '([0-9]+) ]] && expected=${BASH_REMATCH[1]}
			status=0
			(eval "${line#\$ }") >out 2>err </dev/null || status=$?
			if [ "$status" != "$expected" ]; then
				echo "${page##*/}: status $status instead of $expected: $line"
				head -5 err
				exit 1
			fi
		done || return 1
	done
}

@test "the recipes print what their page shows" {
	[ -x "$B/samples/growth" ] || skip 'record was not built (no CUDA headers)'
	examples "$root/man/gpumemsnap-recipes.7" | sed -e 's/\\(<-/←/g' >recipes.txt
	python3 "$BATS_TEST_DIRNAME/man_outputs.py" recipes.txt
}

@test "every manual page is clean for man" {
	command -v man >/dev/null || skip 'man is not installed'
	for page in "$root"/man/*.[1357]; do
		run bash -c "LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z '$page' 2>&1 >/dev/null"
		[ -z "$output" ] || { echo "${page##*/}: $output"; return 1; }
	done
}
