#!/bin/sh
# bleu.sh — roformer bleu: files, metrics, output, significance tests, and rejected input.  tests/score tests the
# scores.
. "$(dirname "$0")/../lib"

printf '%s\n' 'Call me Ishmael.' 'There now is your insular city of the Manhattoes, belted round by wharves.' '' > ref
printf '%s\n' 'Call me Ishmael.' 'There is now your insular city of Manhattoes, belted by wharves!' '' > sys
printf '%s\n' 'Call me, Ishmael.' 'There is your city of Manhattoes.' 'x' > other

# The translation comes by standard input or is named; the signature says what was done.
input=sys expect 0 '' "$program" bleu ref
cp out stdin
grep -qE '^BLEU\|nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:2\.6\.0\|program:roformer-[0-9.]+ = 39\.63 94\.1/' out || fail "text: $(cat out)"
expect 0 '' "$program" bleu ref -i sys
same stdin out "named or not"
gzip -k sys ref
expect 0 '' "$program" bleu ref.gz -i sys.gz
same stdin out "compressed"
expect 0 '' "$program" bleu --json --metrics bleu,chrf,chrf++,ter ref other -i sys
[ "$(wc -l < out)" -eq 4 ] || fail "four metrics: $(cat out)"
holds out '{"name":"BLEU","score":'
holds out '"signature":"nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0'
holds out '"name":"chrF2++"'
holds out '"edits":'
expect 0 '' "$program" bleu --tokenize intl --lowercase --smooth-method floor -w 4 ref -i sys
holds out 'case:lc|eff:no|tok:intl|smooth:floor[0.10]|'
grep -qE ' = [0-9]+\.[0-9]{4} ' out || fail "four decimals: $(cat out)"
expect 0 '' "$program" bleu --sentence-level ref -i sys
[ "$(wc -l < out)" -eq 3 ] || fail "three lines: $(cat out)"
sed -n 1p out | grep -q 'eff:yes.* = 100.00 ' || fail "the first line: $(cat out)"
sed -n 3p out | grep -q ' = 0.00 ' || fail "an empty line: $(cat out)"

# Intervals and tests: the same seed, the same numbers.
expect 0 '' "$program" bleu --confidence --confidence-n 200 ref -i sys
holds out '|bs:200|seed:12345|'
holds out '(μ = '
cp out first
expect 0 '' "$program" bleu --threads 1 --confidence --confidence-n 200 ref -i sys
same first out "one worker"
expect 0 '' "$program" bleu --paired-ar --paired-ar-n 500 ref -i sys other
sed -n 1p out | grep -q '^sys: BLEU|nrefs:1|ar:500|seed:12345|' || fail "the baseline: $(cat out)"
sed -n 2p out | grep -qE '^other: .* \(p = 0\.[0-9]{4}\) ' || fail "the system: $(cat out)"
expect 0 '' "$program" bleu --paired-bs --json --metrics chrf ref -i sys other sys
sed -n 3p out | grep -q '"p_value":0.000999' || fail "a system against itself: $(cat out)"

# BLEU of tokenized text is another thing, and says so.
printf 'a well-known two-by-two test\n' > tok
expect 0 '' "$program" bleu --tokenized tok -i tok
grep -qE '^tokenized BLEU\|.*\|tok:compounds\|smooth:none\|program.* = 100\.00 .*hyp_len = 10 ' out || fail "tokenized: $(cat out)"
grep -q version out && fail "tokenized BLEU claims to be sacreBLEU's"
expect 2 'expected no --tokenize' "$program" bleu --tokenized --tokenize intl tok -i tok
expect 2 'got ter; leave it out of --metrics' "$program" bleu --tokenized --metrics bleu,ter tok -i tok

# An option that has no effect is not passed over; a byte-order mark is no word.
for option in '--tokenize zh' '--smooth-method none' '--max-ngram-order 2' '--effective-order'; do
    # shellcheck disable=SC2086
    expect 2 "${option%% *}: has no effect without bleu among --metrics" "$program" bleu --metrics ter $option ref -i sys
done
expect 2 '--smooth-value: .*--smooth-method.*floor.*add-k' "$program" bleu --smooth-value 3 ref -i sys
expect 2 '--chrf-beta: .*chrf.*--metrics' "$program" bleu --chrf-beta 3 ref -i sys
expect 2 '--chrf-word-order: .*chrf.*--metrics' "$program" bleu --metrics chrf++ --chrf-word-order 3 ref -i sys
expect 2 '--confidence-n: .*--confidence' "$program" bleu --confidence-n 30 ref -i sys
expect 0 '' "$program" bleu --metrics bleu,chrf --chrf-beta 3 --smooth-method floor --smooth-value 0.2 ref -i sys
expect 0 '' "$program" bleu --metrics bleu,chrf,ter ref -i sys
cp out plain
{ printf '\357\273\277'; cat sys; } > marked
expect 0 'marked: the byte-order mark is skipped' "$program" bleu --metrics bleu,chrf,ter ref -i marked
same plain out 'a byte-order mark'

# What is refused, before anything is printed.
printf 'one\n' > short
expect 3 'short: .* 3 .*ref.*got 1' "$program" bleu ref -i short
expect 3 'short: .* 3 .*ref.*got 1' "$program" bleu ref short -i sys
: > empty
expect 3 'empty: expected a line' "$program" bleu ref -i empty
printf 'a\nb\377\nc\n' > bad
expect 3 'bad:2: .*UTF-8' "$program" bleu ref -i bad
expect 4 'none.*No such file' "$program" bleu none -i sys
expect 2 'expected bleu, chrf, chrf' "$program" bleu --metrics bleu,meteor ref -i sys
expect 2 'expected one of them, got 2' "$program" bleu --confidence --paired-bs ref -i sys other
expect 2 'expected at least two systems' "$program" bleu --paired-ar ref -i sys
expect 2 'expected no interval' "$program" bleu --sentence-level --confidence ref -i sys
expect 2 'standard input .* 2 times' "$program" bleu - -i -
input=sys expect 2 'without -i FILE it is the translation' "$program" bleu -
expect 2 'REFERENCE' "$program" bleu
expect 2 '--max-ngram-order: expected 1 to 8, got 9' "$program" bleu --max-ngram-order 9 ref -i sys
[ ! -s out ] || fail "output before a refusal"
done_testing
