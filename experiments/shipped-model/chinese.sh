#!/bin/sh
# chinese.sh DATA WORK [SIZE [OPTION...]] — trains the shipped Chinese model.  The same command again continues.
#
#   DATA    folder with zhwiki/ and niutrans-modern/
#   WORK    folder for texts, vocabulary, tokens, checkpoints; the model is WORK/model
#   SIZE    tokens of the vocabulary (default: 12000)
#   OPTION  further options of pretrain
#
# Excluded from training: 600 articles and 40 chapters (WORK/text/held-wiki.txt, held-books.txt), selected by hashes of
# their text, and 0.5 % of the rest, on which each stage is evaluated.  chinese-stages.json defines the stages: short
# pieces first, then long ones, while the learning rate falls in steps.
#
#   PROGRAMS  (environment) folder of roformer and hold_out (default: build/release)
#   THREADS   (environment) default: 1
#   ALPHABET  (environment) number of characters in the vocabulary (default: 5000); the other tokens are words.  A SIZE of
#             5000 and an ALPHABET of 4800 give a model with hardly any words, for comparison
set -eu
[ $# -ge 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
program=${PROGRAMS:-$root/build/release}/roformer hold_out=${PROGRAMS:-$root/build/release/experiments}/hold_out
mkdir -p "$2/text"
data=$(cd "$1" && pwd) work=$(cd "$2" && pwd) size=${3:-12000}
if [ $# -gt 3 ]; then shift 3; else shift $#; fi

hold_out() {     # hold_out FILE.gz N NAME: WORK/text/NAME.txt without the N documents of WORK/text/held-NAME.txt
    if [ -f "$work/text/$3.txt" ]; then return; fi
    gzip -dc "$1" | "$hold_out" -n "$2" -o "$work/text/held-$3.txt" > "$work/text/$3.part"
    mv "$work/text/$3.part" "$work/text/$3.txt"
}

hold_out "$data/zhwiki/zhwiki_AA_00-59.txt.gz" 600 wiki
hold_out "$data/niutrans-modern/modern_12books.txt.gz" 40 books
[ -f "$work/vocab/vocab.txt" ] ||
    "$program" vocab --lang zh --text "$work/text/wiki.txt" "$work/text/books.txt" --size "$size" \
        --alphabet "${ALPHABET:-5000}" -o "$work/vocab"
mkdir -p "$work/tokens"
[ -f "$work/tokens/tokens.cache" ] || "$program" prepare --text "$work/text/wiki.txt" "$work/text/books.txt" \
    --model "$work/vocab" -o "$work/tokens/tokens.cache"
sed "s/\"vocab_size\":[0-9]*/\"vocab_size\":$size/" "$here/chinese.json" > "$work/config.json"

if ls -d "$work"/model/checkpoint-* > /dev/null 2>&1; then set -- --resume latest "$@"; fi
exec "$program" pretrain --bf16 --threads "${THREADS:-1}" --data "$work/tokens/tokens.cache" --model "$work/vocab" \
    --config "$work/config.json" --stages "$here/chinese-stages.json" -o "$work/model" --tokens_per_batch 4096 \
    --whole_word_mask --mlm_probability 0.2 --lr_scheduler_type constant_with_warmup --adam_beta2 0.98 \
    --logging_steps 25 --eval_steps 500 --eval_documents 100 --save_steps 100 --save_type bf16 --seed 1 "$@"
