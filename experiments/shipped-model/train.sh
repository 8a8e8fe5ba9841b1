#!/bin/sh
# train.sh DATA WORK STEADY TOTAL MORE DEEPER WORDS MIXED LAST LONG — trains the shipped model.  The same command again
# continues.
#
#   DATA    folder with enwiki-2015/, enwiki/, wikitext-2/     WORK    folder for vocabulary, tokens, checkpoints
#   STEADY  updates at the full learning rate
#   TOTAL   updates in all; after STEADY the learning rate falls linearly to 0
#   MORE    further updates, also on the articles of enwiki: the learning rate rises to 8e-4 and falls to 0 again
#   DEEPER  further updates with twice the layers, each initialized with one of the previous layers (deeper.py)
#   WORDS   further updates, up to 1e-3: whole words are masked in half of the pieces of text
#   MIXED   further updates: whole words are masked in a fifth of the pieces, because the accuracy for single tokens of
#           words had fallen
#   LAST    further updates, starting from the mean of the previous two models (mean.py)
#   LONG    further updates in pieces of 512 tokens instead of 128, up to 3e-4, starting from the mean of the previous
#           two models
#
# The models are WORK/final, /more, /deeper, /words, /mixed, /last and /long, and WORK/shipped; all from deeper on have 8
# layers.  The script needs build/release/experiments/hold_out (a target of its own).  Larger values of STEADY and TOTAL
# continue the same run, because the steady phase does not depend on its length.
set -eu
data=$1 work=$2 steady=$3 total=$4 more=$5 deeper=$6 words=$7 mixed=$8 last=$9 long=${10}
cd "$(dirname "$0")/../.."
program=build/release/roformer tools=build/release/experiments
# shellcheck source=experiments/shipped-model/texts.sh
. experiments/shipped-model/texts.sh
text="$data/enwiki-2015/enwiki_AA.txt.zst $data/enwiki-2015/enwiki_AB.txt.zst $data/enwiki-2015/enwiki_AC.txt.zst"

# shellcheck disable=SC2086
[ -f "$work/vocab/vocab.txt" ] || $program vocab --text $text --size 12288 -o "$work/vocab"

run() {      # run FOLDER OPTION... : goes on from the newest checkpoint of the folder if there is one
    folder=$1
    shift
    if ls -d "$folder"/checkpoint-* > /dev/null 2>&1; then set -- --resume latest "$@"; fi
    $program pretrain --bf16 -o "$folder" --tokens_per_batch 4096 --max_length 128 --mlm_probability 0.2 \
        --adam_beta2 0.98 --logging_steps 50 --eval_steps 500 --save_steps 250 "$@"
}

first() {    # first FOLDER OPTION...: on the articles of 2015, from random weights
    # shellcheck disable=SC2086
    run "$@" --text $text --model "$work/vocab" --config experiments/shipped-model/config.json --learning_rate 1e-3 \
        --warmup_steps 300 --eval_documents 15 --seed 1
}

first "$work/steady" --lr_scheduler_type constant --max_steps "$steady"
if [ ! -d "$work/final" ]; then
    mkdir -p "$work/final"
    cp -r "$work/steady/checkpoint-$steady" "$work/steady/tokens.cache" "$work/steady/metrics.jsonl" "$work/final/"
fi
first "$work/final" --lr_scheduler_type piecewise --lr_schedule "300:1,$steady:1,$total:0" --max_steps "$total" \
    --save_type bf16

articles "$data" "$work" "$tools"
[ -f "$work/all.cache" ] || $program prepare --text "$work"/text/2015-A?.txt "$work/text/recent.txt" \
    --model "$work/vocab" -o "$work/all.cache"
again() {    # again FOLDER MODEL UPDATES RATE SEED OPTION... : up to the rate and in a straight line to 0
    folder=$work/$1 model=$work/$2 updates=$3 rate=$4 seed=$5
    shift 5
    run "$folder" --data "$work/all.cache" --model "$model" --learning_rate "$rate" --warmup_steps 100 \
        --lr_scheduler_type linear --max_steps "$updates" --eval_documents 40 --seed "$seed" --save_type bf16 "$@"
}
again more final "$more" 8e-4 2
[ -d "$work/stacked" ] || python3 experiments/shipped-model/deeper.py "$work/more" "$work/stacked"
again deeper stacked "$deeper" 8e-4 7
again words deeper "$words" 1e-3 13 --whole_word_mask --whole_word_share 0.5
again mixed words "$mixed" 1e-3 17 --whole_word_mask --whole_word_share 0.2

between() {  # between FOLDER MODEL=WEIGHT...
    folder=$work/$1
    shift
    for part; do
        set -- "$@" "$work/$part"
        shift
    done
    [ -d "$folder" ] || python3 experiments/shipped-model/mean.py "$folder" "$@"
}
between begin mixed=0.7 words=0.3
again last begin "$last" 1e-3 23 --whole_word_mask --whole_word_share 0.2
between ends last=0.5 mixed=0.3 words=0.2
again long ends "$long" 3e-4 29 --whole_word_mask --whole_word_share 0.2 --max_length 512
between shipped long=0.6 ends=0.4
