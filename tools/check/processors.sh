#!/bin/sh
# processors.sh PROGRAM — runs the program on other x86 processors with qemu-user: it reports their features and selects
# their rung.  fill-mask gives the bytes of that rung on this machine, and scores within 2e-5 of those of the best rung.
# On a processor that has only the rung ref, the program reports that.
set -eu
[ "$(uname -m)" = x86_64 ] || { echo "check_processors: skipped: needs x86_64"; exit 0; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
model=$(cd "$(dirname "$0")/../.." && pwd)/models/roformer-small-en
text='the capital of france is [MASK] .'
folder=$(mktemp -d "${TMPDIR:-/tmp}/roformer-processors-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "check_processors: $*" >&2; exit 1; }
unset ROFORMER_ISA
scores() { grep -oE '"(score|token)": [0-9.e+-]+' "$1" | awk '{ print $2 }'; }

"$program" --version > version
"$program" fill-mask -m "$model" --json --top-k 5 "$text" > best
[ "$(scores best | wc -l)" -eq 10 ] || fail "fill-mask: expected 5 tokens and scores, got: $(cat best)"
for row in Conroe:ref Nehalem:sse4 Haswell:avx2; do
    processor=${row%:*} rung=${row#*:}
    qemu-x86_64 -cpu "$processor" "$program" --version > got || fail "$processor: --version ends with $?"
    cmp -s version got || fail "$processor: --version: $(cat got)"
    qemu-x86_64 -cpu "$processor" "$program" info --env > env || fail "$processor: info --env ends with $?"
    rungs=$(sed -n 's/^rungs  *//p' env | sed 's/ *[a-z0-9_]*_emulated//g')
    [ "${rungs##* }" = "$rung" ] || fail "$processor: expected $rung as the best rung, got: $rungs"
    qemu-x86_64 -cpu "$processor" "$program" fill-mask -m "$model" --json --top-k 5 "$text" > "$processor" 2> err || fail "$processor: fill-mask ends with $?"
    told=without
    ! grep -q 'lacks sse4.1, which the fast kernels need' err || told=ref
    case $rung-$told in ref-ref | [!r]*-without) ;; *) false ;; esac || fail "$processor: fill-mask says: $(cat err)"
    if "$program" --version > /dev/null && "$program" info --env | grep -q "^rungs .*\<$rung\>"; then
        "$program" fill-mask -m "$model" --isa "$rung" --json --top-k 5 "$text" > same
        cmp -s same "$processor" || fail "$processor: fill-mask differs from --isa $rung here: $(diff same "$processor" | head -4)"
    fi
    scores best > a; scores "$processor" > b
    paste a b | awk '{ d = $1 - $2; if (d < 0) d = -d; if (NF != 2 || d > 2e-5) exit 1 }' || fail "$processor: fill-mask differs from the best rung: $(diff best "$processor")"
    echo "$processor: $rung, the answers of this machine"
done
