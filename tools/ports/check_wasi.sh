#!/bin/sh
# check_wasi.sh PROGRAM [TARGET-BUILD] — what the library computes in WebAssembly (wasmtime), compared with this
# machine's build on rung sse4, whose kernels have vectors of the same width: the same tokens and words, and numbers that
# differ by at most 1e-6 of the largest one, which leaves room for the C library's functions.  Both models, f32 and int8.
#
# PROGRAM is build/release/roformer, whose folder also has libroformer.so; TARGET-BUILD is by default what
# `sh tools/ports/build.sh wasm32-wasi` made.
set -eu
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/../.."
own=$(cd "$(dirname "$1")" && pwd)
folder=$PWD/build/ports/wasm32-wasi
target=${2:-$folder/build}
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-wasi-XXXXXX")
trap 'rm -rf "$work"' EXIT
case $(uname -m) in x86_64) isa=sse4 ;; *) isa=neon ;; esac

packages="jansson libutf8proc oniguruma libzstd zlib"
cc -std=c11 -O1 -Iinclude tools/ports/numbers.c -L"$own" -Wl,-rpath,"$own" -lroformer -o "$work/numbers"
# shellcheck disable=SC2046
"$folder/zig-cc" -std=c11 -O1 -Iinclude tools/ports/numbers.c "$target/libroformer.a" \
    $(PKG_CONFIG_LIBDIR="$folder/lib/pkgconfig" pkg-config --libs $packages) -lm -o "$work/numbers.wasm"
for type in f32 int8; do
    set -- models/roformer-small-en-sentences models/roformer-small-en "$type"
    "$work/numbers" "$isa" "$@" > "$work/native"
    "$folder/run" "$work/numbers.wasm" "" "$@" > "$work/wasm"
    paste -d ' ' "$work/native" "$work/wasm" | awk -v type="$type" -v isa="$isa" '
        $1 != $3 || ($1 == "id" && $2 != $4) { print "FAIL: expected", $1, $2 ", got", $3, $4; failed = 1 }
        $1 != "id" {
            n++
            kind = substr($1, 1, 4)
            d = $2 - $4; if (d < 0) d = -d
            a = $2 < 0 ? -$2 : $2
            if (d) differ++
            if (d > most[kind]) most[kind] = d
            if (a > large[kind]) large[kind] = a
        }
        $1 == "id" { ids++ }
        END {
            for (k in most) {
                printf "%s: %s: the largest difference is %.2g of the largest number\n", type, k, most[k] / large[k]
                if (!(most[k] <= 1e-6 * large[k])) failed = 1
            }
            printf "%s: %d ids and %d numbers compared with rung %s, %d of these differ\n", type, ids, n, isa, differ
            exit failed || !ids || n < 200
        }'
done
