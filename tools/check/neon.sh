#!/bin/sh
# neon.sh — checks the syntax of every source for AArch64, cross-compiles src/base and src/kernel, and runs the kernel
# tests under user-mode emulation: the rungs of Arm compared with the reference.  Kernels that only the rung neon has
# run on an emulated processor without other rungs, which halves the time.
#
#     tools/check/neon.sh [test name ...]          needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user
#
# CC and RUN name another compiler or emulator, PLAIN the emulator of a processor without the newer rungs.  Exits with
# 77 if there is none.
set -eu
cd "$(dirname "$0")/../.."
CC=${CC:-aarch64-linux-gnu-gcc}
PLAIN=${PLAIN:-${RUN:-qemu-aarch64 -cpu cortex-a72}}
RUN=${RUN:-qemu-aarch64 -cpu max}
for tool in "$CC" "${RUN%% *}"; do
    command -v "$tool" > /dev/null || { echo "check_neon: $tool is not installed"; exit 77; }
done
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$build/include"
sh tools/check/link_headers.sh "$build/include"

# Rungs at -O3 with their flags of rungs.def and the rest at -O2, as they ship; the tests at -O1, because gcc 12.2 for AArch64 fails on some of them when it vectorizes.
flags="-std=c11 -pthread -static -Iinclude -Isrc -Itests/support/neon -Itests/support -isystem $build/include -DROFORMER_VERSION=\"neon\"
       -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wvla -Werror
       -fno-math-errno -fno-trapping-math -ffp-contract=off"
# Sources of the server are built with _GNU_SOURCE.  Kernels are compiled below.
# shellcheck disable=SC2086
syntax() { xargs -P 2 -I{} "$CC" $flags -fsyntax-only -Wno-psabi "$@" {}; }
sh tools/check/sources.sh | grep -vE '^src/(kernel|serve)/' | syntax
[ ! -e "$build/include/microhttpd.h" ] || sh tools/check/sources.sh src/serve | syntax -D_GNU_SOURCE=
echo "the syntax of every source: no errors"

# What reads and writes JSON is compiled too; no kernel calls it, so the archive never gives it to the linker.
sources=$(sh tools/check/sources.sh src/base src/kernel | grep -vE "isa_(sse|avx|wasm)|isa_amx\.c")
# shellcheck disable=SC2086
printf '%s\n' $sources tests/support/t.c |
    xargs -P 2 -I{} sh -c '
        O=-O2
        case $3 in */isa_*)
            rung=${3##*/isa_}
            O="-O3 $(sed -n "/^RFR(${rung%.c},/{n;s/.*\"\(.*\)\".*/\1/p}" include/roformer/kernel/rungs.def)" ;;
        esac
        exec "$0" $1 $O -c "$3" -o "$2/$(echo "$3" | tr / _).o"' "$CC" "$flags" "$build" {}
"${CC%gcc}ar" rcs "$build/kernel.a" "$build"/*.o

# Each rung exports its table and nothing else, as symbols.sh asks of the x86 ones; and the processor that is emulated has them all.
rungs=$(sed -n 's/^RFR(\([a-z0-9_]*\), *aarch64,.*/\1/p' include/roformer/kernel/rungs.def)
for rung in $rungs; do
    exports=$("${CC%gcc}nm" -g --defined-only "$build"/*_isa_"$rung".c.o | awk '{ print $3 }')
    [ "$exports" = "rfk_$rung" ] || { echo "check_neon: isa_$rung.c exports: $exports"; exit 1; }
done
newer=" ladder convert gemm_bf16 gemm_i8 gemm_i8w attention_bf16 attention_relate_bf16 attention_pages "

# These multiply large matrices, which takes many minutes here; the others meet every path of the rung.
export CMOCKA_SKIP="${CMOCKA_SKIP-every_size_and_transpose every_activation training_shapes packed_weights a_row_does_not_see_the_others threads_do_not_show a_row_sees_itself_alone every_size_transpose_and_storage}"

[ $# -gt 0 ] || set -- $(ls tests/kernel/test_*.c | sed 's|.*/test_||; s|\.c$||')
for name; do
    # shellcheck disable=SC2086
    $CC $flags -O1 "tests/kernel/test_$name.c" "$build/kernel.a" -o "$build/test_$name" -lm
done
printf '%s\n' "$@" | xargs -P 2 -I{} sh -c '
    case "$4" in *" $3 "*) run=$0 ;; *) run=$1 ;; esac
    start=$(date +%s)
    $run "$2/test_$3" > "$2/$3.log" 2>&1 && echo "$(tail -n 1 "$2/$3.log") ($(($(date +%s) - start)) s)" ||
    { cat "$2/$3.log"; exit 255; }' "$RUN" "$PLAIN" "$build" {} "$newer"
