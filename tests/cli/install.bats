# make install and make dist: what lands where, that the tree may be moved, and that the same sources
# give the same bytes.

root=$BATS_TEST_DIRNAME/../..

# make as the user's would be, with the options that this build was made with, but not its job server.
quiet_make() {
	MAKEFLAGS=$(sed 's/ -j[0-9]*//; s/ *--jobserver[^ ]*//g' <<<" ${MAKEFLAGS-}") make --no-print-directory -s -C "$root" NO_INSTALL=1 "$@"
}
files() { (cd "$1" && find . ! -type d | sort); }

@test "install fills the staging folder, uninstall leaves nothing in it" {
	cd "$BATS_TEST_TMPDIR"
	quiet_make install B="$B" DESTDIR="$PWD/stage" PREFIX=/opt/g LIBDIR=lib/triplet
	cd stage/opt/g
	files . >../../../have
	for f in bin/gpumemsnap include/gpumemsnap.h include/gpumemalloc.h share/man/man1/gpumemsnap.1 share/man/man3/gpumemalloc.3 \
		share/man/man5/gpumemsnap-snapshot.5 share/bash-completion/completions/gpumemsnap.bash \
		share/zsh/site-functions/_gpumemsnap share/fish/vendor_completions.d/gpumemsnap.fish; do
		grep -qx "./$f" ../../../have || { echo "$f is missing"; return 1; }
	done
	[ "$(find "$root"/man -name '*.[1-9]' | wc -l)" -eq "$(find share/man -type f | wc -l)" ]
	[ -z "$(find . -type f -newermt '2999-01-01')" ]
	[ -z "$(find . -perm /022 ! -type l)" ]
	cd "$BATS_TEST_TMPDIR"
	quiet_make uninstall B="$B" DESTDIR="$PWD/stage" PREFIX=/opt/g LIBDIR=lib/triplet
	[ -z "$(find stage ! -type d)" ]
}

@test "an installed tree works from where it was moved to, for programs that link it too" {
	[ -x "$B/samples/leak" ] || skip 'record was not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR"
	quiet_make install B="$B" DESTDIR="$PWD/stage" PREFIX=/usr LIBDIR=lib/triplet
	mv stage/usr moved
	rm -r stage
	moved/bin/gpumemsnap record -q --sim -o s.json "$B/samples/leak"
	moved/bin/gpumemsnap report --leaks s.json | grep -q 'leak.c:'
	moved/bin/gpumemsnap record -q --sim --allocator caching -o c.json "$B/samples/leak"
	grep -q moved/lib/gpumemsnap/libgpumemcache.so c.json

	command -v pkg-config >/dev/null || skip 'pkg-config is not installed'
	[[ ${MAKEFLAGS-} != *SAN=* ]] || skip 'the allocator was built with a sanitizer'
	cat >both.c <<-'C'
		#include <gpumemalloc.h>
		#include <gpumemsnap.h>
		#include <stdio.h>
		int main(void) { struct gma *(*volatile f)(const char *, const struct gma_backend *) = gma_create; gms_mark("here"); return !f; }
	C
	export PKG_CONFIG_PATH=$PWD/moved/lib/triplet/pkgconfig
	cuda=${CUDA_HOME:-/usr/local/cuda}/include
	cc -isystem "$cuda" both.c -o both $(pkg-config --cflags --libs gpumemalloc gpumemsnap) -Wl,-rpath,"$PWD/moved/lib/triplet"
	./both
	[ "$(pkg-config --modversion gpumemsnap)" = "$("$PWD/moved/bin/gpumemsnap" version | sed 's/.* //')" ]
	cc -isystem "$cuda" both.c -o both-static $(pkg-config --cflags gpumemsnap) moved/lib/triplet/libgpumemalloc.a -ldl -lpthread
	./both-static
}

@test "the tarball holds the same bytes whoever packs it and when, and brings its libraries along" {
	[[ ${MAKEFLAGS-} != *SAN=* ]] || skip 'not for a build with a sanitizer'
	cd "$BATS_TEST_TMPDIR"
	pack() { # NAME: a tarball of the build
		(cd "$root" && MAKEFLAGS= NO_INSTALL=1 vendor/dist.sh gpumemsnap-test >/dev/null)
		mv "$B/gpumemsnap-test.tar.gz" "$1"
	}
	pack one.tar.gz
	(umask 077 && export TZ=Asia/Tokyo LC_ALL=C && pack two.tar.gz)
	cmp one.tar.gz two.tar.gz
	tar -xzf one.tar.gz
	ldd gpumemsnap-test/bin/gpumemsnap | awk '/=>/ {print $1, $3}' | grep -vE '^(libc|libm|libdl|libpthread|librt)\.so' |
		grep -v "$PWD/gpumemsnap-test/" >outside || true
	[ ! -s outside ] || { cat outside; return 1; }
	if [ -x "$B/samples/growth" ]; then
		(gpumemsnap-test/share/gpumemsnap/samples/demo.sh >demo.out)
		grep -q 'growth.c:' demo.out
		[ -s flame.png ]
		[ -s timeline.png ]
	fi
	gpumemsnap-test/bin/gpumemsnap report "$BATS_TEST_DIRNAME/../data/solver.json" | grep -q 'GPU 0 needed at most'
}

@test "the same sources give the same bytes in another folder" {
	cd "$BATS_TEST_TMPDIR"
	mkdir one elsewhere
	(cd "$root" && tar -cf - Makefile src include vendor) | tee >(tar -xf - -C one) | tar -xf - -C elsewhere
	wait
	parts='$(call obj,src/render/font_data.c src/render/html_files.c src/cli/options.c)'
	[ ! -e "$B/lib/libgpumemalloc.a" ] || parts+=' $(B)/lib/libgpumemalloc.so $(B)/lib/libgpumemalloc.a $(L)/sim/libcuda.so.1'
	for d in one elsewhere; do
		mkdir -p "$d/build" # MAKEFLAGS: options of the outer make would put the build elsewhere
		(cd "$d" && echo "some: $parts" | MAKEFLAGS= make -s -j2 -f Makefile -f - some CFLAGS='-O0 -g' B=build)
	done
	(cd one/build && find . -type f ! -name '*.d' | sort) >list
	[ -s list ]
	while read -r f; do
		cmp "one/build/$f" "elsewhere/build/$f" || return 1
	done <list
}
