#!/bin/sh
# vocab.sh — a vocabulary from text, from several kinds of files; existing files are not lost.
. "$(dirname "$0")/../lib"
awk 'BEGIN { srand(3); for (i = 0; i < 3000; i++) { s = ""; for (k = 0; k < 12; k++) s = s substr("walking talking walked talked London Paris reading reader readers", 1 + 8 * int(rand() * 8), 8) " "; print s; if (i % 20 == 0) print "" } }' > text.txt
gzip -k text.txt
awk 'NF { gsub(/"/, ""); printf "{\"text\": \"%s\"}\n", $0 }' text.txt > text.jsonl

expect 0 'tokens learned from' "$program" vocab --text text.txt --size 200 -o a
for file in vocab.txt tokenizer_config.json special_tokens_map.json; do [ -s a/$file ] || fail "no $file"; done
[ "$(wc -l < a/vocab.txt)" -le 200 ] || fail "more than 200 tokens"
for special in PAD UNK CLS SEP MASK; do holds a/vocab.txt "[$special]"; done
grep -q '[A-Z][a-z]' a/vocab.txt && fail "upper case without --cased"
expect 0 '' "$program" vocab -q --text text.txt.gz --size=200 --output b
same a/vocab.txt b/vocab.txt "gzip"
expect 0 '' "$program" vocab -q --threads 1 --text text.txt --vocab_size 200 -o c
same a/vocab.txt c/vocab.txt "threads"
expect 0 '' "$program" vocab -q --text text.jsonl --size 200 -o d
input=text.txt expect 0 '' "$program" vocab -q --text - --size 200 -o f
same a/vocab.txt f/vocab.txt "standard input"
expect 0 '' "$program" vocab -q --text text.txt text.txt --cased --size 200 -o g
grep -q '[A-Z]' g/vocab.txt || fail "--cased lost the capitals"
holds g/tokenizer_config.json '"do_lower_case": false'
expect 0 '' "$program" tokenize -m a --json 'walking readers'

cp a/vocab.txt before
expect 4 'a/vocab.txt.*--overwrite' "$program" vocab --text text.txt --size 40 -o a
same before a/vocab.txt "kept"
expect 0 '' "$program" vocab -q --text text.txt --size 40 -o a --overwrite
cmp -s before a/vocab.txt && fail "--overwrite kept the old one"
# A folder of weights keeps its tokens; a tokenizer.json that is given up is not read in place of the new vocabulary.
mkdir weights weights/whole fast
touch weights/whole/model.safetensors
expect 4 'weights/whole: .*weights' "$program" vocab --text text.txt --size 40 -o weights/whole
expect 4 'weights/whole: .*weights' "$program" vocab --type bytes -o weights/whole --overwrite
touch weights/tokenizer.json
expect 4 'weights/tokenizer.json.*--overwrite' "$program" vocab --text text.txt --size 40 -o weights
printf '{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4}}}' > fast/tokenizer.json
expect 0 'renamed to tokenizer.json.replaced' "$program" vocab --text text.txt --size 40 -o fast --overwrite
expect 0 '' "$program" tokenize -m fast --json 'walking readers'
cp out fast.json
expect 0 '' "$program" tokenize -m a --json 'walking readers'
same out fast.json "a tokenizer.json that was given up"

expect 2 '--type: .*wordpiece, bytes.*marian' "$program" vocab --type marian --text text.txt -o x
expect 2 '--type: .*wordpiece, bytes.*syllables' "$program" vocab --type syllables --text text.txt -o x
expect 4 'nowhere' "$program" vocab --text nowhere -o h
[ ! -e h ] || fail "a folder was made although there is no text"
expect 3 'empty.txt: expected text, got none' "$program" vocab --text "$(: > empty.txt; echo empty.txt)" -o i
[ ! -e i ] || fail "a folder of nothing is left"
printf 'fine\n\nbro\377ken\n' > bad.txt
expect 3 'bad.txt:3' "$program" vocab --text bad.txt -o j
[ ! -e j ] || fail "a folder of broken text is left"
mkdir k
expect 3 'empty.txt: expected text, got none' "$program" vocab --text empty.txt -o k
[ -d k ] || fail "a folder that was there is gone"
# Ended by a signal, it leaves no folder; the settings of another tokenizer are not written over.
if [ "$posix" ]; then
mkfifo to
"$program" vocab -q --text to -o ended 2> err &
pid=$!
exec 3> to
head -100 text.txt >&3
kill -s TERM $pid
wait $pid 2> /dev/null
exec 3>&-
[ ! -e ended ] || fail "TERM leaves a folder: $(ls -A ended)"
fi
mkdir settings && echo '{}' > settings/tokenizer_config.json
expect 4 'settings/tokenizer_config.json.*--overwrite' "$program" vocab --text text.txt --size 40 -o settings
[ "$(cat settings/tokenizer_config.json)" = '{}' ] || fail 'the settings are lost'
expect 0 'learned' "$program" vocab --text text.txt --size 40 -o settings --overwrite
expect 4 'bad.txt: expected a directory, got a file' "$program" vocab --text text.txt -o bad.txt
expect 0 'more than the 20 asked for' "$program" vocab --text text.txt --size 20 -o l
done_testing
