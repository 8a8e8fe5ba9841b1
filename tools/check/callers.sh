#!/bin/sh
# callers.sh LIBRARY.so — every function of include/roformer is exported, and every exported function is used by a
# program of this tree: the command line, the server, the Python package, or a program of bench, experiments or
# examples.  The functions below have callers among users: they are the parts of an interface that a program of this
# tree uses, and a test shows how.  Prints the number of functions, and of those.
set -eu
cd "$(dirname "$0")/../.."
# What examples/cancel.c shows with a pipeline, for a session.
tested=rf_session_set_cancel
# Sequences of the cache, and results of a batch; the examples and the bench use others (model.h, generate.h).
tested="$tested rf_sequence_bytes rf_sequence_length rf_sequence_memory rf_sequence_read rf_sequence_source_bytes"
tested="$tested rf_session_embed rf_session_generate rf_session_pair_logits"
# In f32, without the suffix _as; with the defaults of a family; copies of configs of a later library.
tested="$tested rf_answerer_open rf_evaluate_mlm rf_config_defaults_of rf_config_copy"
# Products, numbers and tables of the library of kernels; several poolings.
tested="$tested rf_rng_u32 rf_rope_rows rf_pooling_join"

functions=$(nm -D --defined-only "$1" | sed -n 's/^[0-9a-f]* T \(rf[a-z0-9_]*\).*/\1/p' | sort -u)
[ -n "$functions" ] || { echo "$1: no exported function"; exit 1; }
named=$(mktemp)
trap 'rm -f "$named" "$named.tests"' EXIT
names() { grep -rhoE --include='*.[ch]' --include='*.py' '\brfk?_[a-z0-9_]+\b' "$@" | sort -u; }
names src/cli src/serve python bench experiments examples > "$named"
names tests > "$named.tests"
bad=0 alone=0
for f in $functions; do
    whole=$f
    case $f in                                                              # the macro that calls it
    *_options_init) f=${f%_options_init}_defaults ;;
    *_init) grep -q "define ${f%_init}_defaults(" $(find include/roformer -name "*.h") && f=${f%_init}_defaults ;;
    *_sized) f=${f%_sized} ;;
    esac
    grep -qx -e "$f" -e "$whole" "$named" && continue
    case " $tested " in *" $f "*) grep -qx "$f" "$named.tests" && alone=$((alone + 1)) && continue ;; esac
    echo "$f is public, and no program calls it: make it internal (rf__), or name it in tools/check/callers.sh with a test"
    bad=1
done
for f in $tested; do
    ! grep -qx "$f" "$named" || { echo "tools/check/callers.sh: $f has a caller: take it from the list"; bad=1; }
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
echo "$(echo "$functions" | wc -l) exported functions, $alone of them called by tests alone, in $(find include/roformer -name '*.h' | wc -l) headers"
exit $bad
