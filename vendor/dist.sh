#!/bin/bash
# dist.sh NAME: one tarball, $B/NAME.tar.gz, that runs where none of our libraries is installed
# (glibc 2.35 or newer). Same input, same bytes: names sorted; owners, modes and times fixed.
set -euo pipefail
umask 022
name=$1
top=$B/dist/$name
rm -rf "$B/dist"
make --no-print-directory -s install B="$B" PREFIX=/ DESTDIR="$top" >/dev/null
own=$top/share/gpumemsnap
mkdir -p "$own/samples/bin"
cp README.md LICENSE "$top/"
cp -r samples "$own/"
find "$B/samples" -maxdepth 1 -type f -executable -exec cp {} "$own/samples/bin/" \; 2>/dev/null || true

# Every shared library that is not the C library's own travels beside the recorder.
libs() {
	ldd "$1" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' |
		grep -v -E '^(libc|libm|libdl|libpthread|librt|ld-linux[^ ]*)\.so' || true
}
libs "$top/bin/gpumemsnap" | while read -r soname path; do
	[ -e "$top/lib/gpumemsnap/$soname" ] || cp -L "$path" "$top/lib/gpumemsnap/$soname"
done

# Nothing newer than glibc 2.35 may be asked for.
bad=$(find "$top" -type f \( -name '*.so*' -o -path '*/bin/*' \) | while read -r f; do
	objdump -T "$f" 2>/dev/null | grep -oE 'GLIBC_2\.[0-9]+' | sort -u | awk -F. -v f="$f" '$2 > 35 {print f": "$0}'
done)
[ -z "$bad" ] || { echo "dist: needs a newer glibc than 2.35:"; echo "$bad"; exit 1; } >&2

find "$top" -name '*.so*' -type f -exec strip --strip-unneeded {} +
tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=u+w,go-w --mtime="@${SOURCE_DATE_EPOCH:-946684800}" \
	-C "$B/dist" -cf - "$name" | gzip -n9 >"$B/$name.tar.gz"
echo "$B/$name.tar.gz"
