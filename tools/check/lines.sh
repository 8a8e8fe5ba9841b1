#!/bin/sh
# lines.sh — no line of a C source is longer than 120 columns, a character counting as one.  Generated tables and golden files are as they are.
set -eu
cd "$(dirname "$0")/../.."
bad=0
for file in $(find include src tests bench experiments examples \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) \
    ! -name 'unicode_tables.inc' ! -path 'tests/golden/*' | sort); do
    LC_ALL=C awk -v file="$file" '
        { line = $0; gsub(/[\200-\277]/, "", line) }
        length(line) > 120 { print file ":" FNR ": " length(line) " columns, 120 are the limit"; bad = 1 }
        END { exit bad }' "$file" || bad=1
done
exit $bad
