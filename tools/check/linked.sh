#!/bin/sh
# linked.sh LIBRARY.so OBJECT... — the program's objects use only functions that the shared library exports, and those of
# src/base/os, so they could be linked with both.
set -eu
library=$1
shift
exported=$(mktemp)
trap 'rm -f "$exported" "$exported.used"' EXIT
nm -D --defined-only "$library" | sed -n 's/^[0-9a-f]* [A-Z] \(rf[a-z0-9_]*\).*/\1/p' | sort -u > "$exported"
[ -s "$exported" ] || { echo "$library: exports nothing"; exit 1; }
[ $# -gt 0 ] || { echo "no object of the program"; exit 1; }
nm -u "$@" > "$exported.used"                                    # fails if an object cannot be read
inner=$(sed -n 's/^ *U \(rf[a-z0-9_]*\)$/\1/p' "$exported.used" | sort -u | comm -23 - "$exported" | grep -v '^rf__os_' || true)
[ -z "$inner" ] || { printf '%s is not exported by the shared library, and the program uses it\n' $inner; exit 1; }
