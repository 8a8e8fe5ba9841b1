#!/bin/sh
# callers.sh LIBRARY.so — every function of include/roformer is exported, and every exported function is used by a
# program of this tree: the command line, a program of bench, experiments or examples, or a test.
set -eu
cd "$(dirname "$0")/../.."
functions=$(nm -D --defined-only "$1" | sed -n 's/^[0-9a-f]* T \(rf[a-z0-9_]*\).*/\1/p' | sort -u)
[ -n "$functions" ] || { echo "$1: no exported function"; exit 1; }
named=$(mktemp)
trap 'rm -f "$named"' EXIT
grep -rhoE --include='*.[ch]' '\brfk?_[a-z0-9_]+\b' src/cli bench experiments examples tests | sort -u > "$named"
bad=0
for f in $functions; do
    case $f in                                                              # the macro that calls it
    *_options_init) f=${f%_options_init}_defaults ;;
    *_init) grep -q "define ${f%_init}_defaults(" $(find include/roformer -name "*.h") && f=${f%_init}_defaults ;;
    *_sized) f=${f%_sized} ;;
    esac
    grep -qx "$f" "$named" && continue
    echo "$f is public, and neither a program nor a test calls it: test it or take it away"
    bad=1
done
declared=$(find include/roformer -name '*.h' | sed 's,include/\(.*\),#include "\1",' | sort |
               ${CC:-cc} -E -P -x c -Iinclude - | tr '\n' ' ' | tr ';{}' '\n\n\n' | grep -v typedef |
               grep -oE '\brfk?_[a-z0-9_]+\(' | tr -d '(' | sort -u)
[ -n "$declared" ] || { echo "include/roformer: no function"; exit 1; }
for f in $declared; do
    echo "$functions" | grep -qx "$f" && continue
    echo "$f is in include/roformer, and the library does not export it (cmake/roformer.map)"
    bad=1
done
exit $bad
