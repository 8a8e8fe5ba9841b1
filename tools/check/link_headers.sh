#!/bin/sh
# link_headers.sh FOLDER — links the headers of other packages, which are the same for every machine, into FOLDER, for
# compilers that do not look into /usr/include.
set -eu
for header in jansson.h jansson_config.h utf8proc.h oniguruma.h zstd.h zstd_errors.h zlib.h zconf.h xxhash.h microhttpd.h; do
    for path in /usr/include/$header /usr/include/"$(cc -print-multiarch)"/$header /usr/local/include/$header; do
        [ ! -f "$path" ] || ln -sf "$path" "$1"/
    done
done
