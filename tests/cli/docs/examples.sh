#!/bin/sh
# examples.sh — the examples of --help work as printed, one after the other in one folder, with a small model instead of
# the shipped one. Examples that need the user's data, a terminal, or much time are left out: own.
. "$(dirname "$0")/../lib"
if grep -q __asan_init "$program"; then echo "SKIPPED: takes minutes under a sanitizer, where the tests of each command run, too"; exit 0; fi
"$make_model" small || exit 1
ROFORMER_MODEL=$PWD/small PATH=$(dirname "$program"):$PATH
export ROFORMER_MODEL PATH
own='watch my-model$|my-translator|newstest|dict\.txt|--demo|--port|curl|-m words|-m nli|<\(|~/|man -l|esm2_|my-reranker|wiki|en-de|MRPC|RTE|squad|--band|8x128|4x512|lengths\.txt|psql'
command -v gnuplot > /dev/null || own="$own|\\.svg|\\.png|position-report .* -o"

for command in vocab prepare pretrain finetune fill-mask generate embed merge similarity rank index search tokenize evaluate score predict classify \
    info verify bench plot watch report positions position-report demo help; do
    "$program" help "$command" | sed '1,/^examples:/d; s/^  //' > all
    grep -qE "roformer $command" all || fail "$command has no example"
    grep -vE -e "$own" all > lines.sh
    [ -s lines.sh ] || fail "no example of $command can be tried"
    while IFS= read -r line; do
        sh -c "$line" > out 2> err < /dev/null || { fail "$command: $line"; head -3 err | sed 's/^/    /' >&2; }
    done < lines.sh
done
for file in corpus.txt corpus.cache my-model/model.safetensors my-causal-model/model.safetensors reviews/model.safetensors lines.txt vectors.npy report.html; do
    [ -s "$file" ] || fail "no $file"
done
done_testing
