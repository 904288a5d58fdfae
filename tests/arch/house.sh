#!/bin/bash
# house.sh: the rules of the house, as TAP. Each prints what breaks it.
set -u
shopt -s lastpipe # rule counts in this shell, not in a subshell
cd "$(dirname "$0")/../.." || exit 2
: "${B:=build}"
n=0
rule() { # NAME: what is on standard input are the breaches
	local breaches
	breaches=$(cat)
	n=$((n + 1))
	if [ -z "$breaches" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$breaches" | sed 's/^/# /'
	fi
}

# Which layers a layer may include (besides itself).
allowed() {
	case $1 in
	base) echo '' ;;
	wire) echo '' ;;
	driver) echo '' ;;
	model) echo base wire ;;
	symbol) echo base model ;;
	format) echo base wire model ;;
	analyze) echo base wire model ;;
	render) echo base wire model analyze ;;
	nvml) echo base ;;
	cli) echo base wire model symbol format analyze render nvml ;;
	record) echo wire driver ;;
	simcuda) echo driver ;;
	alloc) echo wire ;;
	esac
}
arrows() {
	local layer to file
	for layer in src/*/; do
		layer=$(basename "$layer")
		grep -rHoE '^#include "[a-z_]+/' "src/$layer" 2>/dev/null | sed 's/:#include "/ /; s,/$,,' |
			while read -r file to; do
				case " $layer $(allowed "$layer") " in *" $to "*) continue ;; esac
				[ "$to" = alloc ] && [[ $file == src/analyze/whatif* ]] && continue
				echo "$file includes $to/"
			done
	done
	grep -rln '"wire/spool.h"' src | grep -vE '^src/(wire|record|format|cli/(harvest|cmd_(record|dump|top)))' | sed 's/$/ sees the spool/'
}
arrows | rule 'includes follow the arrows of the design'

grep -rlE '#include [<"](png|ft2build)' src | grep -vE '^src/render/(canvas|font)' | rule 'only canvas and font see libpng and FreeType'

headers_alone() {
	local flags
	flags=$(pkg-config --cflags freetype2 libpng libcjson 2>/dev/null)
	ls src/*/*.h include/*.h 2>/dev/null | xargs -P 2 -I{} sh -c '
		printf "#include \"%s\"\n" "$(echo "$1" | sed s,^src/,,)" | cc -std=gnu11 -D_GNU_SOURCE -Isrc -Iinclude -I. \
			-isystem "${CUDA_HOME:-/usr/local/cuda}/include" '"$flags"' -fsyntax-only -Wall -xc - >/dev/null 2>&1 ||
			{ [ ! -e "${CUDA_HOME:-/usr/local/cuda}/include/cuda.h" ] && echo "$1" | grep -qE "src/(record|simcuda|alloc)/"; } ||
			echo "$1"' _ {}
}
headers_alone | rule 'each header compiles alone'

commands=$(sed -n 's/^COMMAND(\(.*\))/\1/p' src/cli/cmds.def)
for c in $commands; do
	word=${c//_/-}
	[ -e "man/gpumemsnap-$word.1" ] || echo "man/gpumemsnap-$word.1 is missing"
done | rule 'each command has its man page'
for c in $commands; do
	ls tests/cli/"$c"*.bats >/dev/null 2>&1 || echo "tests/cli/$c*.bats is missing"
done | rule 'each command has its tests'
for c in $commands; do
	word=${c//_/-}
	"$B/bin/gpumemsnap" "$word" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u | while read -r o; do
		[ "$o" = --help ] || sed 's/\\-/-/g' "man/gpumemsnap-$word.1" 2>/dev/null | grep -qF -- "$o" ||
			echo "man/gpumemsnap-$word.1 does not tell of $o"
	done
done | rule 'each option stands in the man page'

for c in $commands; do
	word=${c//_/-}
	awk '/^\.TP/ {getline; print}' "man/gpumemsnap-$word.1" 2>/dev/null | sed 's/\\-/-/g; s/\\f[RP]//g' | grep -oE -- '--[a-z][a-z-]+' | sort -u |
		while read -r o; do
			"$B/bin/gpumemsnap" "$word" --help | grep -qE -- "$o( |,|\$)" || echo "gpumemsnap $word has no $o, of which its page tells"
		done
done | rule 'each option of a man page is one of the command'

for c in src/*/*.c src/*/*.h samples/*.c tests/*/*.c; do
	[ -e "$c" ] && ! head -1 "$c" | grep -q '^/\*' && echo "$c"
done | rule 'each file opens with what it is'

find src $(ls -d include 2>/dev/null) -name '*.[ch]' -exec wc -l {} + | awk '$2 != "total" && $1 > 600 {print $2 ": " $1 " lines"}' | rule 'no file is longer than 600 lines'

flat_switches='pickle_run|extended' # one case per opcode
if command -v ctags >/dev/null; then
	ctags -x --c-kinds=f --fields=+ne --_xformat='%F %N %n %e' src/*/*.c 2>/dev/null |
		awk '$4 - $3 > 80 && $2 !~ /^('"$flat_switches"')$/ {print $1 ": " $2 " has " $4 - $3 " lines"}' |
		rule 'no function is longer than 80 lines'
fi

exported() { # FILE PATTERN: dynamic symbols that do not fit
	[ -e "$1" ] && nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | grep -vE "$2" | sed "s|^|$(basename "$1") exports |"
}
exported "$B/lib/gpumemsnap/libgpumemsnap.so" '^(cu[A-Z]|gms_|dlopen$|dlsym$|dlvsym$|dlclose$|_exit$|_Exit$|f?exec[vl]p?e?$|posix_spawnp?$|system$|popen$|chroot$|sete?uid$|setresuid$|setreuid$|InitializeInjectionNvtx2$)' | rule 'the recorder exports nothing but hooks and its API'
exported "$B/lib/gpumemsnap/sim/libcuda.so.1" '^(cu[A-Z]|sim_)' | rule 'the simulated driver exports only driver functions'
exported "$B/lib/libgpumemalloc.so" '^(gma_|GMA_)' | rule 'the allocator library exports only gma_ names'

grep -nE '^\s*(! |\[.*\] && \[[^|]*\]$)' tests/cli/*.bats | rule 'no assertion is one that does not end its test (! A, and A of A && B)'
git ls-files 2>/dev/null | grep -vE '^(Makefile|README\.md|LICENSE|src/|include/|vendor/|samples/|man/|tests/|\.)' | rule 'the top level is the agreed one'
echo "1..$n"
