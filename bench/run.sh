#!/bin/sh
# run.sh BUILD [NAMES] — every benchmark of our own, one after the other, into results/*.txt; each file begins with the machine.
# "finetune" needs the peers' Python of $PEERS (bench/peers/setup.sh); other peers are another matter: bench/README.md.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
cmake --build "$build" --target bench_kernels bench_attention bench_relative bench_encodings bench_gemm bench_linear bench_tokenizer roformer-program > /dev/null

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

# Both types in turns, with the memory of each: a program for itself.
bf16='
    for shape in 8x128 4x512 1x16; do
        for type in f32 bf16; do "$0/roformer" bench forward --shape $shape --dtype $type; done
    done
    for shape in 8x128 2x512; do
        for type in f32 bf16; do
            "$0/roformer" bench train --shape $shape --dtype $type
            "$0/roformer" bench train --shape $shape --dtype $type --gradient_checkpointing
        done
    done
    "$0/bench/bench_gemm" --type bf16'

# The three types that answers are computed in, in turns, and products of packed weights alone.
int8='
    for shape in 8x128 4x512 1x16; do
        for type in f32 bf16 int8; do "$0/roformer" bench forward --shape $shape --dtype $type; done
    done
    "$0/bench/bench_gemm" --type int8 --only base'

python() { "${PEERS:-build/peers}/v/bin/python" "$@"; }

# With names behind BUILD, only those.
chosen=${2:-kernels attention linear relative encodings gemm tokenizer forward train bf16 int8}
for what in $chosen; do
    case $what in
    bf16) into bf16 sh -xc "$bf16" "$build" ;;
    int8) into int8 sh -xc "$int8" "$build" ;;
    finetune) into peers-finetune python bench/peers/finetune.py --roformer "$build/roformer" ;;
    forward | train) into "$what" "$build/roformer" bench "$what" ;;
    linear) into linear sh -xc '"$0"; "$0" --encoder' "$build/bench/bench_linear" ;;
    relative) into relative sh -xc '"$0" --rounds 5; "$0" --rounds 3 --type bf16' "$build/bench/bench_relative" ;;
    *) into "$what" "$build/bench/bench_$what" ;;
    esac
done
