#!/bin/sh
# plain_header.sh OUT — writes the public headers as one file without preprocessor lines: the declarations of roformer.h
# in the required order, with integer constants as #define NAME NUMBER.  It is for parsers of C declarations
# (cffi, ctypesgen, bindgen).  It requires the types of stddef.h and stdint.h.
set -eu
out=$1
include=$(cd "$(dirname "$0")/../include" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for header in stddef.h stdint.h stdbool.h; do : > "$work/$header"; done
preprocess() { printf '#include "roformer/roformer.h"\n' | ${CC:-cc} -E "$@" -U__GNUC__ -U__MINGW32__ -nostdinc -I"$work" -I"$include" -x c -; }
{
    echo "/* Made from include/roformer by tools/plain_header.sh: declarations of roformer.h. */"
    preprocess -dM | sed -nE 's/^#define ((RF|RFK|ROFORMER)_[A-Z0-9_]+) \(?(-?[0-9]+)\)?$/#define \1 \3/p' | sort
    preprocess -P
} > "$out.part"
mv "$out.part" "$out"
