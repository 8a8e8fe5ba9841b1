#!/bin/sh
# zero_shot.sh — classify --labels prints the answers of transformers' zero-shot-classification pipeline
# (tools/golden/golden_zero_shot.py), for arguments and for lines, and refuses what has no answer.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/zero_shot

cp -r "$golden/models/bert" m && chmod -R u+w m
sed 's/LABEL_0/contradiction/; s/LABEL_1/neutral/; s/LABEL_2/entailment/' "$golden/models/bert/config.json" > m/config.json

# close A B   two lines of numbers, at most 2e-5 apart
close() {
    echo "$1" "$2" | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (NF % 2 || d > 2e-5 || d < -2e-5) exit 1 } }'
}
member() { sed -n "$1s/.*\"$2\": \[\([^]]*\)\].*/\1/p" "$3"; }
# answers N LINE   line N of out is the answer of this line of cases.jsonl
answers() {
    sed -n "$2p" "$golden/cases.jsonl" | sed 's/.*"answer": //' > case
    [ "$(member "$1" labels out)" = "$(member 1 labels case)" ] || fail "case $2: $(cat out)"
    close "$(member "$1" scores out | tr -d ,)" "$(member 1 scores case | tr -d ,)" || fail "case $2: $(cat out)"
}
text='the old city of a river' other='a small house, the king'

expect 0 '' "$program" classify -m m --labels 'river, old city' --label 'king, a small king' --label house "$text"
answers 1 1
holds out "{\"sequence\": \"$text\", \"labels\": ["
expect 0 '' "$program" classify -m m --labels 'river, old city' --label 'king, a small king' --label house --multi_label "$text"
answers 1 2
expect 0 '' "$program" classify -m m --label 'king, a small king' "$text"
answers 1 3
expect 0 '' "$program" classify -m m --candidate_labels ' river,old city ,, house,' --hypothesis_template 'this text is about {}, the {{old}} one.' "$text"
answers 1 4
printf '%s\n' "$text" "$other" > lines
input=lines expect 0 '' "$program" classify -m m --labels 'river,old city' --hypothesis '{0} is the {0}' --top 2
answers 2 5
[ "$(wc -l < out)" -eq 2 ] || fail "$(cat out)"
expect 0 '' "$program" classify -m m --labels 'river,old city' --top 1 "$text"
[ "$(member 1 labels out)" = '"old city"' ] || fail "$(cat out)"

# Lines before one without a text are answered; notes of truncated texts and of a model without a label for entailment.
printf '%s\n\n%s\n' "$text" "$other" > lines
input=lines expect 3 'standard input:2' "$program" classify -m m --labels river,house
[ "$(wc -l < out)" -eq 1 ] || fail "$(cat out)"
expect 0 '1 of 1 .* 40 tokens' "$program" classify -m m --labels river,house "$text $text $text $text $text $text $text"
expect 0 'entail.*LABEL_2' "$program" classify -m "$golden/models/bert" --labels river,house "$text"
expect 0 '' "$program" classify -q -m "$golden/models/bert" --labels river,house "$text"

expect 2 '--labels' "$program" classify -m m --labels ' , ' "$text"
expect 2 'hypothesis_template.*this is' "$program" classify -m m --labels river --hypothesis 'this is' "$text"
expect 2 '--pair' "$program" classify -m m --labels river --pair "$other" "$text"
expect 2 '--multi_label' "$program" classify -m m --multi_label "$text"
expect 2 '--hypothesis' "$program" classify -m m --hypothesis 'a {}' "$text"
done_testing
