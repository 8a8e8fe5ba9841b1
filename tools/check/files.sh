#!/bin/sh
# files.sh — the names of files in a model folder are defined once, in include/roformer/inspect/files.h: no other source
# has a path with such a name in quotes, and none outside src/text uses the names of files that belong to one type of
# tokenizer.
set -eu
cd "$(dirname "$0")/../.."
bad=0
header=include/roformer/inspect/files.h
sources=$(find src bench experiments -name '*.[ch]' -o -name '*.inc' -o -name '*.def' | grep -v "^$header\$")

for name in $(sed -n 's/^#define RF_FILE_[A-Z_]* "\(.*\)".*/\1/p' $header); do
    plain=$(printf '%s' "$name" | sed 's/\./\\./g')
    # shellcheck disable=SC2086
    grep -nE "\"([^\" ]*/)?$plain\"" $sources | grep -vE ':[0-9]+: ?[/*]' && { echo "$name: its name is in $header"; bad=1; }
done
# shellcheck disable=SC2086
only=$(printf '%s\n' $sources | grep -v '^src/text/')
# shellcheck disable=SC2086
grep -nE 'vocab\.txt|special_tokens_map|RF_FILE_(VOCAB|SPECIAL_TOKENS|TOKENIZER)\b' $only && {
    echo "only src/text knows which files a tokenizer has: rf_tokenizer_files, rf_tokenizer_found"; bad=1; }
exit $bad
