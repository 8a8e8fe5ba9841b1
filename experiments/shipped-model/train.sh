#!/bin/sh
# train.sh DATA WORK STEADY TOTAL — trains the shipped model; resumable: run it again and it goes on where it was.
#
#   DATA    folder with enwiki-2015/      WORK    folder for vocabulary, tokens, checkpoints
#   STEADY  updates at the full learning rate; TOTAL updates in all, over the rest of them it falls in a straight line to 0
#
# Raising STEADY and TOTAL later continues the same run: the steady phase does not depend on where it ends.
set -eu
data=$1 work=$2 steady=$3 total=$4
cd "$(dirname "$0")/../.."
program=build/release/roformer
text="$data/enwiki-2015/enwiki_AA.txt.zst $data/enwiki-2015/enwiki_AB.txt.zst $data/enwiki-2015/enwiki_AC.txt.zst"

[ -f "$work/vocab/vocab.txt" ] || $program vocab --text $text --size 12288 -o "$work/vocab"

run() {      # run FOLDER OPTION... : goes on from the newest checkpoint of the folder if there is one
    folder=$1
    shift
    if ls -d "$folder"/checkpoint-* > /dev/null 2>&1; then set -- --resume latest "$@"; fi
    $program pretrain --bf16 --text $text --model "$work/vocab" --config experiments/shipped-model/config.json -o "$folder" \
        --tokens_per_batch 4096 --max_length 128 --mlm_probability 0.2 --learning_rate 1e-3 --adam_beta2 0.98 \
        --warmup_steps 300 --logging_steps 50 --eval_steps 500 --eval_documents 15 --save_steps 250 --seed 1 "$@"
}

run "$work/steady" --lr_scheduler_type constant --max_steps "$steady"
if [ ! -d "$work/final" ]; then
    mkdir -p "$work/final"
    cp -r "$work/steady/checkpoint-$steady" "$work/steady/tokens.cache" "$work/steady/metrics.jsonl" "$work/final/"
fi
run "$work/final" --lr_scheduler_type piecewise --lr_schedule "300:1,$steady:1,$total:0" --max_steps "$total" --save_type bf16
