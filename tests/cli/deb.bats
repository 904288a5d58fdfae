# make deb: Debian packages whose contents work, and about which lintian has no complaint.

root=$BATS_TEST_DIRNAME/../..

@test "the Debian packages build, hold each file once and work when unpacked" {
	[ -n "${SLOW-}" ] || skip 'takes a minute of processor time: SLOW=1 runs it'
	command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || skip 'dpkg-dev or debhelper is not installed'
	[ -e "$B/lib/gpumemsnap/libgpumemsnap.so" ] || skip 'record was not built (no CUDA headers)'
	cd "$BATS_TEST_TMPDIR"
	(cd "$root" && B=$BATS_TEST_TMPDIR/build DEB_BUILD_OPTIONS='noopt parallel=2 noautodbgsym' vendor/deb.sh 1.2.3 >/dev/null) || return 1
	[ "$(ls build/deb/*.deb | wc -l)" -eq 3 ]
	for d in build/deb/*.deb; do
		dpkg-deb -x "$d" tree
		dpkg-deb -c "$d" | awk '$1 !~ /^d/ {print $6}'
	done | sort | uniq -d >twice
	[ ! -s twice ]
	[ "$(dpkg-deb -f build/deb/gpumemsnap_*.deb Version)" = 1.2.3-1 ]
	[[ $(dpkg-deb -f build/deb/gpumemsnap_*.deb Depends) == *libunwind8* ]]
	[[ $(dpkg-deb -f build/deb/libgpumemalloc-dev_*.deb Depends) == *'libgpumemalloc0 (= 1.2.3-1)'* ]]
	tree/usr/bin/gpumemsnap record -q --sim -o s.json "$B/samples/leak"
	tree/usr/bin/gpumemsnap report --leaks s.json | grep -q 'leak.c:'
	if command -v lintian >/dev/null; then
		lintian --allow-root --suppress-tags initial-upload-closes-no-bugs,unstripped-binary-or-object,unstripped-static-library,hardening-no-fortify-functions \
			build/deb/*.changes >complaints 2>&1 || true
		[ ! -s complaints ] || { cat complaints; return 1; }
	fi
}
