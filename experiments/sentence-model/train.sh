#!/bin/sh
# train.sh DATA WORK [OPTION...] — trains a model for vectors of sentences; given again, it goes on where it was.
#
#   DATA    folder with enwiki-2015/, enwiki/, wikitext-2/, ende/, glue/, multi30k/, sick/
#   WORK    folder for articles, pairs and checkpoints; the models are WORK/first, WORK/run, WORK/mean, WORK/scored
#   OPTION  of roformer finetune, in place of those below
#
# It begins with the shipped model.  First phase: pairs that mean the like (pairs.py); second: two broken copies of a
# sentence, and some of the pairs again (noise.py); no row of STS-B, SICK or MRPC is among them, which check_pairs.py says
# before the first update.  The model is a mean of both phases' weights (mean.py).  Third phase, behind the second: the
# scores of STS-B's and SICK's training sets (scored.py).
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
if [ ! -f "$work/noise.jsonl" ]; then
    python3 "$here/pairs.py" "$data" "$work/text" > "$work/pairs.jsonl"
    python3 "$here/noise.py" "$data" "$work/text" "$work/pairs.jsonl" > "$work/noise.part"
    python3 "$here/check_pairs.py" "$data" "$work/pairs.jsonl" "$work/noise.part"
    python3 "$here/scored.py" "$data" > "$work/scored.jsonl"
    mv "$work/noise.part" "$work/noise.jsonl"
fi

phase() {   # phase MODEL FILE FOLDER BATCH PEAK WARM-UP PASSES OPTION...: goes on from the newest checkpoint if there is one
    model=$1 file=$2 folder=$3 batch=$4 peak=$5 warm=$6 passes=$7
    shift 7
    if [ -f "$folder/all_results.json" ]; then return; fi
    if ls -d "$folder"/checkpoint-* > /dev/null 2>&1; then set -- --resume latest "$@"; fi
    nice -n "${NICE:-15}" "$program" finetune --task embed --bf16 --threads "${THREADS:-1}" \
        --model "$model" --train "$file" -o "$folder" --normalize --per_device_train_batch_size "$batch" \
        --max_length 128 --learning_rate "$peak" --warmup_steps "$warm" --dropout 0.1 --num_train_epochs "$passes" \
        --save_strategy steps --save_steps 100 --save_total_limit 3 --logging_steps 20 --seed 1 "$@"
}
phase "$root/models/roformer-small-en" "$work/pairs.jsonl" "$work/first" 128 5e-4 100 1 "$@"
phase "$work/first" "$work/noise.jsonl" "$work/run" 128 1e-3 50 1 "$@"
[ -d "$work/mean" ] || python3 "$here/mean.py" "$work/first" "$work/run" 0.3 "$work/mean"
phase "$work/run" "$work/scored.jsonl" "$work/scored" 32 2e-4 50 5 --score_max 5 "$@"
