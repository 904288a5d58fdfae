#!/bin/bash
# deb.sh VERSION: Debian packages in $B/deb. Lays out a source tree there with vendor/debian as its debian/
# and runs dpkg-buildpackage; nothing is signed or installed.
set -euo pipefail
if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
	echo "make deb needs dpkg-buildpackage and dh: apt-get install dpkg-dev debhelper" >&2
	exit 1
fi
version=$1
tree=$B/deb/gpumemsnap-$version
rm -rf "$B/deb"
mkdir -p "$tree"
tar -cf - Makefile README.md LICENSE src include vendor samples man tests/data | tar -C "$tree" -xf -
mv "$tree/vendor/debian" "$tree/debian"
stamp=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
maintainer=$(sed -n 's/^Maintainer: //p' "$tree/debian/control")
cat >"$tree/debian/changelog" <<END
gpumemsnap ($version-1) unstable; urgency=medium

  * Packaged from the upstream sources of version $version.

 -- $maintainer  $(date -R -u -d "@$stamp")
END
cd "$tree"
# make's own variables (B, PREFIX, flags) are of the outer build
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u B dpkg-buildpackage -us -uc -b >"$B/deb/log" 2>&1 ||
	{ tail -30 "$B/deb/log" >&2; exit 1; }
ls "$B"/deb/*.deb
