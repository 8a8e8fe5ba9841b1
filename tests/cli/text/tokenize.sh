#!/bin/sh
# tokenize.sh — ids, tokens and offsets as in transformers (golden), from arguments and from lines.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/cli
"$make_model" model || exit 1

"$program" tokenize -m model --json < "$golden/lines.txt" > got 2> err || fail "tokenize: $(cat err)"
same "$golden/tokenize.jsonl" got
"$program" tokenize -m model --json --no-special < "$golden/lines.txt" > got || fail "tokenize --no-special"
same "$golden/tokenize_no_special.jsonl" got

# A line as an argument, without the line feed at the end, with CRLF: the same.
head -1 "$golden/tokenize.jsonl" > first
line=$(head -1 "$golden/lines.txt")
"$program" tokenize -m model --json "$line" > got && same first got "as an argument"
printf '%s' "$line" | "$program" tokenize -m model --json > got && same first got "without a line feed"
printf '%s\r\n' "$line" | "$program" tokenize -m model --json > got && same first got "with CRLF"
: | "$program" tokenize -m model --json > got && [ ! -s got ] || fail "no lines, yet output"

"$program" tokenize -m model 'the [MASK]' > got && printf '%s\n' '[CLS]        2' 'the          5  0..3' '[MASK]       4  4..10' '[SEP]        3' > expected && same expected got
ROFORMER_MODEL=model "$program" tokenize --json "$line" > got && same first got "by ROFORMER_MODEL"

printf 'fine\nnot \377 fine\n' > bad
input=bad expect 3 'standard input:2: byte 5 \(0xff\) is not UTF-8' "$program" tokenize -m model --json
[ "$(wc -l < out)" -eq 1 ] || fail "the line before the bad one is lost"
printf 'a\355\240\200' > bad
input=bad expect 3 ':1: byte 2 \(0xed\) is not UTF-8' "$program" tokenize -m model
printf '\275\361\314\354\314\354\306\370\n' > gbk
input=gbk expect 3 'UTF-8.*iconv -f GB18030 -t UTF-8' "$program" tokenize -m model
[ -z "$posix" ] || expect 3 'text 2: byte 1 \(0xc0\)' "$program" tokenize -m model fine "$(printf '\300\257')"

# A zero byte inside a line, a very long word, a very long line: all answered, in linear time.
printf 'the\000city\n' | "$program" tokenize -m model --json > got && holds got '"tokens":["[CLS]",'
awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "a"; print "" }' | "$program" tokenize -m model --json > got && holds got '[UNK]'
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "city "; print "" }' | "$program" tokenize -m model --json > got
[ "$(grep -o city got | wc -l)" -eq 200000 ] || fail "a long line is cut"
done_testing
