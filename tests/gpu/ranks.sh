#!/bin/bash
# ranks.sh [TARBALL]: jobs of several processes and of several GPUs with the real PyTorch, as TAP. About two minutes;
# what needs two GPUs is skipped where there is one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/words.sh" "$@"
gpus=$(python3 -c 'import torch; print(torch.cuda.device_count())' 2>torch.err)
[ "${gpus:-0}" -ge 1 ] || { echo "1..0 # SKIP no torch with CUDA: $(tail -n 1 torch.err)"; exit 0; }
export GLOO_SOCKET_IFNAME=lo NCCL_SOCKET_IFNAME=lo

torchrun() { # N MODE
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	set -- python3 -m torch.distributed.run --nproc-per-node "$1" --master-addr 127.0.0.1 --master-port "$port" "$here/ranks.py" "$2" "$told"
	"${recorded[@]}" "$@"
}
# NAME STATUS COMMAND…: all processes of a job recorded by one command; $name.report.json of all of them.
job() {
	local want=$2 status
	name=$1 told=$work/$1.told
	shift 2
	mkdir -p "$told" "$out/$name"
	recorded=(timeout 100 gpumemsnap record -q --torch -o "$out/$name/rank.json")
	"$@" >"$name.out" 2>"$name.err" </dev/null
	status=$?
	[ $status -eq "$want" ] || say "$name: status $status"
	gpumemsnap report --accounting --format json "$out/$name"/*.json >"$out/$name.report.json" 2>>"$name.err" && [ $status -eq "$want" ]
}
told_of() { # WHAT…: judged by ranks_check.py
	if python3 "$here/ranks_check.py" "$out/$name.report.json" "$told" "$@" >"$name.check" 2>&1; then
		ok "$name: $*"
	else
		not_ok "$name: $*" "$name.out" "$name.err"
	fi
	sed "s|^|# |; s|$out/||g" "$name.check"
}
alone() { "${recorded[@]}" python3 "$here/ranks.py" "$1" "$told"; } # MODE

# --- three ranks share a GPU --------------------------------------------------------------------
export CUDA_VISIBLE_DEVICES=0
job share 0 torchrun 3 gloo
judge 'share: three ranks of torchrun on one GPU, recorded by one command' $? share.out share.err
told_of ranks=3 figures segments odd=1
told_of account together
gpumemsnap report "$out"/share/*.json 2>/dev/null | head -n 8 | sed 's/^/# /'
gpumemsnap report --accounting "$out/share/rank.1.json" 2>/dev/null | sed -n '/ACCOUNT/,$p' | sed 's/^/# /'
gpumemsnap merge -o "$out/share.json.gz" "$out"/share/*.json 2>merge.err && gpumemsnap html -o "$out/share.html" "$out/share.json.gz" 2>>merge.err &&
	[ "$(gpumemsnap report --format json "$out/share.json.gz" | grep -c '"rank"')" -ge 3 ] && grep -q 'jobRank' "$out/share.html"
judge 'share: merged, they are one file, and a page' $? merge.err
say "$(stat -c '%n %s' "$out/share.json.gz" "$out/share.html" | sed "s|$out/||" | tr '\n' ' ')"

# --- ended by others -----------------------------------------------------------------------------
job fails 1 torchrun 3 fails
judge 'fails: a rank out of memory, the others ended by torchrun' $? fails.out fails.err
told_of ranks=3 figures failed=1 terminated
job workers 0 alone workers && grep -qx 'codes \[0, -15\]' workers.out
judge 'workers: spawned, forked and terminated ones end as without us' $? workers.out workers.err
told_of processes=3 figures terminated
unset CUDA_VISIBLE_DEVICES

# --- two GPUs --------------------------------------------------------------------------------------
if [ "$gpus" -ge 2 ]; then
	export CUDA_VISIBLE_DEVICES=0,1
	job nccl 0 torchrun 2 nccl
	judge 'nccl: two ranks train over NCCL' $? nccl.out nccl.err
	told_of ranks=2 figures segments
	told_of account nccl
	job devices 0 alone devices
	judge 'devices: one process on two GPUs' $? devices.out devices.err
	told_of processes=1 devices=2 figures segments account
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True job expandable 0 alone devices
	judge 'expandable: one process on two GPUs' $? expandable.out expandable.err
	told_of processes=1 devices=2 figures segments account
else
	skip 'nccl: two ranks train over NCCL' 'one GPU'
fi

# --- MPI ---------------------------------------------------------------------------------------------
mpi() { OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "${recorded[@]}" mpirun -n 2 python3 "$here/ranks.py" mpi "$told"; }
if have mpirun && python3 -c 'from mpi4py import MPI' 2>mpi.err; then
	job mpi 0 mpi
	judge 'mpi: two ranks of mpirun' $? mpi.out mpi.err
	told_of ranks=2 figures
else
	skip 'mpi: ranks of mpirun' "$(have mpirun && tail -n 1 mpi.err || echo 'no mpirun')"
fi
echo "1..$n"
say "results are in $out, after $SECONDS s"
