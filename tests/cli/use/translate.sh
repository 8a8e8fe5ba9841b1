#!/bin/sh
# translate.sh — roformer translate: a small model that has learned to reverse texts and to replace each word by the
# next number.
. "$(dirname "$0")/../lib"

# Words are the ids 3 to 14 of tests/golden/marian/trained, 0 ends a text, 40 begins one.
cp -r "$repository/tests/golden/marian/trained" model
{
    printf '%s\n' '</s>' x1 x2 one two three four five six seven eight nine ten eleven twelve
    i=15
    while [ $i -lt 35 ]; do echo "y$i"; i=$((i + 1)); done
    printf '%s\n' '[UNK]' '[CLS]' '[SEP]' '[MASK]' '[PAD]' '<pad>'
} > model/vocab.txt

# Lines in, lines out, in their order; an empty one stays.  Beams, batches and threads change nothing that is certain.
printf 'one two three\n\nfour five six seven\neleven\n \n' > in
printf 'four three two\n\neight seven six five\ntwelve\n\n' > expected
input=in expect 0 '' "$program" translate -m model
same out expected
input=in expect 0 '' "$program" translate -m model --beam 4 -b 4 --threads 1
same out expected
expect 0 '' "$program" translate -m model "one two three" "" "four five six seven" "eleven" " "
same out expected
awk 'BEGIN { for (i = 0; i < 700; i++) print "one two three\n\nfour five six seven\neleven\n " }' > many
awk 'BEGIN { for (i = 0; i < 700; i++) print "four three two\n\neight seven six five\ntwelve\n" }' > expected
input=many expect 0 '' "$program" translate -m model --num_beams 2
same out expected

# Threads that write lines of their own: bits, order, draws, alignments and the first failure are those of one.
awk 'BEGIN { split("one two three four five six seven eight nine ten", w)
             for (i = 0; i < 450; i++) { s = w[1 + i % 7]; for (k = 0; k < i * 31 % 6; k++) s = s " " w[1 + (i * k + k) % 10]; print s } }' > mixed
for how in '--num_beams 4 --nbest 2 --json' '--do_sample --nbest 2 --json --seed 5' '--alignment' '--max_source_length 3 --long_source split --json'; do
    for threads in 1 2 3; do
        input=mixed expect 0 '' "$program" translate -q -m model $how --batch_size 256 --threads $threads
        mv out "wrote.$threads"
    done
    same wrote.1 wrote.2
    same wrote.1 wrote.3
done
sed '400s/.*/one two three four five six seven eight/' mixed > longer
for threads in 1 2; do
    input=longer expect 3 ':400: source: expected at most 8 tokens, got 9' "$program" translate -m model --max_source_length 8 --threads $threads
    [ "$(wc -l < out)" -eq 399 ] || fail "$threads threads: $(wc -l < out) lines before the one that fails"
done

# A line is answered as soon as it is there.
if [ "$posix" ]; then
mkfifo to from
"$program" translate -m model < to > from 2> err &
pid=$!
exec 3> to 4< from
echo "one two" >&3
read -r line <&4
[ "$line" = "three two" ] || fail "the first line: $line"
echo "three four" >&3
read -r line <&4
[ "$line" = "five four" ] || fail "the second line: $line"
exec 3>&- 4<&-
wait $pid || fail "exit $?"
fi

# n-best lists, JSON, sampling, prefixes, lengths.
input=in expect 0 '' "$program" translate -m model --num_beams 4 --nbest 2
[ "$(wc -l < out)" -eq 10 ] || fail "lines: $(cat out)"
grep -qE '^0 \|\|\| four three two \|\|\| logprob= -0\.[0-9]+ \|\|\| -0\.[0-9]+$' out || fail "nbest: $(head -1 out)"
[ "$(cut -d' ' -f1 out | tr '\n' ' ')" = '0 0 1 1 2 2 3 3 4 4 ' ] || fail "order: $(cat out)"
expect 0 '' "$program" translate -m model --json --nbest 2 "one two three"
holds out '"translation": "four three two"'
holds out '"finish_reason": "stop", "ids": [6, 5, 4]'
holds out '"source_tokens": 4, "parts": 1, "nbest": [{'
# A log-probability for each id, whatever was joined, and the ends' apart: together they are that of the translation.
as_many() { python3 -c '
import json, sys
for x in map(json.loads, open("out")):
    assert len(x["ids"]) == len(x["logprobs"]) > 0, x
    assert abs(sum(x["logprobs"]) + x["end_logprob"] - x["logprob"]) < 1e-4, x' || fail "ids and logprobs: $(cat out)"; }
as_many
expect 0 '' "$program" translate -m model --temperature 0.01 --nbest 2 --seed 3 "one two three"
[ "$(cut -d' ' -f3-5 out | sort -u)" = "four three two" ] || fail "samples: $(cat out)"
expect 0 '' "$program" translate -m model --prefix "four three" "one two three"
[ "$(cat out)" = "four three two" ] || fail "prefix: $(cat out)"
expect 0 '1 of 1 translations were cut' "$program" translate -m model -n 2 "one two three"
[ "$(cat out)" = four ] || fail "-n 2: $(cat out)"                                 # forced_eos_token_id is the second

# Words and where they come from: the model reverses texts.
expect 0 '' "$program" translate -m model --alignment "one two three four" ""
[ "$(head -1 out)" = "five four three two ||| 3-0 2-1 1-2 0-3" ] && [ "$(tail -1 out)" = " |||" ] || fail "alignment: $(cat out)"
expect 0 '' "$program" translate -m model --alignment --json "one two three"
holds out '"alignment": [[2, 0], [1, 1], [0, 2]]'

# The program of examples/.
if [ "$posix" ]; then
    "$(dirname "$program")/examples/translate" model "one two three" "six" > got || fail "examples/translate"
    sort got | grep -qE '^1  four three two  \(score -0\.[0-9]+\)$' || fail "examples/translate: $(cat got)"
    grep -q '^   2-0 1-1 0-2$' got || fail "examples/translate: $(cat got)"
fi

# Scores of given translations are those that a search reports.
printf 'four three two\ntwo two two\n' > given
printf 'one two three\none two three\n' > sources
input=sources expect 0 '' "$program" translate -m model --score given
score=$("$program" translate -m model --num_beams 4 --json "one two three" | sed 's/.*"logprob": \(-[0-9.]*\),.*/\1/')
awk -v s="$score" -F'\t' 'NR == 1 { d = $1 - s; if (d > 2e-4 || d < -2e-4 || $2 != 4) exit 1; first = $1 } NR == 2 && $1 >= first { exit 1 }' out ||
    fail "scores: $(cat out), $score"
input=in expect 3 'given: expected one translation per text, got fewer lines' "$program" translate -m model --score given
echo "one" > few
input=few expect 3 'given: expected one translation per text, got more lines' "$program" translate -m model --score given
for option in '--prefix four' --alignment '--nbest 2' '--num_beams 4' '--seed 1' '--top_k 3' '--length_norm gnmt'; do
    expect 2 "${option%% *}: has no effect with --score; leave it out" "$program" translate -m model --score given $option one
done

# Long sources: refused with their line, those before are printed; or in parts, with a word about it.
printf 'one two\none two three. four five six, seven eight nine ten eleven twelve one\nnine\n' > long
input=long expect 3 'standard input:2: .* 8 tokens.* 1[0-9]' "$program" translate -m model --max_source_length 8
[ "$(cat out)" = "three two" ] || fail "before a long line: $(cat out)"
input=long expect 0 'text 2: a source of [0-9]+ tokens, translated in [23] parts' "$program" translate -m model --max_source_length 9 --long_source split
[ "$(wc -l < out)" -eq 3 ] && [ "$(tail -1 out)" = ten ] || fail "parts: $(cat out)"
expect 0 'line|text' "$program" translate -m model --max_source_length 9 --long_source split --json "one two three. four five six, seven eight nine ten eleven twelve one"
grep -qE '"parts": [23]' out || fail "parts: $(cat out)"
as_many

# What cannot be done.
printf 'one\n\377\n' > bad
input=bad expect 3 'standard input:2: byte 1 \(0xff\) is not UTF-8' "$program" translate -m model
[ "$(cat out)" = two ] || fail "before bad bytes: $(cat out)"
expect 2 'num_beams: .* 41 .* 60 .*30' "$program" translate -m model --num_beams 30 one
expect 2 'num_return_sequences: expected at most num_beams, 2, got 3' "$program" translate -m model --num_beams 2 --nbest 3 one
expect 4 'no-such' "$program" translate -m no-such one
expect 3 'causal.*roformer translate' "$program" generate -m model one
expect 3 'causal.*roformer translate --score' "$program" score -m model one
"$make_model" other > /dev/null 2>&1 && expect 3 'expected an encoder-decoder model to translate, got another model' "$program" translate -m other one
rm model/vocab.txt
expect 3 'model: expected a tokenizer' "$program" translate -m model one
mv model/config.json whole.json
cp "$repository/tests/golden/marian/trained/config.json" model/config.json
printf '{"num_beam_groups": 2}' > model/generation_config.json
cp "$repository/tests/golden/marian/trained/config.json" model/
{ i=0; while [ $i -lt 35 ]; do echo "w$i"; i=$((i + 1)); done; printf '%s\n' '[UNK]' '[CLS]' '[SEP]' '[MASK]' '[PAD]'; } > model/vocab.txt
expect 3 'generation_config.json: num_beam_groups: expected 1, got 2' "$program" translate -m model w1
rm model/generation_config.json

# The reader goes away.
"$program" translate -m model < many 2> err | head -1 > out
[ ! -s err ] || fail "a closed pipe: $(cat err)"
done_testing
