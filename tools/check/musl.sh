#!/bin/sh
# musl.sh — every C source compiles with musl's headers (musl-gcc); headers of other libraries are provided separately.
# Each source is also compiled after all headers of POSIX (posix.h), to find names of ours that another system's headers
# declare.
set -eu
cd "$(dirname "$0")/../.."
folder=build/musl
rm -rf $folder && mkdir -p $folder
sh tools/check/link_headers.sh $folder
# checked OPTION...: the syntax of every source; those of the server are built with _GNU_SOURCE
checked() {
    syntax() { xargs -P "$(nproc)" -I{} musl-gcc -std=c11 -fsyntax-only "$@" -Iinclude -Isrc -idirafter $folder -DRF_SENTENCEPIECE -DROFORMER_VERSION='"0"' {}; }
    sh tools/check/sources.sh | grep -vE '^src/serve/|/isa_' | syntax "$@"
    [ ! -e $folder/microhttpd.h ] || sh tools/check/sources.sh src/serve | syntax -D_GNU_SOURCE= "$@"
}
checked
checked -D_GNU_SOURCE= -include tools/check/posix.h
