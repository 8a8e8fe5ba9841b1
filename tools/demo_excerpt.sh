#!/bin/sh
# demo_excerpt.sh PROGRAM [--renew] — checks the excerpts of `make demo` in README.md: the first blanks and the search.
# --renew updates README.md.
set -eu
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ROFORMER_MODEL
sh tools/sentences.sh README.md > "$work/readme.txt"
"$program" demo --lines "$work/readme.txt" > "$work/page"
awk -v lines="$work/readme.txt" -v shown=build/release/readme.txt '
/^\$ roformer fill-mask/ { blanks = 4 }
blanks == 1 { blanks = 0; print "..."; next }
blanks { print; if ($0 == "") blanks--; next }
/^\$ roformer index/ { there = 1; at = index($0, lines); $0 = substr($0, 1, at - 1) shown }
/^  1  / { there = 0 }
there && was != "" || there && $0 != "" { print }
{ was = $0 }' "$work/page" | sed -e '${/^$/d;}' > "$work/excerpt"
[ "${2:-}" = --renew ] || { cat "$work/excerpt"; exit 0; }
awk -v excerpt="$work/excerpt" '
/^\$ roformer fill-mask --top-k 3/ { while ((getline line < excerpt) > 0) print line; old = 1 }
/^```/ { old = 0 }
!old' README.md > "$work/README.md"
cat "$work/README.md" > README.md
