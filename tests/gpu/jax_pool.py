"""jax_pool.py PROFILE: two tables in JAX's memory, and JAX's own profile of them."""
import sys

import jax
import numpy

MIB = 1 << 20


def make_table(mib):
    return jax.device_put(numpy.zeros(mib * MIB, dtype=numpy.uint8)).block_until_ready()


def main():
    table, index = make_table(96), make_table(16)
    jax.profiler.save_device_memory_profile(sys.argv[1])
    device = jax.devices()[0]
    stats = device.memory_stats() or {}
    print(f"platform={device.platform} limit={stats.get('bytes_limit', 0)} tables={table.nbytes + index.nbytes}")


main()
