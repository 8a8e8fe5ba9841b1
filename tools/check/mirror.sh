#!/bin/sh
# mirror.sh — every source file is named in a test: by the test file of the same name, or after the word "mirrors" in
# the first comment of one that covers several ("mirrors ... <file>" or "mirrors ... <folder>").
set -eu
cd "$(dirname "$0")/../.."
bad=0
# The lines of such lists: from "mirrors" up to a colon, the end of a sentence or the end of the comment.
lists=$(awk 'FNR == 1 { on = 0 }  /mirrors/ { on = 1 }  on { print "mirrors " $0 }
             on && (/: / || /\.$/ || /\*\// || /^ \*$/) { on = 0 }' tests/*/*.c)
for source in $(find src -name '*.c' ! -path 'src/cli/*' | sort); do
    name=$(basename "$source" .c)
    ls tests/*/test_"$name".c > /dev/null 2>&1 && continue
    folder=$(dirname "$source")
    printf '%s\n' "$lists" | grep -qE "mirrors.*(\b$name\.c|($folder|$(dirname "$folder"))(/\*|[^/a-z_.]))" && continue
    echo "no test mirrors $source"
    bad=1
done
exit $bad
