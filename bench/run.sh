#!/bin/sh
# run.sh BUILD — every benchmark of our own, one after the other, into results/*.txt; each file begins with the machine.
# Peers are another matter: bench/README.md.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
cmake --build "$build" --target bench_kernels bench_attention bench_gemm bench_tokenizer roformer-program > /dev/null

machine() {
    printf '%s, %s cores, %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(nproc)" \
        "$(awk '/MemTotal/ {printf "%.0f GB", $2 / 1e6}' /proc/meminfo)"
    printf 'load before: %s\n\n' "$(cut -d' ' -f1-3 /proc/loadavg)"
}
into() {     # into NAME COMMAND...
    name=$1
    shift
    echo "results/$name.txt: $*"
    { machine; printf '$ %s\n' "$*"; "$@"; } > "results/$name.txt" 2>&1
}

into kernels "$build/bench/bench_kernels"
into attention "$build/bench/bench_attention"
into gemm "$build/bench/bench_gemm"
into tokenizer "$build/bench/bench_tokenizer"
into forward "$build/roformer" bench forward
into train "$build/roformer" bench train
