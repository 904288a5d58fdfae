# frameworks.sh: cupy, JAX and numba-cuda, recorded on the driver's level. Sourced by run.sh, whose words (record, judge,
# say …) it uses.

can_import() { have python3 && python3 -c "import $1" 2>"$1.missing"; }

if can_import cupy; then
	record cupy python3 "$here/cupy_pool.py" &&
		python3 "$here/framework_check.py" cupy "$out/cupy.report.json" cupy.out >cupy.check 2>&1
	judge "cupy: the pool's memory to the byte, the leak and the script's own lines" $? cupy.check cupy.out cupy.err
	sed 's/^/# /' cupy.check
else
	skip "cupy: the pool's memory to the byte, the leak and the script's own lines" "$(tail -n 1 cupy.missing 2>/dev/null)"
fi
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
if can_import numba.cuda; then
	record numba python3 "$here/numba_arrays.py" &&
		python3 "$here/framework_check.py" numba "$out/numba.report.json" numba.out >numba.check 2>&1
	judge "numba-cuda: the arrays that a list keeps, by the script's own lines" $? numba.check numba.out numba.err
	sed 's/^/# /' numba.check
else
	skip "numba-cuda: the arrays that a list keeps, by the script's own lines" "$(tail -n 1 numba.cuda.missing 2>/dev/null)"
fi
