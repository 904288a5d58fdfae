#!/bin/sh
# install-packages.sh WHAT PACKAGE…: make sure that what a build, a check or the check in a browser needs is here.
# Silent when nothing is missing. Installs with apt when root or passwordless sudo allows it,
# otherwise prints the one line to type and fails.
set -u
what=$1
shift

missing() {
	if [ "$what" = browser ]; then
		for tool in chromium chromium-browser google-chrome google-chrome-stable; do
			command -v "$tool" >/dev/null 2>&1 && return 0
		done
		echo chromium
		return 0
	fi
	for tool in cc make pkg-config; do
		command -v "$tool" >/dev/null 2>&1 || echo "$tool"
	done
	for lib in libcjson libpng freetype2 zlib libdw libunwind; do
		pkg-config --exists "$lib" 2>/dev/null || echo "$lib"
	done
	[ -e "${FONT_DIR:-/usr/share/fonts/truetype/dejavu}/DejaVuSans.ttf" ] || echo DejaVuSans.ttf
	[ "$what" = check ] || return 0
	pkg-config --exists cmocka 2>/dev/null || echo cmocka
	for tool in bats jq python3 xz man tmux pgrep; do
		command -v "$tool" >/dev/null 2>&1 || echo "$tool"
	done
}

lacking=$(missing | tr '\n' ' ')
[ -z "$lacking" ] && exit 0

packages="$*"
line="apt-get update && apt-get install -y --no-install-recommends $packages"
if [ -z "${NO_INSTALL:-}" ] && command -v apt-get >/dev/null 2>&1; then
	if [ "$(id -u)" = 0 ]; then
		sudo=
	elif sudo -n true 2>/dev/null; then
		sudo=sudo
	else
		sudo=no
	fi
	if [ "$sudo" != no ]; then
		echo "installing what is missing: $lacking"
		export DEBIAN_FRONTEND=noninteractive
		$sudo apt-get update -q >/dev/null &&
			$sudo apt-get install -y -q --no-install-recommends $packages >/dev/null || exit 1
		lacking=$(missing | tr '\n' ' ')
		[ -z "$lacking" ] && exit 0
	fi
fi
echo "missing: $lacking" >&2
echo "install it with:  sudo sh -c '$line'" >&2
exit 1
