#!/bin/sh
# languages.sh — tokens of languages around texts, and translations between languages, agree with transformers
# (tools/golden/golden_languages.py), before and after `convert`; languages that do not exist are refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/languages

# A line for each text: its ids as a source, and those of its translation.
ours() {
    while IFS= read -r row; do
        source=$(echo "$row" | sed -n 's/.*"source_lang": "\([^"]*\)".*/\1/p')
        target=$(echo "$row" | sed -n 's/.*"target_lang": "\([^"]*\)".*/\1/p')
        beams=$(echo "$row" | sed 's/.*"beams": \([0-9]*\).*/\1/')
        text=$(echo "$row" | sed 's/.*"text": "\([^"]*\)".*/\1/')
        "$program" translate -q -m "$1" --json --num_beams "$beams" --max_new_tokens 8 ${source:+--source_lang "$source"} \
            ${target:+--target_lang "$target"} -- "$text" | sed 's/.*"ids": *\[\([^]]*\)\].*"source_tokens": *\([0-9]*\).*/\2: \1/'
    done < "$golden/$2/texts.jsonl" | tr -d ' '
}
theirs() {
    sed 's/.*"source": \[\([^]]*\)\].*"ids": \[\([^]]*\)\].*/\1|\2/' "$golden/$1/texts.jsonl" |
        awk -F'|' '{ gsub(" ", ""); n = split($1, x, ","); print n ":" $2 }'
}

for kind in nllb m2m_100 mbart50 mbart bart pegasus; do
    cp -r "$golden/$kind" "$kind" && chmod -R u+w "$kind"
    theirs "$kind" > theirs.txt
    ours "$kind" "$kind" > ours.txt
    same theirs.txt ours.txt "translations of $kind"
    "$program" convert "$kind" "written-$kind" > out 2> err || fail "convert $kind: $(cat err)"
    ours "written-$kind" "$kind" > ours.txt
    same theirs.txt ours.txt "translations of the written $kind"
    # a source in the folder's own language, as `tokenize` reads it
    sed -n '1s/.*"text": "\([^"]*\)", "source": \[\([^]]*\)\].*/\2/p' "$golden/$kind/texts.jsonl" | tr -d ' ' > theirs.txt
    text=$(sed -n '1s/.*"text": "\([^"]*\)".*/\1/p' "$golden/$kind/texts.jsonl")
    "$program" tokenize -m "$kind" --json -- "$text" | sed 's/.*"ids": *\[\([^]]*\)\].*/\1/' | tr -d ' ' > ours.txt
    same theirs.txt ours.txt "ids of $kind"
    # the loss of labels, and a run of fine-tuning
    source=$(sed -n 's/.*"source_lang":"\([^"]*\)".*/\1/p' "$golden/$kind/loss.json")
    target=$(sed -n 's/.*"target_lang":"\([^"]*\)".*/\1/p' "$golden/$kind/loss.json")
    sed 's/.*"labels":\([0-9]*\),"loss":\([0-9.]*\).*/\1 \2/' "$golden/$kind/loss.json" > theirs.txt
    # shellcheck disable=SC2086
    "$program" evaluate -m "$kind" --source "$golden/$kind/sources.txt" --target "$golden/$kind/targets.txt" \
        ${source:+--source_lang $source --target_lang $target} > ours.txt || fail "evaluate $kind"
    awk 'NR == FNR { n = $1; loss = $2; next }
        $1 == "loss" { d = $2 - loss; good += d * d < 1e-8 } $1 == "predicted" { good += $2 == n } END { exit good != 2 }' \
        theirs.txt ours.txt || fail "loss of $kind: $(cat theirs.txt ours.txt)"
    # shellcheck disable=SC2086
    "$program" train-translation -m "$kind" --source "$golden/$kind/sources.txt" --target "$golden/$kind/targets.txt" \
        ${source:+--source_lang $source --target_lang $target} --validation_source "$golden/$kind/sources.txt" \
        --validation_target "$golden/$kind/targets.txt" --max_steps 30 --learning_rate 0.01 --warmup_steps 0 --max_length 32 \
        --max_tokens 128 --eval_steps 30 --eval_bleu -o "trained-$kind" > out 2> err || fail "train $kind: $(tail -3 err)"
    # shellcheck disable=SC2086
    "$program" evaluate -m "trained-$kind" --source "$golden/$kind/sources.txt" --target "$golden/$kind/targets.txt" \
        ${source:+--source_lang $source --target_lang $target} > ours.txt || fail "evaluate the trained $kind"
    awk 'NR == FNR { loss = $2; next }  $1 == "loss" { good = $2 < 0.7 * loss } END { exit !good }' theirs.txt ours.txt ||
        fail "$kind has not learned: $(cat theirs.txt ours.txt)"
    # shellcheck disable=SC2086
    "$program" translate -q -m "trained-$kind" ${source:+--target_lang $target} 'hello world' > ours.txt ||
        fail "translate with the trained $kind"
done
expect 2 'target_lang: expected .* ace_Arab, got none' "$program" train-translation \
    -m nllb --source "$golden/nllb/sources.txt" --target "$golden/nllb/targets.txt" -o untrained

# Labels of pairs of texts: the decoder reads the text, too, and the vector of the last </s> is used.
for kind in labels-bart labels-mbart labels-mbart50; do
    cp -r "$golden/$kind" "$kind" && chmod -R u+w "$kind"
    "$program" convert "$kind" "written-$kind" > out 2> err || fail "convert $kind: $(cat err)"
    for folder in "$kind" "written-$kind"; do
        paste -d '\n' "$kind/sources.txt" "$kind/targets.txt" | while IFS= read -r text && IFS= read -r pair; do
            "$program" classify -q -m "$folder" --pair "$pair" -- "$text"
        done > ours.txt
        close_json "$kind/scores.jsonl" ours.txt
        { cat "$kind/sources.txt"; tail -1 "$kind/targets.txt"; } > texts.txt
        "$program" embed -q -m "$folder" --pooling mean --format jsonl texts.txt > ours.txt || fail "embed with $folder"
        close_numbers "$kind/vectors.jsonl" ours.txt
    done
done
expect 3 'translate: expected a model with a language-model head, got a BartForSequenceClassification' \
    "$program" translate -m labels-bart 'a'
printf 'text\tlabel\nhello world\t0\nnew house\t1\n' > train.tsv
"$program" finetune --task cls -m bart --train train.tsv --max_steps 20 --learning_rate 0.01 -o labeled > out 2> err ||
    fail "finetune: $(tail -3 err)"
[ "$("$program" classify -q -m labeled -k 1 'hello world' 'new house' | tr -d '\n' | sed 's/[^01]*"label": "\([01]\)"[^[]*/\1/g')" = 01 ] ||
    fail "labels: $("$program" classify -q -m labeled 'hello world' 'new house')"

expect 2 'target_lang: expected a language of the tokenizer, such as eng_Latn, .*, got "en"' \
    "$program" translate -m nllb --target_lang en 'a'
expect 2 'source_lang: expected a language of the tokenizer, such as de, .*, got "dee"' \
    "$program" translate -m m2m_100 --source_lang dee 'a'
expect 2 'source_lang: expected' "$program" translate -m bart --source_lang de 'a'

# Log-probabilities of a translation: those of its own tokens and its end, after the language.
"$program" translate -q -m nllb --json --target_lang deu_Latn --max_new_tokens 8 'the lazy dog' > greedy.json
echo 'new house' > given.txt
"$program" translate -q -m nllb --json --target_lang deu_Latn --score given.txt 'the lazy dog' > scored.json || fail "score"
holds scored.json '"tokens":'
# A prefix follows the language; words are aligned without it.
"$program" translate -q -m nllb --target_lang deu_Latn --prefix 'green' --max_new_tokens 4 'the lazy dog' | grep -q '^green' ||
    fail "prefix"
"$program" translate -q -m nllb --target_lang deu_Latn --alignment --max_new_tokens 6 'the lazy dog' | grep -q ' ||| ' ||
    fail "alignment"
done_testing
