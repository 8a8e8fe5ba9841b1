#!/bin/sh
# docs.sh — what the documentation names must exist: paths in backticks or links, and functions rf_*, rf__*, rfk_*. A
# path may contain * (at least one file must match) or <name> (read as *).
set -eu
cd "$(dirname "$0")/../.."
bad=0
for page in README.md README.zh.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/models/*.md docs/adding/*.md examples/README.md results/README.md tests/golden/README.md; do
    [ -f "$page" ] || continue
    folder=$(dirname "$page")
    for path in $(grep -oE '`(\.\./)?(src|include|tests|tools|bench|examples|cmake|scripts|docs|experiments|results|\.ci)/[^` ]*`' "$page" | tr -d '`' | sort -u); do
        pattern=$(printf '%s' "$path" | sed 's/<[^>]*>/*/g')
        case $pattern in ../*) pattern=$folder/$pattern ;; esac
        # shellcheck disable=SC2086
        ls -d $pattern > /dev/null 2>&1 || { echo "$page: $path does not exist"; bad=1; }
    done
    for path in $(grep -oE '\]\([^)#: ]+[)#]' "$page" | sed 's/^](//; s/[)#]$//' | sort -u); do
        [ -e "$folder/$path" ] || { echo "$page: link to $path, which does not exist"; bad=1; }
    done
    for name in $(grep -oE '`(rf_|rf__|rfk_|RF_)[A-Za-z0-9_]+`' "$page" | tr -d '`' | sort -u); do
        grep -rqw -e "$name" include src CMakeLists.txt cmake || { echo "$page: $name is not in the code"; bad=1; }
    done
    # `test_x.c`: `case_name` and `source.c`: `function`, the way docs/paper-to-code.md and docs/tour.md point at code
    grep -oE '`(tests|src|include)/[^` ]+\.(c|h|inc|def)`: `[a-z_0-9]+`' "$page" | tr -d '`:' | sort -u > "${TMPDIR:-/tmp}/docs.$$"
    while read -r file name; do
        grep -qw -e "$name" "$file" || { echo "$page: $file has no $name"; bad=1; }
    done < "${TMPDIR:-/tmp}/docs.$$"
    rm -f "${TMPDIR:-/tmp}/docs.$$"
    # `train/test_x`: `case`, `case`, the way docs/reliability.md does
    for row in $(grep -oE '`([a-z]+/)?test_[a-z_]+`: `[a-z_]+`(, `[a-z_]+`)*' "$page" | tr -d '`' | tr ', ' '::' | sort -u); do
        file=$(ls tests/*/"$(basename "${row%%:*}")".c 2> /dev/null) || { echo "$page: no test ${row%%:*}"; bad=1; continue; }
        for name in $(printf '%s' "${row#*:}" | tr ':' ' '); do
            # shellcheck disable=SC2086
            grep -qw -e "cmocka_unit_test($name" $file || { echo "$page: ${row%%:*} has no $name"; bad=1; }
        done
    done
done
# README.zh.md repeats the C program and the figures of README.md
for page in README.md README.zh.md; do
    awk '/^```/ { there = $0 == "```c" } there' "$page"
    awk '/^\|.* ms \|/' "$page" | grep -oE '[0-9]+([.,][0-9]+)*( ms| %)?' | tr '\n' ' '
    echo
done > "${TMPDIR:-/tmp}/docs.$$"
awk '/^```c/ { n++ } { text[n] = text[n] "\n" $0 } END { exit n != 2 || length(text[1]) < 500 || text[1] != text[2] }' \
    "${TMPDIR:-/tmp}/docs.$$" || { echo "README.zh.md: expected the C program and the figures of README.md, got others"; bad=1; }
rm -f "${TMPDIR:-/tmp}/docs.$$"
exit $bad
