#!/bin/sh
# train.sh DATA WORK [OPTION...] — trains the shipped sentence model.  The same command again continues.
#
#   DATA    folder with enwiki-2015/, enwiki/, wikitext-2/, ende/, glue/, multi30k/, sick/
#   WORK    folder for articles, pairs and checkpoints; the models are WORK/first, WORK/lexical, WORK/graded,
#           WORK/sentences, WORK/scored
#   OPTION  of roformer finetune; replaces those below
#
# Training starts from the shipped masked model and has four phases:
#   1  pairs with similar meanings (pairs.py).  check_pairs.py checks before the first update that no row of STS-B, SICK
#      or MRPC is among them.
#   2  target vectors for the texts of these pairs, which combine the vector of phase 1 with the words of the text
#      (lexical.py, which needs NumPy)
#   3  cosines of captions with their translations from German, by a translation model that is trained for this purpose,
#      and with variants of them (graded.py)
#   4  the scores of the training sets of STS-B and SICK (scored.py), starting from phase 3
# The shipped model, WORK/sentences, is the mean of the weights of phase 3 (0.6) and of phase 2 (0.4) (Wortsman et al.
# 2022), in bf16.
#
#   PROGRAMS       (environment) folder of roformer and hold_out (default: build/release)
#   PYTHON         (environment) a Python with NumPy (default: python3)
#   NICE, THREADS  (environment) defaults: 15, 1
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

python=${PYTHON:-python3}
"$python" -c 'import numpy' || { echo "train.sh: lexical.py needs NumPy (Debian: python3-numpy, PYTHON=/usr/bin/python3)" >&2; exit 4; }
articles "$data" "$work" "$tools"
if [ ! -f "$work/scored.jsonl" ]; then
    "$python" "$here/pairs.py" "$data" "$work/text" > "$work/pairs.jsonl"
    "$python" "$here/check_pairs.py" "$data" "$work/pairs.jsonl"
    "$python" "$here/scored.py" "$data" > "$work/scored.part"
    mv "$work/scored.part" "$work/scored.jsonl"
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
[ -f "$work/texts.npy" ] || "$python" "$here/lexical.py" "$program" "$work/first" "$work/pairs.jsonl" "$work/texts"
phase "$work/first" "$work/texts.jsonl" "$work/lexical" 128 1e-3 50 1 --teacher "$work/texts.npy" --loss cosine "$@"

# Translates the German captions: the most likely translation and a sample.  Training stops at 36 BLEU, before the
# model memorizes its captions.
captions=$data/multi30k
if [ ! -f "$work/graded.jsonl" ]; then
    if [ ! -f "$work/de-en/all_results.json" ]; then
        resume=
        if ls -d "$work"/de-en/checkpoint-* > /dev/null 2>&1; then resume="--resume latest"; fi
        # shellcheck disable=SC2086
        nice -n "${NICE:-15}" "$program" train-translation --recipe multi30k --bf16 --threads "${THREADS:-1}" $resume \
            --source "$captions/train.de.gz" --target "$captions/train.en.gz" -o "$work/de-en" --seed 1 \
            --validation_source "$captions/val.de.gz" --validation_target "$captions/val.en.gz" --max_steps 1500 \
            --warmup_steps 400 --eval_steps 500 --save_steps 250 --average_last 3
    fi
    for draw in "" "--do_sample --temperature 0.7 --top_k 20"; do
        # shellcheck disable=SC2086
        gzip -dc "$captions/train.de.gz" | nice -n "${NICE:-15}" "$program" translate -q --threads "${THREADS:-1}" \
            -m "$work/de-en" --dtype bf16 --max_new_tokens 60 $draw > "$work/captions${draw:+.drawn}"
    done
    "$python" "$here/graded.py" "$program" "$work/lexical" "$data" "$work/pairs.jsonl" "$work/captions" \
        "$work/captions.drawn" > "$work/graded.part"
    "$python" "$here/check_pairs.py" "$data" "$work/graded.part"
    mv "$work/graded.part" "$work/graded.jsonl"
fi
phase "$work/lexical" "$work/graded.jsonl" "$work/graded" 64 2e-4 20 1 --loss cosine "$@"

if [ ! -d "$work/sentences" ]; then
    for model in lexical graded; do
        "$program" convert -q --dtype bf16 --overwrite "$work/$model" "$work/$model.bf16" > "$work/$model.tensors"
    done
    [ -d "$work/mean" ] || "$python" "$root/experiments/shipped-model/mean.py" "$work/mean" \
        "$work/graded.bf16=0.6" "$work/lexical.bf16=0.4"
    rm -rf "$work/sentences.part"
    "$program" convert -q "$work/mean" "$work/sentences.part" > "$work/sentences.tensors"
    sed 's/"model_type": "roformer",/&\n  "dtype": "float32",/' "$work/mean/config.json" \
        > "$work/sentences.part/config.json"             # transformers computes in f32, too
    rm "$work/sentences.part/checksums.json"             # they are of the file before
    mv "$work/sentences.part" "$work/sentences"
fi
phase "$work/graded" "$work/scored.jsonl" "$work/scored" 32 2e-4 50 5 --score_max 5 "$@"
