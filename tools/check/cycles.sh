#!/bin/sh
# cycles.sh — includes within a folder of src/ have no cycles.  A file and its header (params.c, params.h) count as one.
# Files with a cycle should be merged, or their common part should be a third file.
set -eu
cd "$(dirname "$0")/../../src"
find . \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.cc' \) | sed 's,^\./,,' | sort | xargs awk '
    function stem(name) { sub(/\.[a-z]+$/, "", name); return name }
    function folder(name) { return sub(/\/[^\/]*$/, "", name) ? name : "." }
    /^[ \t]*#[ \t]*include[ \t]+"/ {
        split($0, part, "\"")
        other = part[2] ~ /\// ? part[2] : folder(FILENAME) "/" part[2]
        if (folder(other) == folder(FILENAME) && stem(other) != stem(FILENAME)) print stem(FILENAME), stem(other)
    }' | sort -u | tsort > /dev/null
