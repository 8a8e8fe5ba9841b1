#!/bin/sh
# mirror.sh — every source file is named in a test: by the test file of the same name, or by a line
# "mirrors ... <file>" or "mirrors ... <folder>" in one that covers several.
set -eu
cd "$(dirname "$0")/../.."
bad=0
for source in $(find src -name '*.c' ! -path 'src/cli/*' | sort); do
    name=$(basename "$source" .c)
    ls tests/*/test_"$name".c > /dev/null 2>&1 && continue
    folder=$(dirname "$source")
    grep -rqE "mirrors.*(\b$name\.c|($folder|$(dirname "$folder"))(/\*|[^/a-z_.]))" tests --include='*.c' && continue
    echo "no test mirrors $source"
    bad=1
done
exit $bad
