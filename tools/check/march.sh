#!/bin/sh
# march.sh — every rung compiles, as the file of its own instructions, whatever CFLAGS say about the processor: -march=native,
# newer processors than this one, and Apple's.  Compilers that are not installed are left out.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-march-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
! grep -rnE '__(SSE|AVX|FMA|F16C|ARM_FEATURE)' src/kernel ||
    { echo "check_march: expected HAS_... of kernel.h, got a macro that CFLAGS change" >&2; exit 1; }

# rungs MACHINE COMPILER FLAG...: compiles the rungs of the machine at -O1, which inlines what the instructions need
rungs() {
    machine=$1
    shift
    command -v "$1" > /dev/null || { echo "check_march: $1 is not installed"; return 0; }
    sed -n '/^RFR(/{N;s/^RFR(\([a-z0-9_]*\), *\([a-z0-9_]*\),.*"\(.*\)".*/\1 \2 \3/p}' include/roformer/kernel/rungs.def |
        while read -r rung on flags; do
            case $on in "$machine" | emulated) echo "src/kernel/isa/isa_$rung.c $flags" ;; esac
        done > "$work/files"
    [ "$(wc -l < "$work/files")" -gt 4 ] || { echo "check_march: $machine: few rungs" >&2; exit 1; }
    xargs -P "$(nproc)" -I{} sh -c "$* -O1 -std=c11 -Wall -Wextra -Wno-psabi -Werror -Iinclude -Isrc -o /dev/null -c {}" \
        < "$work/files" || { echo "check_march: $*: a rung does not compile" >&2; exit 1; }
    echo "check_march: $*: $(wc -l < "$work/files") rungs"
}
if [ "$(uname -m)" = x86_64 ]; then
    for processor in native icelake-server; do rungs x86_64 "${CC:-cc}" -march=$processor; done
    rungs x86_64 clang -march=sapphirerapids
fi
for processor in armv8.2-a+dotprod armv8.6-a; do rungs aarch64 aarch64-linux-gnu-gcc -march=$processor; done
[ ! -d /usr/aarch64-linux-gnu/include ] || rungs aarch64 clang --target=aarch64-linux-gnu -mcpu=apple-m1
