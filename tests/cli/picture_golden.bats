# What pictures show, item by item, compared with how they were when somebody last looked at them
# (tests/golden/pictures). UPDATE=1 bats tests/cli/picture_golden.bats writes what is drawn now; look at the
# pictures before you commit the difference. The pixels themselves are tests/unit/test_pixels.c's.

setup() {
	golden="$BATS_TEST_DIRNAME/../golden/pictures"
	cd "$BATS_TEST_DIRNAME/../data"
}

same() { # NAME COMMAND…
	local name=$1
	shift
	"$@" --layout | grep -v '^meta Software' >"$BATS_TEST_TMPDIR/now"
	if [ -n "${UPDATE:-}" ]; then
		cp "$BATS_TEST_TMPDIR/now" "$golden/$name.layout"
	fi
	diff -u "$golden/$name.layout" "$BATS_TEST_TMPDIR/now"
}

@test "the flame of a driver recording" { same flame gpumemsnap flame solver.json; }
@test "the flame of a training step, Python and C++ frames" { same flame_train gpumemsnap flame --width 1600 torch/train.pickle.gz; }
@test "the same by phase and module, upside down and dark" { same flame_phases gpumemsnap flame --by phase --by module --invert --theme dark --width 1200 torch/train.pickle.gz; }
@test "callers of what allocates, of all that was allocated" { same flame_reverse gpumemsnap flame --reverse --fold --merge-lines --at total --width 1200 torch/leak.pickle.gz; }
@test "what changed between two runs" { same diff gpumemsnap diff torch/leak.pickle.gz torch/ring.pickle.gz --width 1200 --flame -; }
@test "two devices over time" { same timeline gpumemsnap timeline --width 1200 solver.json; }
@test "a leak over time, by function, dark" { same timeline_leak gpumemsnap timeline --group function --theme dark --width 800 torch/leak.pickle.gz; }
@test "what is reserved" { same reserved gpumemsnap timeline --view reserved --width 600 torch/expandable.pickle.gz; }
@test "two recordings on one axis" { same several gpumemsnap timeline --width 800 torch/leak.pickle.gz torch/train.pickle.gz; }
@test "addresses over time" { same segments gpumemsnap timeline --view segments --width 1200 torch/streams.pickle.gz; }
@test "segments at one instant" { same state gpumemsnap timeline --at end --width 1200 torch/oom.pickle.gz; }
