#!/bin/sh
# measure.sh DATA WORK MODEL — measures how well a model predicts text that it was not trained on.
#
# It prints the fraction of tokens, of words (compared with n-gram models) and of tokens in longer pieces that it predicts.
#
#   DATA   folder with enwiki-2015/, enwiki/, wikitext-2/
#   WORK   folder for texts and tokens
#   MODEL  a folder; its vocabulary must be that of the shipped model
#
#   PROGRAMS  (environment) folder of roformer, hold_out, validation and compare (default: build/release)
set -eu
[ $# -eq 3 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
program=${PROGRAMS:-$root/build/release}/roformer tools=${PROGRAMS:-$root/build/release/experiments}
mkdir -p "$2/2015"
data=$(cd "$1" && pwd) work=$(cd "$2" && pwd) model=$(cd "$3" && pwd)
# shellcheck source=experiments/shipped-model/texts.sh
. "$here/texts.sh"

# Not trained on: what texts.sh holds out, and a half percent of the rest (pretrain's own rule).
articles "$data" "$work" "$tools"
if [ ! -f "$work/text/validation.jsonl" ]; then
    "$tools/validation" "$work"/text/2015-A?.txt > "$work/text/validation.part"
    mv "$work/text/validation.part" "$work/text/validation.jsonl"
fi
[ -f "$work/2015/tokens.cache" ] || "$program" prepare --text "$work"/text/2015-A?.txt \
    --model "$root/models/roformer-small-en" -o "$work/2015/tokens.cache"
"$tools/compare" "$work/2015" "$model" "$data/wikitext-2/wiki.test.raw"
"$program" evaluate -m "$model" --text "$work/text/validation.jsonl" --words 10000
"$program" evaluate -m "$model" --text "$data/wikitext-2/wiki.test.raw" --text_split heading --words 10000
"$program" evaluate -m "$model" --text "$work/text/validation.jsonl" --max_lengths 128,256,512
