#!/bin/sh
# musl.sh - every C source compiles with musl's headers (musl-gcc), those of other libraries apart.
set -eu
cd "$(dirname "$0")/../.."
folder=build/musl
rm -rf $folder && mkdir -p $folder
for header in jansson.h jansson_config.h utf8proc.h zstd.h zstd_errors.h zlib.h zconf.h xxhash.h zip.h zipconf.h; do
    for path in /usr/include/$header /usr/include/"$(cc -print-multiarch)"/$header; do
        [ ! -f "$path" ] || ln -sf "$path" $folder/
    done
done
bad=0
for file in $(find src -name '*.c' ! -path '*/mpi/*' ! -name 'isa_*' | sort); do
    musl-gcc -std=c11 -fsyntax-only -Iinclude -Isrc -idirafter $folder -DROFORMER_VERSION='"0"' "$file" || bad=1
done
exit $bad
