#!/bin/sh
# words.sh — evaluate --words: whole words of a text, from every kind of file; rejected input.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
for i in 1 2 3 4 5 6 7 8; do printf 'The old city lies on the river %s, and the house is red.\n\n' "$i"; done > text.txt

expect 0 'expected 100 words, got 96' "$program" evaluate -m model --text text.txt --words 100
holds out '96 words, whole ones'
holds out 'of 96 words in 8 documents'
expect 0 '' "$program" evaluate -m model --text text.txt --words 20 --json
holds out '"word_accuracy"' && holds out '"nats_per_character"' && holds out '"words": 20' && holds out '"words_of": 96'
cp out whole
expect 0 '' "$program" evaluate -m model --text text.txt --words 20 --json --tokens_per_batch 8 --threads 1
same whole out "batches of one text"
gzip -k text.txt
expect 0 '' "$program" evaluate -m model --text text.txt.gz --words 20 --json
same whole out "a compressed file"
expect 0 '' "$program" evaluate -q -m model --text text.txt --words 20 --json --dtype bf16

for other in '--seed 1' '--mlm_probability 0.2' '--max_length 64' '--max_lengths 16,32' '--stride 8' '--eval_documents 2' --whole_word_mask; do
    # shellcheck disable=SC2086
    expect 2 'expected one of them, got ' "$program" evaluate -m model --text text.txt --words 20 $other
done
expect 2 'words' "$program" evaluate -m model --text text.txt --words 0
printf '1 2 3\n' > none.txt
expect 3 'expected words of ASCII letters' "$program" evaluate -m model --text none.txt --words 20
expect 4 'no-such' "$program" evaluate -m model --text no-such --words 20
sed 's/{/{"is_decoder": true, /' model/config.json > config && mv config model/config.json
expect 3 'causal' "$program" evaluate -m model --text text.txt --words 20
done_testing
