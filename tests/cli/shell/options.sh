#!/bin/sh
# options.sh — every error on the command line gives one message and exit 2, and creates no file (C1).
. "$(dirname "$0")/../lib"

expect 2 '--learning_rat\b.*--learning_rate\?' "$program" pretrain --learning_rat 1e-5
expect 2 'unknown option --poling; did you mean --pooling\?' "$program" embed --poling cls
expect 2 'unknown option --zzzzzz \(see roformer embed --help\)' "$program" embed --zzzzzz
expect 2 'unknown option -x' "$program" embed -x
expect 2 'unknown command pretrian; did you mean pretrain\?' "$program" pretrian
expect 2 'unknown command xyzzy' "$program" xyzzy
expect 2 "bench: expected one of forward, .*, got 'fowrard'; did you mean forward\?" "$program" bench fowrard
expect 2 'usage: roformer' "$program"
expect 2 '--pooling: .*cls\|mean\|max.*none' "$program" embed --pooling
expect 2 '--output: expected a value .FILE., got none' "$program" embed -o --normalize
expect 2 "--pooling: expected one of cls\\|mean\\|max\\|last\\|sqrtlen\\|wmean, got 'median'" "$program" embed --pooling median

# Options of transformers' Trainer: each is one here, or is answered with what to do instead (tools/golden/golden_trainer_options.py).
expect 2 '--fp16 .*finetune.*--bf16' "$program" finetune --fp16
expect 2 '--do_train .*pretrain' "$program" pretrain --do_train --do_eval
expect 2 '--group-by-length .*finetune' "$program" finetune --group-by-length
expect 2 'not an option of roformer pretrain: --tokens_per_batch N' "$program" pretrain --per_device_train_batch_size 8
expect 2 'unknown option --fp16 ' "$program" embed --fp16
for command in pretrain finetune; do
    grep -v '^#' "$repository/tests/golden/cli/trainer_options.txt" | while read -r name; do
        "$program" $command "--$name=true" 2>&1 | grep 'unknown option' && echo "$name" >> unknown
    done
    [ ! -e unknown ] || fail "$command does not know $(cat unknown)"
done

# Numbers are read whole and within their limits, or not at all.
expect 2 "--learning_rate: expected a number, got '1e-5x'" "$program" pretrain --learning_rate 1e-5x
expect 2 "--learning_rate: expected a number, got 'abc'" "$program" pretrain --learning-rate abc
expect 2 "--learning_rate: expected a number, got '0x1p-3'" "$program" pretrain --lr 0x1p-3
expect 2 "--learning_rate: expected a number, got 'nan'" "$program" pretrain --lr nan
expect 2 "--learning_rate: expected a number, got ''" "$program" pretrain --lr=
expect 2 '--learning_rate: expected 0 to 10, got 1e999' "$program" pretrain --lr 1e999
expect 2 '--learning_rate: expected 0 to 10, got -1' "$program" pretrain --lr -1
expect 2 '--size: expected 16 to 1048576, got 9223372036854775808' "$program" vocab --text x -o new --size 9223372036854775808
expect 2 "--size: expected a whole number, got '8192\.5'" "$program" vocab --text x -o new --size 8192.5
expect 2 '--size: expected 16 to 1048576, got -1' "$program" vocab --text x -o new --size=-1
expect 2 '--seed: .*9200000000000000000.*99999999999999999999' "$program" pretrain --seed 99999999999999999999
expect 2 '--threads: expected 0 to 1024, got 1025' "$program" --threads 1025 info --env
expect 2 "--json: expected true or false, got 'maybe'" "$program" info --json=maybe
expect 2 '--text: expected a value, got an empty one' "$program" vocab --text ''
expect 2 'shape: expected TEXTSxTOKENS .*, got "8by128"' "$program" bench --shape 8by128 --seconds 0.01
expect 2 "isa" "$program" --isa nosuch info --env

# What a command needs.
expect 2 'vocab: expected --text' "$program" vocab -o new
expect 2 'vocab: expected -o DIR' "$program" vocab --text x
expect 2 'pretrain: expected --text' "$program" pretrain --model new
expect 2 'evaluate: expected --text' "$program" evaluate
expect 2 'plot: expected FILE' "$program" plot -o a.svg
expect 2 'plot: expected -o' "$program" plot metrics.jsonl -o a.gif
expect 2 "unexpected argument 'x': demo takes options only" "$program" demo x
expect 2 'completion: expected' "$program" completion
expect 2 "expected bash, zsh or fish, got 'tcsh'" "$program" completion tcsh

# What is given takes effect, or said not to be.
expect 2 'do_sample=false, --top_p: expected one of them' "$program" generate -m none --do_sample=false --top_p 0.5 x
expect 2 '--env: .*--tensors' "$program" info --env none
expect 2 '.--label_column: has no effect without --dev' "$program" evaluate --text x --label_column 2
expect 2 '.--max_lengths: has no effect without --text' "$program" evaluate --dev x --max_lengths 16,32
expect 2 '.--max_length, --max_lengths: expected one' "$program" evaluate --text x --max_length 64 --max_lengths 16,32

# The environment is checked like the command line, and comes after it.
ROFORMER_THREADS=many; export ROFORMER_THREADS
expect 2 "environment variable ROFORMER_THREADS: --threads: expected a whole number, got" "$program" info --env
ROFORMER_THREADS=3
"$program" info --env --json > out && holds out '"threads": 3'
"$program" info --env --json --threads 2 > out && holds out '"threads": 2'
unset ROFORMER_THREADS
ROFORMER_ISA=ref "$program" info --env --json > out && holds out '"rung": "ref"'

[ "$(ls | grep -cvE '^(out|err)$')" -eq 0 ] || fail "files were made: $(ls)"

# '-' and '_' alike, '=' or not, before or after the command.
for spelling in '--top-k 2' '--top_k 2' '--top-k=2' '--top_k=2' '-k 2' '-k2' '-k=2'; do
    "$make_model" model || exit 1
    # shellcheck disable=SC2086
    expect 0 '' "$program" --threads=1 fill-mask -m model $spelling --json 'the [MASK]'
    [ "$(grep -o '"score"' out | wc -l)" -eq 2 ] || fail "$spelling is not --top-k 2"
done

# Types of numbers have PyTorch's names, too.
for type in f32=float32 bf16=bfloat16; do
    echo 'the river' | "$program" embed -m model --dtype "${type%=*}" > short || exit 1
    echo 'the river' | "$program" embed -m model --torch-dtype "${type#*=}" > long || exit 1
    cmp short long || fail "--dtype ${type#*=} is not ${type%=*}"
done
echo 'the river' | "$program" embed -m model --dtype f32 | cmp -s - long && fail "bf16 computes what f32 does"
expect 2 "--dtype: expected one of f32|bf16|int8|int8w, got 'float64'" "$program" embed -m model --dtype float64 x
expect 2 "--dtype: expected one of f32|bf16|int8|int8w, got 'float64'" "$program" serve -m model --dtype float64
done_testing
