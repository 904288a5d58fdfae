#!/usr/bin/env bats
# merge.bats: several snapshots in one file, and how other commands read it.

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	data=$BATS_TEST_DIRNAME/../data
	cp "$data/solver.json" a.json
	gpumemsnap convert -o b.json "$data/torch/leak.pickle.gz"
}

@test "what was merged comes out again, byte for byte" {
	for out in set.json set.json.gz; do
		gpumemsnap merge -o $out a.json b.json
		gpumemsnap convert $out#0 | cmp - <(gpumemsnap convert a.json)
		gpumemsnap convert $out#1 | cmp - b.json
	done
}

@test "report reads a set as it reads the files" {
	gpumemsnap merge -o set.json a.json b.json
	strip='[.snapshots[] | del(.file)]'
	gpumemsnap report --format json set.json | jq "$strip" >one
	gpumemsnap report --format json a.json b.json | jq "$strip" >two
	cmp one two
	gpumemsnap report set.json | grep -q 'set.json#1'
}

@test "other formats and sets can be merged" {
	gpumemsnap merge -o first.json "$data/torch/leak.pickle.gz" a.json
	gpumemsnap merge -o second.json b.json first.json
	[ "$(head -1 second.json | jq -c .names)" = '["b.json","first.json#0","first.json#1"]' ]
	gpumemsnap convert 'second.json#1' | cmp - b.json
}

@test "commands that take one snapshot say that there are several" {
	gpumemsnap merge -o set.json a.json b.json
	run gpumemsnap flame --layout set.json
	[ "$status" -eq 3 ]
	[ "$output" = 'gpumemsnap: set.json: holds 2 snapshots; name one: set.json#0 (a.json), set.json#1 ...' ]
	gpumemsnap flame --layout set.json#0 | grep -qF 'meta Bytes "2687500288"'
	run gpumemsnap flame --layout set.json#2
	[ "$status" -eq 3 ]
	[[ $output == *'set.json#2: the set holds 2 snapshots, counted from 0'* ]]
	run gpumemsnap flame --layout a.json#1
	[[ $output == *'a.json#1: the file holds one snapshot'* ]]
}

@test "a set of one needs no number, and a file may have a # in its name" {
	gpumemsnap merge -o set.json b.json
	gpumemsnap convert set.json | cmp - b.json
	cp a.json 'odd#1'
	gpumemsnap convert 'odd#1' | cmp - <(gpumemsnap convert a.json)
}

@test "a damaged input leaves no output" {
	echo '{"format":"gpumemsnap","version":1,"events":[' >cut.json
	run gpumemsnap merge -o set.json a.json nowhere.json
	[ "$status" -ne 0 ]
	[[ $output == *nowhere.json* ]]
	[ ! -e set.json ]
	run gpumemsnap merge
	[ "$status" -eq 2 ]
}

@test "a set that was cut gives the snapshots before the cut" {
	gpumemsnap merge -o set.json a.json b.json
	head -c $(($(wc -c <set.json) - 2000)) set.json >cut.json
	gpumemsnap convert cut.json#0 | cmp - <(gpumemsnap convert a.json)
	gpumemsnap report --format json 'cut.json#1' | jq -e '.snapshots[0].complete == false'
}
