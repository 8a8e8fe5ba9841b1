#!/bin/sh
# search.sh — index and search: they agree with rank on the same lines; the model of an index; damaged indexes; no
# incomplete files.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
width=$(sed -n 's/.*"hidden_size": *\([0-9]*\).*/\1/p' model/config.json)
printf 'the old city\nof the river\n\nthe red house and the blue river\nof the river\n' > lines
grep . lines > full
expect 0 'roformer: 1 of 5 lines are empty' "$program" index -m model -o all lines
expect 0 '' "$program" index -q -m model -o some full
expect 0 '' "$program" search -m model some 'the river'
cp out found
expect 0 '' "$program" rank -m model 'the river' full
same out found "as rank has them"
expect 0 '' "$program" search -m model --json --top-k 2 some 'the river'
cp out found
expect 0 '' "$program" rank -m model --json --top-k 2 'the river' full
same out found "as rank has them, in JSON"
expect 0 '' "$program" search -m model --top-k 2 all 'of the river'
[ "$(cut -f 2 out | tr '\n' ' ')" = '2 5 ' ] || fail "equal lines, numbered with the empty one: $(cat out)"
expect 0 '' "$program" search -m model all 'of the river'
[ "$(wc -l < out)" -eq 4 ] || fail "an empty line was found: $(cat out)"
input=full expect 0 '' "$program" search -m model --top-k 1 some
[ "$(cut -f 1,3 out | tr '\t\n' '  ')" = '1 1 2 2 3 3 4 2 ' ] || fail "lines as queries: $(cat out)"
input=full expect 0 '' "$program" search -m model --top-k 1 --json some
[ "$(grep -c '"query": [1-4]}' out)" -eq 4 ] || fail "the queries' numbers: $(cat out)"
"$program" index -q -m model -o piped < full; same piped/codes.npy some/codes.npy "standard input"
"$program" index -q -m model --threads 2 -o two full full
"$program" search -m model --top-k 4 two 'of the river' > out
[ "$(cut -f 2 out | tr '\n' ' ')" = '2 4 6 8 ' ] || fail "lines of two files: $(cat out)"
"$program" embed -q -m model --normalize --format f32 -o v.f32 full
tail -c +46 some/vectors.faiss > w.f32; same v.f32 w.f32 "vectors of embed"
"$program" index -q -m model --dimensions 8 --pooling cls -o cut full
"$program" search -m model cut 'the river' > found
"$program" rank -m model --dimensions 8 --pooling cls 'the river' full > out
same out found "how vectors are made is in the index"
"$program" index -q -m model --dimensions 8 --pooling mean --layer-norm --skip-special-tokens -o even full
"$program" search -m model even 'the river' > found
"$program" rank -m model --dimensions 8 --pooling mean --layer-norm --skip-special-tokens 'the river' full > out
same out found "layer norm and special tokens are in the index"
expect 0 '' "$program" search -m model --query-prompt 'of the ' --top-k 1 some 'river'
[ "$(cut -f 1,2 out)" = "1.0000	2" ] || fail "a prompt of the query: $(cat out)"

expect 0 '' "$program" search -m model --top-k 0 all 'of the river'
[ "$(wc -l < out)" -eq 4 ] || fail "all of them: $(cat out)"
expect 2 'query: expected a text, got an empty one' "$program" search -m model all ' '
expect 2 'query: expected a text, got an empty one' "$program" search -m model all "$(printf '\343\200\200\001')"              # U+3000, a control character
expect 2 'query: expected a text, got an empty one' "$program" rank -m model "$(printf '\343\200\200')" full
printf 'the river\n\343\200\200\nthe city\n\302\240\342\200\213\n' > blanks                        # U+3000; U+A0, U+200B
expect 0 '2 of 4 lines are empty' "$program" index -m model -o blank.index blanks
"$program" search -q -m model --top-k 0 blank.index 'the river' | cut -f 2 > out
[ "$(sort out | tr '\n' ' ')" = '1 3 ' ] || fail "lines without a word are found: $(cat out)"
"$program" rank -q -m model --top-k 0 'the river' blanks | cut -f 2 | cmp - out || fail "rank finds others"
printf 'the river\n\n\357\277\275\nthe city\n' > queries                             # U+FFFD is no token, either
input=queries expect 0 '2 of 4 queries are empty' "$program" search -m model --top-k 1 all
[ "$(cut -f 1 out | tr '\n' ' ')" = '1 4 ' ] || fail "numbers of the queries: $(cat out)"
awk 'BEGIN { for (i = 0; i < 40; i++) printf "the river " }' > long
input=long expect 0 '1 of 1 .* 64 tokens.*index' "$program" search -m model all
printf '%s\n' '股票 天气' > strange
input=strange expect 0 '4 of the 4 tokens.*unknown' "$program" search -m model all
input=strange expect 0 'tokens of these lines are unknown' "$program" index -m model -o chinese

# Prompts by their names; the type that the model computed with.
cp -r model named
printf '[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]' > named/modules.json
mkdir named/1_Pooling
printf '{"word_embedding_dimension": %s, "pooling_mode_mean_tokens": true}' "$width" > named/1_Pooling/config.json
printf '{"prompts": {"query": "of the ", "line": "the "}, "default_prompt_name": "line"}' > named/config_sentence_transformers.json
"$program" index -q -m named -o prompted full
expect 0 '' "$program" search -m named --query-prompt-name query --top-k 1 prompted river; cp out found
expect 0 '' "$program" search -m named --query-prompt 'of the ' --top-k 1 prompted river; same out found "a prompt by its name"
expect 0 '' "$program" rank -m named --query-prompt-name query --top-k 1 river full; same out found "rank's prompt by its name"
expect 0 '' "$program" search -m named --top-k 1 prompted river
cmp -s out found && fail "the lines' prompt is the query's"
expect 2 'query: prompt_name: .*query, line.*"no"' "$program" rank -m named --query-prompt-name no a full
expect 2 'query: prompt, prompt_name: expected one of them, got both' "$program" rank -m named --query-prompt-name query --query-prompt a a full
printf '{"word_embedding_dimension": %s, "pooling_mode_mean_tokens": true, "include_prompt": false}' "$width" > named/1_Pooling/config.json
expect 0 '' "$program" rank -m named --prompt '' --query-prompt 'of ' --top-k 1 river full; cp out left
sed -i 's/"include_prompt": false/"include_prompt": true/' named/1_Pooling/config.json
expect 0 '' "$program" rank -m named --prompt '' --query-prompt 'of ' --top-k 1 river full
cmp -s out left && fail "the prompt's tokens were pooled"
"$program" index -q -m model --dtype int8 -o small.index full
expect 0 '' "$program" search -m model --top-k 1 small.index 'of the river'
[ "$(cut -f 1,2 out)" = "1.0000	2" ] || fail "a query's vector is not made as the index's were: $(cat out)"
cp small.index/index.json description
for other in '"int4"' 5 null; do
    sed "s/\"int8\"/$other/" description > small.index/index.json
    expect 3 'dtype: expected f32, bf16, int8 or int8w' "$program" search -m model small.index 'of the river'
done

# Whose index it is, and whether it is whole.
awk 'BEGIN { print "text\tpair"; for (i = 0; i < 16; i++) print "the old city " i "\tthe city is old " i }' > pairs.tsv
"$program" finetune -q --task embed --model model --train pairs.tsv --max_steps 1 --dropout 0 -o trained > note 2>&1
expect 3 'some: model: .*model \([0-9a-f]{16}\) .*[0-9]+.*trained \(' \
    "$program" search -m trained some 'the river'
expect 0 'some: intact' sh -c '"$0" verify some >&2' "$program"
cp -r some short; head -c 200 some/vectors.faiss > short/vectors.faiss
expect 3 'short/vectors.faiss: .*got 200' "$program" search -m model short 'the river'
expect 3 'vectors.faiss: 200 bytes' "$program" verify short
expect 4 'no-such: cannot open: No such file' "$program" search -m model no-such 'the river'
expect 4 'some/index.json: .*file' "$program" search -m model some/index.json 'the river'
expect 4 'model: expected an index, got a folder without index.json' "$program" search -m model model 'the river'
expect 2 'some: expected a new folder for the index' "$program" index -m model -o some full
expect 2 'expected -o DIR' "$program" index -m model full
expect 2 'search: expected INDEX' "$program" search -m model
printf 'fine\nbad \377\n' > bytes
expect 3 'bytes:2: ' "$program" index -m model -o half bytes
: > none
expect 3 'half: expected at least one text to index' "$program" index -m model -o half none
expect 4 'no-such' "$program" index -m model -o half full no-such
ls -d half* > note 2>&1 && fail "something was left: $(cat note)"

[ "$posix" ] || done_testing

# Ended by a signal: nothing is there.
mkfifo pipe
"$program" index -q -m model -o half pipe & pid=$!
exec 3> pipe
printf 'the river\n' >&3
await test -e half.tmp-"$pid"-0
kill -TERM "$pid"; exec 3>&-; wait "$pid"
ls -d half* > note 2>&1 && fail "something was left behind a signal: $(cat note)"

# Killed: what it left is removed by the next index of this name, and nothing else is.
"$program" index -q -m model -o half pipe & pid=$!
exec 3> pipe
printf 'the river\n' >&3
await test -e half.tmp-"$pid"-0
mkdir half.tmp-x half.tmp-2024 half.tmp-1-1 other.tmp-"$pid"-0
kill -KILL "$pid"; exec 3>&-; wait "$pid" 2> note
[ -d half.tmp-"$pid"-0 ] || fail "it was not killed in the middle"
"$program" index -q -m model -o half full
[ "$(echo half* other*)" = "half half.tmp-1-1 half.tmp-2024 half.tmp-x other.tmp-$pid-0" ] || fail "beside the index: $(echo half* other*)"
awk 'BEGIN { for (i = 0; i < 400000; i++) print "the red house and the blue river of the old city of the red house" }' > million
"$program" rank -q -t 1 -m model 'the river' million > out 2> err & pid=$!
sleep 1
kill -TERM "$pid"; wait "$pid"; code=$?
[ $code -eq 143 ] && [ ! -s out ] || fail "rank behind a signal: exit $code, $(head -2 out)"
done_testing
