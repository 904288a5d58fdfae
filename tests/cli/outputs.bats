# What is written: whole or not at all, the old file never lost, private while it is in the making.

data=$BATS_TEST_DIRNAME/../data

setup() {
	cd "$BATS_TEST_TMPDIR"
	gunzip -c "$data/torch/mix1.pickle.gz" >big.pickle
	cp "$data/solver.json" .
}

# Run a command that writes $1 where a file may have at most 1 KiB; a file of that name is there already.
in_little_space() {
	local file=$1
	shift
	echo precious >"$file"
	status=0
	(ulimit -f 1 && exec "$@") >/dev/null 2>err </dev/null || status=$?
	[ "$(cat "$file")" = precious ] && [ ! -e "$file.old" ] && return 0
	echo "$*: the old file is gone; status $status: $(cat err)"
	return 1
}
writers() { # CHECK: each command that writes a file, with the file's name first
	"$1" out.json gpumemsnap convert -o out.json big.pickle
	"$1" out.json.gz gpumemsnap convert -o out.json.gz big.pickle
	for to in folded csv torch speedscope perfetto pprof massif; do
		"$1" "out.$to" gpumemsnap convert --to $to -o "out.$to" big.pickle
	done
	"$1" f.png gpumemsnap flame -o f.png big.pickle
	"$1" t.png gpumemsnap timeline -o t.png big.pickle
	"$1" r.html gpumemsnap html -o r.html big.pickle
	"$1" d.png gpumemsnap diff --flame d.png solver.json big.pickle
	"$1" w.png gpumemsnap whatif --conf '' --timeline w.png big.pickle
	"$1" m.json gpumemsnap merge -o m.json solver.json big.pickle
}

@test "a writer whose disk is full says so, keeps the old file and leaves nothing else" {
	full() {
		local file=$1
		trap '' XFSZ # write fails, as on a full disk
		in_little_space "$@"
		[ "$status" -eq 4 ] || { echo "$*: status $status"; return 1; }
		grep -q "^gpumemsnap: $file: write: File too large" err || { cat err; return 1; }
		[ "$(ls "$file".* 2>/dev/null)" = '' ] || { ls "$file".*; return 1; }
	}
	writers full
}

@test "a writer that is killed in the middle keeps the old file" {
	killed() {
		trap - XFSZ # the write kills it
		in_little_space "$@"
		[ "$status" -eq $((128 + 25)) ] || { echo "$*: status $status"; return 1; }
	}
	writers killed
}

@test "a second output keeps the first as FILE.old and has the modes that umask leaves" {
	again() {
		local file=$1
		shift
		echo first >"$file"
		(umask 027 && "$@") 2>/dev/null </dev/null
		[ "$(cat "$file.old")" = first ] && [ -s "$file" ] && [ "$(stat -c %a "$file")" = 640 ] && return 0
		echo "$*"
		ls -l "$file"*
		return 1
	}
	writers again
	[ -x "$B/samples/leak" ] || return 0
	again s.json gpumemsnap record -q --sim -o s.json "$B/samples/leak"
}

@test "a spool and its folder can be read by nobody else" {
	[ -x "$B/samples/leak" ] || skip 'record was not built (no CUDA headers)'
	cat >look <<-'SH'
		#!/bin/bash
		"$1"
		find "$GPUMEMSNAP_SPOOL" -printf '%m %y\n' | sort -u >modes
	SH
	chmod +x look
	(umask 000 && gpumemsnap record -q --sim -o s.json ./look "$B/samples/leak" >/dev/null 2>&1)
	[ "$(grep -cE '^600 f$' modes)" -eq 1 ]
	[ "$(grep -cvE '^(600 f|700 d|600 p)$' modes)" = 0 ]
	rm modes
	(umask 000 && gpumemsnap record -q --sim -o - ./look "$B/samples/leak" >/dev/null 2>&1)
	[ "$(grep -cvE '^(600 f|700 d|600 p)$' modes)" = 0 ]
}

@test "record will not write its spool through a link that lies in its way" {
	[ -x "$B/samples/leak" ] || skip 'record was not built (no CUDA headers)'
	mkdir elsewhere
	ln -s elsewhere .s.json.spool
	gpumemsnap record -q --sim -o s.json "$B/samples/leak" >/dev/null 2>&1
	[ -z "$(ls elsewhere)" ]
	[ -L .s.json.spool ]
	gpumemsnap report s.json | grep -q 'GPU 0'
}

@test "the allocator's snapshot: whole or not at all, whatever a dead process left" {
	[ -e "$B/lib/libgpumemalloc.a" ] || skip 'the allocator was not built (no CUDA headers)'
	[[ ${MAKEFLAGS-} != *SAN=* ]] || skip 'the allocator was built with a sanitizer'
	cat >s.c <<-'C'
		#include "gpumemalloc.h"
		#include <fcntl.h>
		#include <signal.h>
		#include <stdio.h>
		#include <sys/resource.h>
		#include <unistd.h>
		int main(void)
		{
			struct gma *g = gma_for_device(0);
			struct rlimit little = {512, 512};
			char left[64];
			void *p;
			int i;

			for (i = 0; g && i < 100; i++)
				gma_malloc(g, &p, 1000, 0);
			for (i = 0; i < 3; i++) {
				snprintf(left, sizeof left, "state.json.%d.%d.tmp", (int)getpid(), i);
				close(open(left, O_CREAT | O_EXCL | O_WRONLY, 0600));
			}
			if (!g || gma_snapshot(g, "state.json"))
				return puts(gma_error_text()), 1;
			signal(SIGXFSZ, SIG_IGN);
			setrlimit(RLIMIT_FSIZE, &little);
			if (!gma_snapshot(g, "state.json"))
				return 2;
			dprintf(1, "%s\n", gma_error_text());
			return 0;
		}
	C
	cc -I"$BATS_TEST_DIRNAME/../../include" s.c "$B/lib/libgpumemalloc.a" -ldl -lpthread -o s
	export LD_LIBRARY_PATH=$B/lib/gpumemsnap/sim
	[ "$(./s | cat)" = 'cannot write state.json: File too large' ]
	[ "$(gpumemsnap report -f json state.json | jq '.snapshots[0].devices[0].live_blocks_end')" -eq 100 ]
	[ "$(ls state.json.*.tmp | wc -l)" -eq 3 ]
}

@test "GPUMEMSNAP_OUTPUT keeps the old file and leaves nothing in the folder for temporary files" {
	[ -x "$B/samples/gma_reuse" ] || skip 'the allocator was not built (no CUDA headers)'
	echo first >alone.json
	GPUMEMSNAP_OUTPUT=alone.json LD_LIBRARY_PATH=$B/lib:$B/lib/gpumemsnap/sim "$B/samples/gma_reuse" >/dev/null 3>&-
	for _ in $(seq 600); do [ -e alone.json.old ] && break; sleep 0.1; done
	[ "$(cat alone.json.old)" = first ]
	for _ in $(seq 600); do grep -q '^{"format":"gpumemsnap"' alone.json && break; sleep 0.1; done
	gpumemsnap report alone.json | grep -q 'GPU 0'
}

@test "GPUMEMSNAP_OUTPUT: a forked child has a snapshot of its own, and nothing is left in the folder for temporary files" {
	[ -e "$B/lib/libgpumemalloc.a" ] || skip 'the allocator was not built (no CUDA headers)'
	[[ ${MAKEFLAGS-} != *SAN=* ]] || skip 'the allocator was built with a sanitizer'
	mkdir tmp
	cat >forks.c <<-'C'
	#include "gpumemalloc.h"
	#include <stdio.h>
	#include <sys/wait.h>
	#include <unistd.h>
	int main(void)
	{
		struct gma *g = gma_for_device(0);
		void *p;

		gma_malloc(g, &p, 1000, 0);
		if (!fork()) {
			gma_malloc(g, &p, 1000, 0); /* from the cache */
			_exit(0);
		}
		wait(NULL);
		return 0;
	}
	C
	cc -I"$BATS_TEST_DIRNAME/../../include" forks.c -L"$B/lib" -lgpumemalloc -o forks
	TMPDIR=$PWD/tmp GPUMEMSNAP_OUTPUT=alone.json LD_LIBRARY_PATH=$B/lib:$B/lib/gpumemsnap/sim ./forks 3>&-
	for _ in $(seq 600); do [ -e alone.json ] && [ "$(find . -name 'alone.*.json' | wc -l)" -eq 1 ] && break; sleep 0.1; done
	gpumemsnap report -f json alone.json alone.*.json >/dev/null
	for _ in $(seq 600); do [ -z "$(ls tmp)" ] && break; sleep 0.1; done
	[ -z "$(ls tmp)" ]
}

@test "an old file stays where there is no present one to keep" {
	echo older >new.json.old
	gpumemsnap convert -o new.json solver.json
	[ "$(cat new.json.old)" = older ]
	gpumemsnap convert -o new.json solver.json
	cmp new.json new.json.old
}
