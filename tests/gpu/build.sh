#!/bin/bash
# build.sh DIR: the programs that run.sh runs, into DIR, all at once; what a compiler said of one is in
# DIR/NAME.build. GPU_ARCH (sm_90 …) builds for a GPU that is not here.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: build.sh DIR}" && cd "$1" || exit 2
CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
PATH=$PATH:$CUDA_HOME/bin
have() { command -v "$1" >/dev/null 2>&1; }
cuda() { nvcc -std=c++17 -O2 -g -arch="${GPU_ARCH:-native}" "$@"; }

if have gcc && [ -e "$CUDA_HOME/include/cuda.h" ]; then
	for f in "$here"/../../samples/{leak,fragmentation,streams,growth,workers,kinds}.c "$here/facts.c"; do
		name=$(basename "$f" .c)
		gcc -std=gnu11 -O2 -g -isystem "$CUDA_HOME/include" -o "$name" "$f" -L"$CUDA_HOME/lib64/stubs" -lcuda -lpthread \
			2>"$name.build" &
	done
	gcc -std=gnu11 -O2 -g -isystem "$CUDA_HOME/include" -o rec_pair "$here/../bench/rec_pair.c" -ldl -lpthread 2>rec_pair.build &
	gcc -std=gnu11 -O2 -shared -fPIC -isystem "$CUDA_HOME/include" -o libquick.so "$here/../fault/libquick.c" 2>libquick.build &
fi
if have nvcc; then
	for f in "$here"/*.cu; do
		name=$(basename "$f" .cu)
		[ "$name" = leak ] && name=leak_static # samples/leak.c has that name
		link=()
		[ "$name" = kind_vmm ] && link=(-L"$CUDA_HOME/lib64/stubs" -lcuda)
		cuda -o "$name" "$f" "${link[@]}" >"$name.build" 2>&1 &
	done
	cuda -cudart shared -Xlinker "-rpath,$CUDA_HOME/lib64" -o leak_shared "$here/leak.cu" >leak_shared.build 2>&1 &
fi
for f in "$CUDA_HOME" "$CUDA_HOME/extras/CUPTI"; do
	[ -e "$f/include/cupti.h" ] || continue
	gcc -shared -fPIC -O2 -isystem "$CUDA_HOME/include" -isystem "$f/include" -o cupti_memory.so "$here/cupti_memory.c" \
		-L"$f/lib64" -lcupti -Wl,-rpath,"$f/lib64" 2>cupti_memory.build &
done
wait
