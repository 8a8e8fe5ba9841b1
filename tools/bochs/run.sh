#!/bin/sh
# run.sh BOCHS — the kernels in tiles (src/kernel/gemm/gemm_amx.inc) run by the instructions on Bochs, an emulator of PCs that knows AMX
# (3.0 and later, configured with --enable-x86-64 --enable-avx --enable-evex --enable-amx --with-nogui), and next to it in plain C: every
# hash must be the same. The machine boots from an image that holds nothing else: no BIOS, no system.
#
# Bochs 3.0 differs from Intel's manual in three places. Two have to be changed in its source first: in cpu/decoder/fetchdecode_opmap_avx.cc
# STTILECFG is ATTR_VEX_W0, not W1; in cpu/avx/amx.cc DPBDSS takes bytes with their sign (Bit8s). The third does no harm: STTILECFG
# stores rows where bytes of a row belong, so kernels find tiles that are not theirs and configure them in every call.
set -eu
[ $# = 1 ] || { echo "usage: tools/bochs/run.sh BOCHS" >&2; exit 2; }
bochs=$(command -v "$1") || { echo "run.sh: $1 is no program" >&2; exit 2; }
cd "$(dirname "$0")/../.."
CC=${CC:-gcc}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
trap 'exit 1' HUP INT TERM
flags="-O2 -std=gnu11 -Iinclude -Isrc -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -ffp-contract=off -Wno-unused-function"
bare="-ffreestanding -fno-pic -mno-red-zone -mcmodel=small -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns"
# shellcheck disable=SC2086
{
    $CC $flags -DEMULATED tools/bochs/check_tiles.c -o "$build/emulated" -lm
    $CC $flags $bare -c tools/bochs/check_tiles.c -o "$build/tiles.o"
    $CC -c tools/bochs/boot.S -o "$build/boot.o"
}
ld -T tools/bochs/boot.ld -nostdlib -static "$build/boot.o" "$build/tiles.o" -o "$build/image.elf"
objcopy -O binary --gap-fill 0 "$build/image.elf" "$build/image"
"$build/emulated" > "$build/expected"
head -c 32768 /dev/zero > "$build/screen"                # Bochs asks for a ROM of the screen's
cat > "$build/config" << END
cpu: model=sapphire_rapids, ips=50000000, reset_on_triple_fault=0
memory: guest=32, host=32
romimage: file=$build/image, address=0xfffc0000
vgaromimage: file=$build/screen
display_library: nogui
port_e9_hack: enabled=1
log: $build/log
panic: action=fatal
END
(cd "$build" && timeout 600 "$bochs" -q -f config < /dev/null > out 2> err) || true
grep -aE '^(m[0-9a-f]{2} |[CR]$)' "$build/out" > "$build/got" || { tail -5 "$build/log" "$build/err"; exit 1; }
diff "$build/expected" "$build/got" || { echo "Bochs and the emulated tiles differ"; exit 1; }
echo "$(grep -c '^m' "$build/got") products: the same bits by the instructions on Bochs as by the emulated tiles"
