#!/bin/bash
# dist.sh NAME: one tarball, $B/NAME.tar.gz, that runs where none of our libraries is installed
# (glibc 2.35 or newer). Same input, same bytes: names sorted, owners and times fixed.
set -euo pipefail
name=$1
stage=$B/dist/$name
rm -rf "$B/dist"
mkdir -p "$stage"
make --no-print-directory -s install B="$B" PREFIX=/ DESTDIR="$stage" >/dev/null
mkdir -p "$stage/share/gpumemsnap"
cp README.md LICENSE "$stage/" 2>/dev/null || true
cp -r samples "$stage/share/gpumemsnap/"
if [ -d "$B/samples" ]; then
	mkdir -p "$stage/share/gpumemsnap/samples/bin"
	find "$B/samples" -maxdepth 1 -type f -executable -exec cp {} "$stage/share/gpumemsnap/samples/bin/" \;
fi

# Every shared library that is not the C library's own travels beside the recorder.
libs() {
	ldd "$1" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' |
		grep -v -E '^(libc|libm|libdl|libpthread|librt|ld-linux[^ ]*)\.so' || true
}
libs "$stage/bin/gpumemsnap" | while read -r soname path; do
	[ -e "$stage/lib/gpumemsnap/$soname" ] || cp -L "$path" "$stage/lib/gpumemsnap/$soname"
done

# Nothing newer than glibc 2.35 may be asked for.
bad=$(find "$stage" -type f \( -name '*.so*' -o -path '*/bin/*' \) | while read -r f; do
	objdump -T "$f" 2>/dev/null | grep -oE 'GLIBC_2\.[0-9]+' | sort -u | awk -F. -v f="$f" '$2 > 35 {print f": "$0}'
done)
[ -z "$bad" ] || { echo "dist: needs a newer glibc than 2.35:"; echo "$bad"; exit 1; }

find "$stage" -name '*.so*' -type f -exec strip --strip-unneeded {} + 2>/dev/null || true
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='2000-01-01 00:00Z' -C "$B/dist" -cf - "$name" | gzip -n9 >"$B/$name.tar.gz"
echo "$B/$name.tar.gz"
