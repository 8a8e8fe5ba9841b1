#!/bin/sh
# ranks.sh BUILD TEXT [ROUNDS] — 2 ranks of one thread against 1 process of 2 threads, the same tokens in a step, in turns.
# Printed are tokens a second of each turn, and the median of the ratios.
set -eu
. "$(dirname "$0")/ranks_lib"
build=$(cd "$1" && pwd)
text=$(readlink -f "$2")
rounds=${3:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder"
prepare "$build" "$text"
round=0
while [ "$round" -lt "$rounds" ]; do
    threads=$(turn threads "$build/roformer" pretrain --threads 2 --tokens_per_batch 2048)
    ranks=$(turn ranks mpirun --oversubscribe --bind-to none --mca btl vader,self -n 2 "$build/roformer-mpi" pretrain --threads 1 --tokens_per_batch 1024)
    awk -v t="$threads" -v r="$ranks" \
        'BEGIN { printf "1 process of 2 threads %6d tokens/s   2 ranks of 1 thread %6d tokens/s   %.3f\n", t, r, r / t }' | tee -a turns
    round=$((round + 1))
done
awk '{ print $NF }' turns | sort -n | awk '{ x[NR] = $1 } END { printf "median of %d: 2 ranks at %.1f %% of 2 threads\n", NR, 100 * x[int((NR + 1) / 2)] }'
