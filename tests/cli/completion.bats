# Shell completion: what `gpumemsnap --complete` offers, and that each shell's script hands it on.

scripts=$BATS_TEST_DIRNAME/../../src/cli/completion

offers() { # WORD…: candidates only, on one line
	gpumemsnap --complete "$@" | cut -f1 | paste -sd' '
}

@test "the first word is one of the commands, which help lists too" {
	[ "$(offers '')" = "$(gpumemsnap help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | paste -sd' ') help" ]
	[ "$(offers re)" = 'record report' ]
	[ "$(offers help wh)" = 'whatif' ]
	[ -z "$(offers nonsense '')" ]
}

@test "every option that a command's help lists is offered, with what it does" {
	for c in $(offers '' | sed 's/ help$//'); do
		diff <(offers "$c" -- | tr ' ' '\n' | sort) \
			<(gpumemsnap "$c" --help | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p; $a--help' | sort)
	done
	[ "$(gpumemsnap --complete record --si | grep -c 'simulated driver')" -eq 1 ]
}

@test "a value is offered by the kind of option: words, a file, nothing" {
	[ "$(offers record --stacks '')" = 'all alloc none' ]
	[ "$(offers record --stacks al)" = 'all alloc' ]
	[ "$(offers record --stacks=n)" = '--stacks=none' ]
	[ "$(offers report -f j)" = 'json' ]
	[ "$(offers flame --at '')" = 'peak end total' ]
	[ "$(offers convert --to p)" = 'perfetto pprof' ]
	[ "$(offers record --output '')" = '@files' ]
	[ "$(offers check --baseline '')" = '@files' ]
	[ -z "$(offers record --depth '')" ]
}

@test "operands: recordings, the program to record and its own words" {
	[ "$(offers report '')" = '@files' ]
	[ "$(offers diff a.json '')" = '@files' ]
	[ "$(offers report -- --f)" = '@files' ]
	[ "$(offers record '')" = '@program 2' ]
	[ "$(offers record --sim -o x.json ./a)" = '@program 5' ]
	[ "$(offers record -q -- ./app --f)" = '@program 4' ]
	[ -z "$(offers version '')" ]
}

@test "a running recorded program is offered by its number" {
	[ -x "$B/tests/fault/linger" ] || skip 'record was not built (no CUDA headers)'
	mkfifo "$BATS_TEST_TMPDIR/end"
	exec 7<>"$BATS_TEST_TMPDIR/end"
	gpumemsnap record -q --sim -o "$BATS_TEST_TMPDIR/s.json" "$B/tests/fault/linger" 120 <"$BATS_TEST_TMPDIR/end" >/dev/null 2>&1 3>&- 7>&- &
	local recorder=$! found=
	for _ in $(seq 600); do
		found=$(gpumemsnap --complete dump '' | grep -F 'linger 120' | cut -f1)
		[ -z "$found" ] || break
		kill -0 "$recorder" || break
		sleep 0.1
	done
	exec 7>&- # linger ends
	wait "$recorder"
	[[ $found =~ ^[0-9]+$ ]]
}

# --- bash ---
bash_offers() { # WORD…: what bash would offer; words as bash splits them (at "=" too)
	bash --norc -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpumemsnap gpumemsnap
		printf "%s\n" "${COMPREPLY[@]}"' _ "$scripts/gpumemsnap.bash" gpumemsnap "$@" | paste -sd' '
}

@test "bash: commands, options, values behind a blank and behind =" {
	[ "$(bash_offers re)" = 'record report' ]
	[ "$(bash_offers report --fo)" = '--format' ]
	[ "$(bash_offers report --format j)" = 'json' ]
	[ "$(bash_offers report --format = '')" = 'text json' ]
	[ "$(bash_offers report --format = j)" = 'json' ]
	[ "$(bash_offers report --format = json --no)" = '--no-charts' ]
}

@test "bash: files with blanks in their names, the program and its words" {
	cd "$BATS_TEST_TMPDIR"
	touch 'a b.json' 'a c.json'
	[ "$(bash_offers report 'a b')" = 'a b.json' ]
	[ "$(bash_offers record --output = 'a c')" = 'a c.json' ]
	[[ " $(bash_offers record --sim gpumemsn) " == *' gpumemsnap '* ]]
	[ -z "$(bash_offers record --sim ./app --fo)" ]
}

# --- zsh and fish ---
@test "zsh: what the program offers reaches _describe and _files" {
	command -v zsh >/dev/null || skip 'zsh is not installed'
	zsh_offers() {
		zsh -f -c '
			_call() { source "$script"; }
			_describe() { print -r -- "describe: ${(P)2}"; }
			_files() { print files; }
			_normal() { print -r -- "normal: $words ($CURRENT)"; }
			compset() { :; }
			script=$1; shift
			words=("$@"); CURRENT=$#
			_call' _ "$scripts/_gpumemsnap" gpumemsnap "$@"
	}
	[ "$(zsh_offers record --sim)" = 'describe: --sim:run it on the simulated driver: no GPU needed' ]
	[[ $(zsh_offers report --format '') == 'describe: text: json:'* ]]
	[ "$(zsh_offers report '')" = files ]
	[ "$(zsh_offers record --sim ./app --f)" = 'normal: ./app --f (2)' ]
}

@test "fish: what the program offers reaches the shell" {
	command -v fish >/dev/null || skip 'fish is not installed'
	fish_offers() {
		HOME=$BATS_TEST_TMPDIR fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$scripts/gpumemsnap.fish" "$1"
	}
	cd "$BATS_TEST_TMPDIR"
	touch here.json
	[[ $(fish_offers 'gpumemsnap repo') == $'report\tsay where'* ]]
	[ "$(fish_offers 'gpumemsnap report --format js' | cut -f1)" = json ]
	[ "$(fish_offers 'gpumemsnap report her')" = here.json ]
	[[ $(fish_offers 'gpumemsnap record --sim gpumemsna') == gpumemsnap* ]]
}
