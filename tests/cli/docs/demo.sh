#!/bin/sh
# demo.sh — the demonstration shows its commands and their output.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
mkdir tmp && TMPDIR=$PWD/tmp && export TMPDIR
expect 0 '' "$program" demo -m model
for command in fill-mask index search similarity; do holds out "\$ roformer $command"; done
[ "$(grep -cE '^(-?[01]\.[0-9]{4} ){5}-?[01]\.[0-9]{4}$' out)" -eq 6 ] || fail "no matrix of cosines: $(cat out)"
[ "$(grep -c ' %' out)" -ge 18 ] || fail "few predictions"
[ "$(wc -l < out)" -le 66 ] || fail "more than a page: $(wc -l < out) lines"
printf 'one line\nand another one\nthe third one\n' > lines
expect 0 '' "$program" demo -m model --lines lines
[ "$(grep -cE '^-?[01]\.[0-9]{4}	[123]	' out)" -eq 6 ] || fail "no lines found: $(cat out)"
expect 4 'no-such' "$program" demo -m model --lines no-such
[ ! -s out ] || fail "blanks are filled before a file is missed: $(head -3 out)"

# The name of a shipped model is not its folder: the message says where that is.
expect 4 'roformer-small-zh: expected a model folder, got no file of this name; the shipped model of this name is .*roformer-small-zh' \
    "$program" fill-mask -m roformer-small-zh '[MASK]'

# Vectors by another model than the blanks: what similarity prints with it.
awk 'BEGIN { print "text\tpair"; for (i = 0; i < 16; i++) print "the old city " i "\tthe city is old " i }' > pairs.tsv
"$program" finetune -q --task embed --model model --train pairs.tsv --max_steps 1 --learning_rate 1e-2 -o vectors > note 2>&1
expect 0 '' "$program" demo -m model --sentence-model vectors
holds out 'sentence model: vectors'
holds out 'similarity sentences.txt -m vectors'
sed -n 's/^  [1-6]  //p' out > sentences
tail -8 out | head -6 > matrix
[ "$(wc -l < sentences)" -eq 6 ] || fail "not six sentences: $(cat sentences)"
"$program" similarity -m vectors sentences > expected; same matrix expected "cosines of the other model"
"$program" similarity -m model sentences > other; cmp -s matrix other && fail "one model made all vectors"
expect 3 'masked-language-model head' "$program" demo -m vectors
[ -z "$(ls tmp | grep -v "^wine-")" ] || fail "folders are left: $(ls tmp)"

# What README.md shows is what the shipped models answer; on other processors the last digits are others.
sh "$repository/tools/demo_excerpt.sh" "$program" > excerpt
awk '/^```/ { there = 0 } /^\$ roformer fill-mask --top-k 3/ { there = 1 } there' "$repository/README.md" > shown
awk 'function parts(s, word) { gsub(/[█▏▎▍▌▋▊▉#]+/, "", s); return split(s, word, /[ \t]+/) }
    function number(s) { return s ~ /^-?[0-9]+\.[0-9]+$/ }
    NR == FNR { line[FNR] = $0; lines = FNR; next }
    {
        n = parts(line[FNR], a); same = parts($0, b) == n
        for (i = 1; i <= n && same; i++) {
            d = a[i] - b[i]
            if (number(a[i]) && number(b[i])) same = d * d <= (a[i] + 0 > 1 ? 0.0025 : 0.000001)
            else same = a[i] == b[i]
        }
        if (!same) { print "line " FNR ": " line[FNR] " is now " $0; told = 1; exit }
    }
    END { if (!told && FNR != lines) print lines " lines are " FNR " now" }' shown excerpt > differences
[ ! -s differences ] || fail "README.md shows what make demo does not: $(cat differences)
    cure: sh tools/demo_excerpt.sh build/release/roformer --renew"
[ -z "$(ls tmp | grep -v "^wine-")" ] || fail "folders are left: $(ls tmp)"
done_testing
