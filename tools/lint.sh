#!/bin/sh
# lint.sh [FILE.c...] — what gcc -fanalyzer, cppcheck and clang-tidy (each if it is installed) say of src/, less what
# tools/lint_known.txt explains; in full in build/lint/.  Exit 1 when something is left.
set -eu
cd "$(dirname "$0")/.."
out=build/lint
mkdir -p "$out"
# not the ladder's rungs, each of which is all of its templates in one file, nor what lint.h stands for
[ $# -gt 0 ] || set -- $(find src -name '*.c' ! -name 'isa_*' ! -name status.c ! -path '*/mpi/*' ! -path '*/ref/*' | sort)
packages=$(pkg-config --cflags jansson libutf8proc libzstd zlib)
flags="-std=c11 -Iinclude -Isrc $packages -DROFORMER_VERSION=\"0\" -DRF_BUILD_TYPE=\"\""
have() { command -v "$1" > /dev/null 2>&1 || { echo "lint: $1 is not installed" >&2; return 1; }; }

: > "$out/found"
if have gcc; then
    for file; do
        # shellcheck disable=SC2086
        timeout 300 gcc $flags -include tools/lint.h -O1 -fanalyzer -fdiagnostics-plain-output -c "$file" -o /dev/null 2>&1 || echo "$file: gcc gave up" >&2
    done > "$out/gcc.txt"
    grep -E '(warning|error):' "$out/gcc.txt" >> "$out/found" || true
fi
if have cppcheck; then
    cppcheck --enable=warning,portability,performance --std=c11 --language=c -q -Iinclude -Isrc --include=tools/lint.h \
        --suppress=missingIncludeSystem -DRF_CPPCHECK -DROFORMER_VERSION='"0"' -DRF_BUILD_TYPE='""' \
        --template='{file}:{line}: {severity}: {message} [{id}]' "$@" > "$out/cppcheck.txt" 2>&1
    cat "$out/cppcheck.txt" >> "$out/found"
fi
if have clang-tidy; then
    # shellcheck disable=SC2086
    clang-tidy --quiet "$@" -- $flags -include tools/lint.h > "$out/clang-tidy.txt" 2> /dev/null || true
    grep -E '(warning|error):' "$out/clang-tidy.txt" >> "$out/found" || true
fi

# Lines of lint_known.txt: a regular expression, and above it, behind '#', why it is no defect.
grep -v '^#' tools/lint_known.txt | grep . > "$out/known"
sed "s|^$PWD/||" "$out/found" | sort -u | grep -v -E -f "$out/known" > "$out/left" || true
cat "$out/left"
echo "lint: $(sort -u "$out/found" | grep -c . || true) findings, $(grep -c . "$out/left" || true) that tools/lint_known.txt does not explain"
[ ! -s "$out/left" ]
