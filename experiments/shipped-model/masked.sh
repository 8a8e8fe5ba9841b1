#!/bin/sh
# masked.sh train DATA WORK [UPDATES]    trains a larger masked language model at a constant learning rate
# masked.sh finish WORK UPDATES [LENGTH] makes a model of what is there: the rate falls in a straight line to 0
# masked.sh more DATA WORK MODEL UPDATES goes on from a model, with copies (copies.py) in 20 % of the tokens: the rate
#                                        rises to 6e-4 and falls in a straight line to 0
# masked.sh measure DATA WORK MODEL      tokens and words that a model guesses, beside n-gram models
#
#   DATA     folder with enwiki-2015/, enwiki/, wikitext-2/
#   WORK     folder for texts, tokens, checkpoints
#   UPDATES  of 4,096 tokens: in all (100000), and behind the newest checkpoint
#   LENGTH   of the pieces, in tokens: 128, as in the steady phase, or up to 512
#   MODEL    a folder; its vocabulary is that of the shipped model
#
# The first three are resumable: given again, they go on where they were, and `train` with a larger number goes on with
# the same run.  Ctrl-C (SIGINT) or SIGTERM writes a checkpoint and ends.  `finish` copies the newest checkpoint N and
# leaves the steady phase as it is: the model is WORK/final-N-UPDATES; that of `more` is WORK/more-UPDATES.
#
#   PROGRAMS       (environment) folder of roformer, hold_out, validation and compare; without it those of build/release
#   BEGIN          (environment) folder of a model of the same shape whose weights the steady phase begins with
#   NICE, THREADS  (environment) 19, 1
set -eu
usage() { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
[ $# -ge 3 ] || usage
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${PROGRAMS:-$root/build/release} tools=${PROGRAMS:-$root/build/release/experiments}
vocab=$root/models/roformer-small-en    # its vocabulary: 12,288 lower-cased pieces, learned from enwiki-2015

# shellcheck source=experiments/shipped-model/texts.sh
. "$here/texts.sh"

# Not trained on: what texts.sh holds out, and a half percent of the rest (pretrain's own rule).
texts() {
    articles "$1" "$work" "$tools"
    if [ ! -f "$work/text/validation.jsonl" ]; then
        "$tools/validation" "$work"/text/2015-A?.txt > "$work/text/validation.part"
        mv "$work/text/validation.part" "$work/text/validation.jsonl"
    fi
    [ -f "$work/all.cache" ] || "$bin/roformer" prepare --text "$work"/text/2015-A?.txt "$work/text/recent.txt" \
        --model "$vocab" -o "$work/all.cache"
}

copies() {
    if [ ! -f "$work/text/copies.jsonl" ]; then
        python3 "$here/copies.py" "$work/text/validation.jsonl" "$work"/text/2015-A?.txt > "$work/text/copies.part"
        mv "$work/text/copies.part" "$work/text/copies.jsonl"
    fi
    [ -f "$work/copies.cache" ] || "$bin/roformer" prepare --text "$work/text/copies.jsonl" --model "$vocab" \
        -o "$work/copies.cache"
}

# At a rate of 2e-3 it was no better than a model of half the size, and diverged (results/shipped-model/larger.txt).
pretrain() {     # pretrain FOLDER OPTION... : goes on from the newest checkpoint of the folder if there is one
    folder=$1
    shift
    if ls -d "$folder"/checkpoint-* > /dev/null 2>&1; then set -- --resume latest "$@"; fi
    if [ -z "${BEGIN:-}" ]; then set -- --config "$here/masked.json" "$@"; fi
    exec nice -n "${NICE:-19}" "$bin/roformer" pretrain --bf16 --threads "${THREADS:-1}" \
        --model "${BEGIN:-$vocab}" -o "$folder" --tokens_per_batch 4096 --mlm_probability 0.2 \
        --learning_rate 1e-3 --adam_beta2 0.98 --warmup_steps 150 --logging_steps 25 --eval_steps 1000 \
        --eval_documents 40 --save_steps 250 --save_total_limit 2 --seed 1 "$@"
}

case $1 in
train)
    mkdir -p "$3"
    work=$(cd "$3" && pwd)
    texts "$(cd "$2" && pwd)"
    pretrain "$work/steady" --data "$work/all.cache" --max_length 128 --lr_scheduler_type constant_with_warmup \
        --max_steps "${4:-100000}"
    ;;
finish)
    work=$(cd "$2" && pwd) more=$3 length=${4:-128}
    final=$(find "$work" -maxdepth 1 -name "final-*-$more" | head -1)
    if [ -z "$final" ]; then
        newest=$(find "$work/steady" -maxdepth 1 -name 'checkpoint-*' | sed 's/.*-//' | sort -n | tail -1)
        final=$work/final-$newest-$more
        mkdir "$final"
        cp -r "$work/steady/checkpoint-$newest" "$work/steady/metrics.jsonl" "$final/"
    fi
    from=${final%-*}
    from=${from##*-}
    [ "$length" = 128 ] || set -- --allow_data_change
    [ "$length" != 128 ] || set --
    pretrain "$final" --data "$work/all.cache" --max_length "$length" --max_steps $((from + more)) --save_type bf16 \
        --lr_scheduler_type piecewise --lr_schedule "150:1,$from:1,$((from + more)):0" "$@"
    ;;
more)
    [ $# -eq 5 ] || usage
    mkdir -p "$3"
    work=$(cd "$3" && pwd) BEGIN=$(cd "$4" && pwd)
    texts "$(cd "$2" && pwd)"
    copies
    pretrain "$work/more-$5" --mix "$work/all.cache:0.8" "$work/copies.cache:0.2" --max_length 128 \
        --learning_rate 6e-4 --warmup_steps 100 --lr_scheduler_type linear --max_steps "$5" --seed 6 --save_type bf16
    ;;
measure)
    mkdir -p "$3/2015"
    work=$(cd "$3" && pwd) model=$(cd "$4" && pwd)
    texts "$(cd "$2" && pwd)"
    [ -f "$work/2015/tokens.cache" ] ||
        "$bin/roformer" prepare --text "$work"/text/2015-A?.txt --model "$vocab" -o "$work/2015/tokens.cache"
    "$tools/compare" "$work/2015" "$model" "$2/wikitext-2/wiki.test.raw"
    "$bin/roformer" evaluate -m "$model" --text "$work/text/validation.jsonl" --words 10000
    "$bin/roformer" evaluate -m "$model" --text "$2/wikitext-2/wiki.test.raw" --text_split heading --words 10000
    ;;
*)
    usage
    ;;
esac
