#!/bin/sh
# lines.sh — no line of a C source or of a page is longer than 120 columns; a character counts as one.  Generated tables
# and golden files are not checked.  In pages, tables, code, formulas, headings and Chinese (which has no blanks to
# break lines at) are not checked.  The names of files are such that Windows can check the tree out.  README.md has at most 180 lines and 12 kB.  A source has at most 600 lines, a function
# 80.
set -eu
cd "$(dirname "$0")/../.."
bad=0
! git ls-files 2> /dev/null | grep -iE '(^|/)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.[^/]*)?(/|$)|[:*?"<>|\]|[. ](/|$)' ||
    { echo "Windows cannot have files with these names"; bad=1; }
[ -z "$(git ls-files 2> /dev/null | tr A-Z a-z | sort | uniq -d)" ] || { echo "names differ by capital letters alone"; bad=1; }
for file in $(find include src tests bench experiments examples \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) \
    ! -name 'unicode_tables.inc' ! -path 'tests/golden/*' | sort); do
    LC_ALL=C awk -v file="$file" '
        { line = $0; gsub(/[\200-\277]/, "", line) }
        length(line) > 120 { print file ":" FNR ": " length(line) " columns, 120 are the limit"; bad = 1 }
        END { exit bad }' "$file" || bad=1
done
for page in *.md docs/*.md docs/models/*.md docs/adding/*.md $(find bench deploy examples experiments models python results -name '*.md' | sort); do
    case $page in *.zh.md | docs/commands.md | docs/options.md) continue ;; esac     # the program writes the latter two
    LC_ALL=C awk -v page="$page" '
        /^ *```/ { code = !code }
        code || /^ *\|/ || /^ *\$\$/ || /^#/ { next }
        { line = $0; gsub(/[\200-\277]/, "", line) }
        length(line) > 120 && line ~ /[^ ] +[^ ]/ { print page ":" FNR ": " length(line) " columns, 120 are the limit"; bad = 1 }
        END { exit bad }' "$page" || bad=1
done
for file in $(find include src -name '*.[ch]' -o -name '*.inc' | grep -v unicode_tables); do
    awk -v file="$file" '
        $0 == "{" { start = FNR }
        $0 == "}" && start { if (FNR - start + 2 > 81) { print file ":" start ": a function of " FNR - start + 2 " lines, 80 are the limit"; bad = 1 } start = 0 }
        END { if (FNR > 600) { print file ": " FNR " lines, 600 are the limit"; bad = 1 } exit bad }' "$file" || bad=1
done
lines=$(wc -l < README.md) bytes=$(wc -c < README.md)
[ "$lines" -le 180 ] && [ "$bytes" -le 12000 ] || {
    echo "README.md: expected at most 180 lines and 12000 bytes, got $lines and $bytes; move text to docs/"
    bad=1
}
exit $bad
