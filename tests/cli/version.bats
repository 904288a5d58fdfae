# version, help and mistyped commands.

@test "version prints one line" {
	run gpumemsnap version
	[ "$status" -eq 0 ]
	[[ $output =~ ^gpumemsnap\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[ "$(gpumemsnap --version)" = "$output" ]
}

@test "no arguments: the help on standard error, status 2" {
	run gpumemsnap
	[ "$status" -eq 2 ]
	[[ $output == *"Commands:"* ]]
	[ -z "$(gpumemsnap 2>/dev/null)" ]
}

@test "a mistyped command gets a suggestion" {
	run gpumemsnap verison
	[ "$status" -eq 2 ]
	[ "$output" = "gpumemsnap: no command 'verison'; did you mean 'version'?" ]
}

@test "an unknown option names itself and where to look" {
	run gpumemsnap version --nope
	[ "$status" -eq 2 ]
	[ "$output" = "gpumemsnap: unknown option '--nope'; see 'gpumemsnap version --help'" ]
}

@test "help of each command starts with its usage" {
	for c in $(gpumemsnap help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
		[[ $(gpumemsnap help "$c" | head -1) == "Usage: gpumemsnap $c"* ]]
		[ "$(gpumemsnap "$c" --help)" = "$(gpumemsnap help "$c")" ]
	done
}
