# frameworks.sh: cupy, JAX and numba-cuda, recorded on the driver's level. Sourced by run.sh, whose words (record, judge,
# say …) it uses.

can_import() { have python3 && python3 -c "import $1" 2>"$1.missing"; }

framework() { # NAME MODULE SCRIPT WHAT
	if can_import "$2"; then
		record "$1" python3 "$here/$3" &&
			python3 "$here/framework_check.py" "$1" "$out/$1.report.json" "$1.out" >"$1.check" 2>&1
		judge "$4" $? "$1.check" "$1.out" "$1.err"
		sed 's/^/# /' "$1.check"
	else
		skip "$4" "$(tail -n 1 "$2.missing" 2>/dev/null)"
	fi
}

framework cupy cupy cupy_pool.py "cupy: the pool's memory to the byte, the leak and the script's own lines"
if can_import jax; then
	record jax python3 "$here/jax_pool.py" "$out/jax.prof" &&
		gpumemsnap report --format json "$out/jax.prof" >"$out/jax.prof.json" 2>>jax.err &&
		python3 "$here/framework_check.py" jax "$out/jax.report.json" jax.out "$out/jax.prof.json" >jax.check 2>&1
	judge "JAX: its pool is explained, and its own profile is read" $? jax.check jax.out jax.err
	sed 's/^/# /' jax.check
	gpumemsnap report "$out/jax.prof" 2>/dev/null | head -n 30 | sed 's/^/# /'
else
	skip "JAX: its pool is explained, and its own profile is read" "$(tail -n 1 jax.missing 2>/dev/null)"
fi
framework numba numba.cuda numba_arrays.py "numba-cuda: the arrays that a list keeps, by the script's own lines"
