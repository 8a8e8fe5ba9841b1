#!/bin/sh
# lint.sh [FILE.c...] — runs gcc -fanalyzer, cppcheck and clang-tidy (those that are installed) on src/ and prints
# findings that tools/lint_known.txt does not explain.  Complete reports are in build/lint/.  Files are checked in
# parallel on all processors.  Exits with 1 if there are findings.
set -eu
cd "$(dirname "$0")/.."
out=build/lint
rm -rf "$out"
mkdir -p "$out/gcc" "$out/clang-tidy"
# not the ladder's rungs, each of which is all of its templates in one file, nor what lint.h stands for
[ $# -gt 0 ] || set -- $(sh tools/check/sources.sh | grep -vE '/(isa_[^/]*|status\.c)$|/ref/')
jobs=${J:-$(nproc)}
defines='-DROFORMER_VERSION="0" -DRF_BUILD_TYPE="" -DRF_SERVE=1'
flags="-std=c11 -Iinclude -Isrc $(pkg-config --cflags jansson libutf8proc oniguruma libzstd zlib) $defines"
have() { command -v "$1" > /dev/null 2>&1 || { echo "lint: $1 is not installed" >&2; return 1; }; }
# TOOL FILE...: tell_TOOL of every file, what it says in a file of its own, then all of it in TOOL.txt.
every() {
    tool=$1
    shift
    script=$(cat)
    have "$tool" || return 0
    printf '%s\n' "$@" | FLAGS=$flags OUT=$out/$tool xargs -P "$jobs" -I FILE sh -c "$script" "$tool" FILE
    cat "$out/$tool"/* > "$out/$tool.txt"
}

every gcc "$@" << 'END'
case $1 in src/serve/*) FLAGS="$FLAGS -D_GNU_SOURCE" ;; esac
timeout 300 gcc $FLAGS -include tools/lint.h -O1 -fanalyzer -fdiagnostics-plain-output -c "$1" -o /dev/null \
    > "$OUT/$(echo "$1" | tr / _)" 2>&1 || echo "$1:0: error: gcc gave up" >> "$OUT/$(echo "$1" | tr / _)"
END
every clang-tidy "$@" << 'END'
case $1 in src/serve/*) FLAGS="$FLAGS -D_GNU_SOURCE" ;; esac
clang-tidy --quiet "$1" -- $FLAGS -include tools/lint.h > "$OUT/$(echo "$1" | tr / _)" 2> /dev/null || true
END
if have cppcheck; then
    # shellcheck disable=SC2086
    cppcheck -j "$jobs" --enable=warning,portability,performance --std=c11 --language=c -q -Iinclude -Isrc \
        --include=tools/lint.h --suppress=missingIncludeSystem -DRF_CPPCHECK $defines \
        --template='{file}:{line}: {severity}: {message} [{id}]' "$@" > "$out/cppcheck.txt" 2>&1
fi

# Lines of lint_known.txt: a regular expression, and above it, after '#', why it is no defect.
grep -v '^#' tools/lint_known.txt | grep . > "$out/known"
cat "$out"/*.txt | grep -E '(warning|error|portability|performance):' | sed "s|^$PWD/||" | sort -u > "$out/found" || true
grep -v -E -f "$out/known" "$out/found" > "$out/left" || true
cat "$out/left"
echo "lint: $(grep -c . "$out/found" || true) findings, $(grep -c . "$out/left" || true) that tools/lint_known.txt does not explain"
[ ! -s "$out/left" ]
