#!/bin/sh
# fill_mask.sh — the format, keys, texts and scores of transformers' fill-mask pipeline (golden).
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/cli
"$make_model" model || exit 1

"$program" fill-mask -m model --json < "$golden/masks.txt" > got 2> err || fail "fill-mask: $(cat err)"
close_json "$golden/fill_mask.jsonl" got
"$program" fill-mask -m model --json --top-k 2 --targets paris --targets london --targets blue < "$golden/masks.txt" > got || fail "targets"
close_json "$golden/fill_mask_targets.jsonl" got

# One at a time and together, few threads and many, every batch: the same bytes.
"$program" fill-mask -m model --json < "$golden/masks.txt" > all
while IFS= read -r line; do "$program" fill-mask -m model --json --threads 1 "$line"; done < "$golden/masks.txt" > one
same all one "one by one"

expect 3 'text: expected .* \(\[MASK\]\), got none' "$program" fill-mask -m model 'no blank here'
printf 'the [MASK]\nnone\n' > lines
input=lines expect 3 'standard input:2: text: expected a mask token' "$program" fill-mask -m model --json
[ "$(wc -l < out)" -eq 1 ] || fail "the answer before the bad line is lost"
expect 3 'cut to max_length' "$program" fill-mask -m model --max-length 4 'the city is [MASK]'
printf 'the [MASK]\n' > some.txt
expect 3 'the name of a file; .*"< some.txt"' "$program" fill-mask -m model some.txt
expect 0 'the city: .*first piece the ' "$program" fill-mask -m model --target 'the city' 'the [MASK]'
expect 0 'target City: the vocabulary has it as city' "$program" fill-mask -m model --target City 'the [MASK]'
expect 0 "not in the vocabulary, its first piece p is used" "$program" fill-mask -m model --target parrot 'the [MASK]'
expect 0 '' "$program" fill-mask -m model -q --target parrot 'the [MASK]'
expect 0 'target 股: not in the vocabulary, ignored' "$program" fill-mask -m model --target 股 --target city 'the [MASK]'
grep -q UNK out && fail "an unknown token is a prediction: $(cat out)"
expect 3 'text: expected a mask token .*got none$' "$program" fill-mask -m model model

# Matrices in bf16: the same predictions here, and an unknown type is refused.
"$program" fill-mask -m model --json -k 1 < "$golden/masks.txt" | grep -o '"token_str": *"[^"]*"' > expected
"$program" fill-mask -m model --json -k 1 --dtype bf16 < "$golden/masks.txt" | grep -o '"token_str": *"[^"]*"' > got
[ -s expected ] && same expected got "bf16"
"$program" fill-mask -m model --json -k 1 --dtype int8 < "$golden/masks.txt" | grep -o '"token_str": *"[^"]*"' > got
[ -s expected ] && same expected got "int8"
expect 2 'dtype' "$program" fill-mask -m model --dtype f8 'the [MASK]'

# A vocabulary is a file of anyone's: what is printed to a terminal has no escape sequences.
escape=$(printf '\033') bell=$(printf '\007')
cp -r model dirty
sed "s/^the\$/${escape}]0;title$bell/; s/^city\$/${escape}[2J/" model/vocab.txt > dirty/vocab.txt
"$program" fill-mask -m dirty -k 100000 'a [MASK]' > got || fail "a dirty vocabulary"
grep -q '?]0;title?' got || fail "the token is not shown: $(head -5 got | cat -v)"
grep -q "[$escape$bell]" got && fail "an escape sequence is printed"
"$program" tokenize -m dirty "${escape}[2J" > got || fail "tokenize: a dirty vocabulary"
grep -q "$escape" got && fail "tokenize prints an escape sequence"

# For people: a table with as many rows as asked for, no color unless asked for.
expect 0 '' "$program" fill-mask -m model -k 3 'the [MASK]' 'a [MASK] [MASK]'
[ "$(grep -c ' %' out)" -eq 9 ] || fail "rows: $(cat out)"
holds out 'mask 2 of 2'
grep -q "$(printf '\033')" out && fail "colors in a file"
expect 0 '' "$program" fill-mask -m model --color always -k 3 'the [MASK]'
grep -q "$(printf '\033')" out || fail "no colors with --color always"
expect 0 '' "$program" fill-mask -m model -k 100000 --json 'the [MASK]'
[ "$(grep -o '"score"' out | wc -l)" -eq "$(wc -l < model/vocab.txt)" ] || fail "top-k beyond the vocabulary"

# A vocabulary that was cut short: said, and no row without a token is a prediction.
cp -r model short; head -90 model/vocab.txt > short/vocab.txt; rm -f short/checksums.json
expect 0 'short: the vocabulary has 90 tokens' "$program" fill-mask -m short -k 100000 --json 'the [MASK]'
[ "$(grep -o '"score"' out | wc -l)" -eq 90 ] || fail "rows without a token: $(cat out)"
expect 0 'short: the vocabulary has 90 tokens' "$program" verify short
expect 0 'short: the vocabulary has 90 tokens' "$program" convert short shorter
printf 'text\tlabel\nthe king\ta\na river\tb\n' > rows.tsv
expect 0 'short: the vocabulary has 90 tokens' "$program" evaluate -m short --text "$golden/masks.txt"
expect 0 'short: the vocabulary has 90 tokens' "$program" finetune --model short --train rows.tsv --max_steps 1 -o tuned
expect 0 'tuned: the vocabulary has 90 tokens' "$program" predict -m tuned --input rows.tsv

# The line is printed whole, also after a NUL byte.
printf 'the\000 king [MASK]\n' | "$program" fill-mask -m model > out
head -1 out | tr '\000' '@' | grep -qx 'the@ king \[MASK\]' || fail "a line with a NUL byte: $(head -1 out | tr '\000' '@')"

# An answer comes as soon as its line is there, so that a program can talk with this one.
[ "$posix" ] || done_testing
mkfifo to from
"$program" fill-mask -m model --json < to > from &
exec 3> to 4< from
echo 'the [MASK]' >&3
IFS= read -r answer <&4
exec 3>&- 4<&-
wait $!
case $answer in '[{"score": '*) ;; *) fail "no answer to a line: $answer" ;; esac
done_testing
