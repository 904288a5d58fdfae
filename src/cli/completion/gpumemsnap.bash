# Completion of gpumemsnap for bash: asks the program itself (src/cli/complete.h says how).
_gpumemsnap()
{
	local words=() word joined= line
	# bash splits words at "=": put "--format=json" together again.
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if [[ ${#words[@]} -gt 0 && ${words[-1]} == --* && ( $word == = || -n $joined ) ]]; then
			words[-1]+=$word
			joined=
			[[ $word != = ]] || joined=1
		else
			words+=("$word")
			joined=
		fi
	done
	local typed=${words[-1]}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		@files)
			compopt -o filenames 2>/dev/null
			while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${typed#--*=}")
			;;
		'@program '*)
			if declare -F _command_offset >/dev/null; then
				_command_offset "${line#@program }"
			elif [[ ${#words[@]} -eq ${line#@program } ]]; then
				compopt -o filenames 2>/dev/null
				while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$typed"; compgen -d -- "$typed")
			else
				compopt -o default 2>/dev/null
			fi
			;;
		*)
			word=${line%%$'\t'*}
			[[ $COMP_WORDBREAKS != *=* ]] || word=${word#--*=}
			COMPREPLY+=("$word")
			;;
		esac
	done < <("$1" --complete "${words[@]}" 2>/dev/null)
}
complete -F _gpumemsnap gpumemsnap
