#!/bin/sh
# check_neon.sh — cross-compiles floors 0 and 1 for AArch64, without oneDNN, and runs the kernel tests under
# user-mode emulation: every rung "neon" against the reference.
#
#     tools/check_neon.sh [test name ...]          needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user
#
# CC and RUN name another compiler or emulator.  Ends with 77 where there is none.
set -eu
cd "$(dirname "$0")/.."
CC=${CC:-aarch64-linux-gnu-gcc}
RUN=${RUN:-qemu-aarch64}
for tool in "$CC" "${RUN%% *}"; do
    command -v "$tool" > /dev/null || { echo "check_neon: $tool is not installed"; exit 77; }
done
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
trap 'exit 1' HUP INT TERM

# The one header of another package that floor 0 needs is the same for every machine.
mkdir "$build/include"
for dir in /usr/include /usr/local/include; do
    [ -e "$dir/xxhash.h" ] && ln -sf "$dir/xxhash.h" "$build/include/xxhash.h"
done

# The rung at -O3 and the rest at -O2, as they ship; the tests at -O1, because gcc 12.2 for AArch64 fails on some of them when it vectorises.
flags="-std=c11 -pthread -static -Iinclude -Isrc -Itests/support/neon -Itests/support -I$build/include -DROFORMER_VERSION=\"neon\"
       -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wvla -Werror
       -fno-math-errno -fno-trapping-math -ffp-contract=off"
# Without what reads and writes JSON, which no kernel calls.
sources=$(find src/base src/kernel -name "*.c" | grep -vE "isa_avx|isa_amx\.c|_dnnl|base/json" | sort)
# shellcheck disable=SC2086
printf '%s\n' $sources tests/support/t.c |
    xargs -P 2 -I{} sh -c 'case $3 in */isa_*) O=-O3 ;; *) O=-O2 ;; esac; exec "$0" $1 $O -c "$3" -o "$2/$(echo "$3" | tr / _).o"' "$CC" "$flags" "$build" {}

# Each rung exports its table and nothing else, as check_symbols.sh asks of the x86 ones.
exports=$("${CC%gcc}nm" -g --defined-only "$build/src_kernel_isa_neon.c.o" | awk '{ print $3 }')
[ "$exports" = rfk_neon ] || { echo "check_neon: isa_neon.c exports: $exports"; exit 1; }

# These multiply large matrices, which takes many minutes here; the others meet every path of the rung.
export CMOCKA_SKIP="${CMOCKA_SKIP-every_size_and_transpose every_activation training_shapes packed_weights a_row_does_not_see_the_others threads_do_not_show a_row_sees_itself_alone every_size_transpose_and_storage}"

[ $# -gt 0 ] || set -- $(ls tests/kernel/test_*.c | sed 's|.*/test_||; s|\.c$||')
for name; do
    # shellcheck disable=SC2086
    $CC $flags -O1 "tests/kernel/test_$name.c" "$build"/*.o -o "$build/test_$name" -lm
done
printf '%s\n' "$@" | xargs -P 2 -I{} sh -c '"$0" "$1/test_$2" > "$1/$2.log" 2>&1 && tail -n 1 "$1/$2.log" ||
    { cat "$1/$2.log"; exit 255; }' "$RUN" "$build" {}
