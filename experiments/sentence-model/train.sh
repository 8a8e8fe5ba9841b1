#!/bin/sh
# train.sh DATA WORK [OPTION...] — trains a model for vectors of sentences; given again, it goes on where it was.
#
#   DATA    folder with enwiki-2015/, enwiki/, wikitext-2/, ende/, glue/, multi30k/, sick/
#   WORK    folder for articles, pairs and checkpoints; the model is WORK/run
#   OPTION  of roformer finetune, in place of those below
#
# It begins with the shipped model.  No row of STS-B, SICK or MRPC is trained on, which check_pairs.py says before the
# first update.
#
#   PROGRAMS       (environment) folder of roformer and hold_out; without it those of build/release
#   NICE, THREADS  (environment) 15, 1
set -eu
[ $# -ge 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
program=${PROGRAMS:-$root/build/release}/roformer tools=${PROGRAMS:-$root/build/release/experiments}
mkdir -p "$2"
data=$(cd "$1" && pwd) work=$(cd "$2" && pwd)
shift 2
# shellcheck source=experiments/shipped-model/texts.sh
. "$root/experiments/shipped-model/texts.sh"

articles "$data" "$work" "$tools"
if [ ! -f "$work/train.jsonl" ]; then
    python3 "$here/pairs.py" "$data" "$work/text" > "$work/train.part"
    python3 "$here/check_pairs.py" "$data" "$work/train.part"
    mv "$work/train.part" "$work/train.jsonl"
fi
if ls -d "$work"/run/checkpoint-* > /dev/null 2>&1; then set -- --resume latest "$@"; fi
exec nice -n "${NICE:-15}" "$program" finetune --task embed --bf16 --threads "${THREADS:-1}" \
    --model "$root/models/roformer-small-en" --train "$work/train.jsonl" -o "$work/run" --normalize \
    --per_device_train_batch_size 64 --max_length 64 --learning_rate 5e-4 --warmup_steps 100 --dropout 0.1 \
    --num_train_epochs 1 --save_strategy steps --save_steps 100 --save_total_limit 3 --logging_steps 20 --seed 1 "$@"
