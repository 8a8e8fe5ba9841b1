#!/bin/sh
# check_headers.sh — every public header compiles alone in C11, C17 and C++17, without a warning; roformer.h has them all.
set -eu
cd "$(dirname "$0")/.."
for header in include/roformer/*.h; do
    name=roformer/$(basename "$header")
    [ "$name" = roformer/roformer.h ] || grep -qF "#include \"$name\"" include/roformer/roformer.h ||
        { echo "include/roformer/roformer.h does not include $name"; exit 1; }
    for mode in "gcc -xc -std=c11" "gcc -xc -std=c17" "g++ -xc++ -std=c++17"; do
        set -- $mode
        command -v "$1" > /dev/null || { echo "skipped: no $1"; continue; }
        printf '#include "%s"\n' "$name" | "$@" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude -fsyntax-only - ||
            { echo "$name does not compile alone: $mode"; exit 1; }
    done
done
