#!/bin/sh
# profile.sh — --profile writes a trace of every operation that is JSON; bench parts lists the operations of a model.
. "$(dirname "$0")/../lib"
sentences 40 > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
small_json base/vocab.txt 2 16 '"max_position_embeddings": 64'

expect 0 '' "$program" pretrain -q --text text.txt --model base --config small.json -o run --max_steps 3 --profile trace.json
# An event in each line: of each step the attention of two layers, their matrices and the head's transform, one loss.
events() { grep -c "^{\"name\":\"$1\",\"cat\":\"$2\",\"ph\":\"X\",.*\"dur\":[0-9.]*,\"args\":{\"shape\":\"\[[0-9,]*\]\".*}},*$" trace.json; }
for row in 'attention forward 6' 'attention backward 6' 'linear backward 27' 'vocab_loss backward 3'; do
    set -- $row
    [ "$(events $1 $2)" -eq $3 ] || fail "$1, $2: expected $3 events, got $(events $1 $2)"
done
grep -q '"gflops":[0-9]' trace.json || fail "no rate: $(head -3 trace.json)"
[ "$(head -1 trace.json)" = '{"traceEvents": [' ] && [ "$(tail -1 trace.json)" = ']}' ] || fail "not one object"
expect 4 'none/trace.json' "$program" fill-mask -m run --profile none/trace.json 'a [MASK]'

# A trace replaces an earlier one, but no other file, which the command may read; another output of the command is not
# lost in silence.
expect 0 '' "$program" fill-mask -m run --profile trace.json 'a [MASK]'
for file in text.txt run/model.safetensors; do
    cp "$file" before
    expect 2 "$file: expected a new file or an earlier profile" "$program" embed -m run -o v.npy --profile "$file" text.txt
    cmp "$file" before || fail "$file was changed"
done
expect 4 'v.npy: the command has written' "$program" embed -q -m run -o v.npy --profile v.npy text.txt
null=nul
[ -z "$posix" ] || null=/dev/null
expect 0 '' "$program" embed -q -m run -o v.npy --profile $null text.txt
expect 2 'out: expected another file than that of standard output' "$program" embed -q -m run --profile out text.txt
cp trace.json kept
! "$program" embed -q -m run --profile trace.json text.txt >> trace.json 2> err || fail "a profile in the file of standard output"
same kept trace.json 'an earlier profile that a refused command appends to'

expect 0 '' "$program" bench -q parts --config small.json --shape 2x8 --seconds 0.05
grep -q '^encoder  *linear  *forward' out && grep -q '^step  *attention  *backward' out || fail "bench parts: $(cat out)"
expect 0 '' "$program" bench -q parts --config small.json --shape 2x8 --seconds 0.05 --json
for name in embed linear attention norm; do holds out "\"operation\": \"$name\""; done
done_testing
