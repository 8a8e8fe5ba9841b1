#!/bin/sh
# rungs.sh — notes about the rung in use: bf16 that is multiplied as f32 is slower than f32.
# (tools/check/processors.sh tests a processor without any rung.)
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
note='multiplies bf16 as f32'
rungs=$("$program" info --env | sed -n 's/^rungs  *//p')
widened=0
for rung in $rungs; do
    case $rung in
        ref | avx512bf16 | amx | neonbf16 | *_emulated) told= ;;
        *) told=$note widened=$((widened + 1)) ;;
    esac
    for type in f32 int8; do expect 0 '' "$program" fill-mask --isa "$rung" -m model --dtype $type 'the [MASK]'; done
    expect 0 "$told" "$program" fill-mask --isa "$rung" -m model --dtype bf16 'the [MASK]'
    expect 0 '' "$program" fill-mask -q --isa "$rung" -m model --dtype bf16 'the [MASK]'
done
case $(uname -m) in x86_64 | aarch64) [ $widened -gt 0 ] || fail "no rung without instructions for bf16 among: $rungs" ;; esac

# What is only written or trained in bf16.
rung=$(echo "$rungs" | tr ' ' '\n' | sed -n 2p)
expect 0 'written, read back' "$program" convert --isa "$rung" model half --dtype bf16
! grep -q "$note" err || fail "convert, which computes nothing, has a note on the rung"
sentences 30 > text.txt
for flag in '' --bf16; do
    times=${flag:+1}
    # shellcheck disable=SC2086
    "$program" pretrain --isa "$rung" --text text.txt --model model --max_steps 2 --tokens_per_batch 128 -o "run$flag" $flag 2> err || fail "pretrain $flag"
    [ "$(grep -c -e "--bf16: the rung $rung $note" err)" -eq "${times:-0}" ] || { fail "pretrain $flag: the note"; cat err >&2; }
done
done_testing
