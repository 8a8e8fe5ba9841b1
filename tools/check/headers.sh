#!/bin/sh
# headers.sh — every public header compiles on its own in C11, C17 and C++17 without warnings, and roformer.h includes
# it.
set -eu
cd "$(dirname "$0")/../.."
for header in $(find include/roformer -name '*.h' | sort); do
    name=${header#include/}
    case $name in roformer/roformer.h) ;; *)
        grep -qF "#include \"$name\"" include/roformer/roformer.h || { echo "roformer.h does not include $name"; exit 1; } ;;
    esac
    for mode in "gcc -xc -std=c11" "gcc -xc -std=c17" "g++ -xc++ -std=c++17"; do
        set -- $mode
        command -v "$1" > /dev/null || { echo "skipped: no $1"; continue; }
        printf '#include "%s"\ntypedef int unit;\n' "$name" | "$@" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude -fsyntax-only - ||
            { echo "$name does not compile alone: $mode"; exit 1; }
    done
done
