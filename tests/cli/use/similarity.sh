#!/bin/sh
# similarity.sh — similarity and rank: cosines are those of the vectors of embed, in their order.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
printf 'the old city\nof the river\nthe red house and the blue river\n\n' > lines
printf 'the river\nthe city\nof house\nred\n' > others

# awk on the vectors of embed: row i, column j.
vectors() { "$program" embed -q -m model --normalize --format jsonl < "$1" | tr -d '[]'; }
vectors lines > a; vectors others > b
matrix() { awk -F, 'NR == FNR { for (c = 1; c <= NF; c++) y[FNR, c] = $c; n = FNR; next }
    { row = ""; for (j = 1; j <= n; j++) { s = 0; for (c = 1; c <= NF; c++) s += $c * y[j, c]; row = row (j > 1 ? " " : "") sprintf("%.3f", s) } print row }' "$2" "$1"; }
thousandths() { awk '{ row = ""; for (i = 1; i <= NF; i++) row = row (i > 1 ? " " : "") sprintf("%.3f", $i); print row }'; }
alike() { paste "$1" "$2" | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d > 0.0011 || d < -0.0011) exit 1 } }' || fail "$3: $(cat "$1") / $(cat "$2")"; }
expect 0 '' "$program" similarity -m model lines
thousandths < out > got; matrix a a > expected; alike got expected "one file"
[ "$(awk '{ print NF }' out | sort -u)" = 4 ] || fail "columns: $(cat out)"
cp out whole
"$program" similarity -m model < lines > out; same whole out "standard input"
expect 0 '' "$program" similarity -m model lines others
thousandths < out > got; matrix a b > expected; alike got expected "two files"
expect 0 '' "$program" similarity -m model --pairs lines others
cp out pairs4
awk '{ print $NR }' expected > diagonal; thousandths < out > got; alike got diagonal "pairs"
expect 0 '' "$program" similarity -m model --json lines
[ "$(grep -c '^\[' out)" -eq 4 ] || fail "json: $(cat out)"
expect 0 '' "$program" similarity -m model --pairs --json lines others
awk '{ printf "%.4f\n", $1 }' out | paste - "$PWD/pairs4" | awk '$1 != $2 { exit 1 }' || fail "json of pairs: $(cat out)"
expect 2 'expected standard input once, got it twice' "$program" similarity -m model - - < /dev/null
expect 2 '--pairs: expected two files, got 1' "$program" similarity -m model --pairs lines
head -2 others > two
expect 3 '--pairs: .*lines with 4 and two with 2' "$program" similarity -m model --pairs lines two
expect 4 'no-such' "$program" similarity -m model no-such
printf 'a\377b\n' > bad
expect 3 'bad:1: ' "$program" similarity -m model bad
: > none
expect 0 '' "$program" similarity -m model none
expect 2 'dimensions: expected at most .* got 1000' "$program" similarity -m model --dimensions 1000 none
[ ! -s out ] || fail "cosines of no line: $(cat out)"

# A query that is a line is nearest to itself; all lines in falling order; a tie goes to the earlier line.
expect 0 '' "$program" rank -m model 'of the river' lines
sed -n 1p out | grep -q "^1.0000	2	of the river$" || fail "nearest: $(cat out)"
cut -f 1 out | sort -rn -C || fail "order: $(cat out)"
[ "$(wc -l < out)" -eq 3 ] || fail "lines, but for the empty one: $(cat out)"
cat lines lines > twice
expect 0 '' "$program" rank -m model --top-k 2 'of the river' twice
[ "$(cut -f 2 out | tr '\n' ' ')" = '2 6 ' ] || fail "equal lines: $(cat out)"
expect 0 '' "$program" rank -m model --json --top-k 1 'of the river' lines
holds out '"line": 2, "text": "of the river"'
expect 0 '' "$program" rank -m model --top-k 1 --query-prompt 'of the ' 'river' lines
sed -n 1p out | grep -q "^1.0000	2" || fail "a prompt of the query: $(cat out)"
expect 2 'rank: expected QUERY' "$program" rank -m model
expect 2 'query: expected a text, got an empty one' "$program" rank -m model '  ' lines
# What is trained is verified with the files of sentence-transformers, and converted with them.
awk 'BEGIN { print "text\tpair"; for (i = 0; i < 16; i++) print "the old city " i "\tthe city is old " i }' > pairs.tsv
expect 0 'step 2/2' "$program" finetune --task embed --model model --train pairs.tsv --normalize --max_steps 2 --dropout 0 -o trained
expect 0 '' "$program" verify trained trained/checkpoint-2
expect 0 '' "$program" convert -q trained again
for file in modules.json 1_Pooling/config.json 2_Normalize/config.json sentence_bert_config.json config_sentence_transformers.json; do
    same "trained/$file" "again/$file" "converted"
done
"$program" embed -q -m trained --format f32 < lines > x.f32; "$program" embed -q -m trained/checkpoint-2 --format f32 < lines > y.f32
same x.f32 y.f32 "vectors of the checkpoint, whose config.json alone says how they are made"
"$program" embed -q -m again --format f32 < lines > y.f32
same x.f32 y.f32 "vectors of what was converted"
echo >> trained/1_Pooling/config.json
expect 3 '1_Pooling/config.json: .* bytes instead of' "$program" verify trained
# Trained on, it keeps how its vectors are made; said otherwise, not.
expect 0 '' "$program" finetune -q --task embed --model again --train pairs.tsv --max_steps 1 --dropout 0 -o further
[ -f further/2_Normalize/config.json ] || fail "vectors of length 1 no longer: $(cat further/modules.json)"
expect 0 '' "$program" finetune -q --task embed --model model --train pairs.tsv --max_steps 1 --pooling cls -o first
expect 0 '' "$program" finetune -q --task embed --model first --train pairs.tsv --max_steps 1 -o further2
same first/1_Pooling/config.json further2/1_Pooling/config.json "pooled as before"
expect 0 '' "$program" finetune -q --task embed --model first/checkpoint-1 --train pairs.tsv --max_steps 1 -o further4
same first/1_Pooling/config.json further4/1_Pooling/config.json "pooled as the checkpoint"
[ -d further2/2_Normalize ] && fail "scaled where the folder does not"
expect 0 '' "$program" finetune -q --task embed --model first --train pairs.tsv --max_steps 1 --pooling max -o further3
cmp -s first/1_Pooling/config.json further3/1_Pooling/config.json && fail "--pooling max had no effect"
# So stay prompts and the length of a text; what cannot be read is refused.
printf '{"prompts": {"query": "of the "}, "default_prompt_name": "query"}\n' > first/config_sentence_transformers.json
printf '{"max_seq_length": 24, "do_lower_case": false}\n' > first/sentence_bert_config.json
expect 0 'cut to 24' "$program" finetune --task embed --model first --train pairs.tsv --max_steps 1 -o further5
same first/config_sentence_transformers.json further5/config_sentence_transformers.json "prompts"
grep -q '"max_seq_length": 24' further5/sentence_bert_config.json || fail "longer texts: $(cat further5/sentence_bert_config.json)"
expect 0 '' "$program" verify further5
echo '{' > first/modules.json
expect 3 'first/modules.json' "$program" finetune -q --task embed --model first --train pairs.tsv --max_steps 1 -o further6
[ ! -e further6/config.json ] || fail "trained on with another pooling"
done_testing
