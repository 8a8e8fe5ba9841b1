#!/bin/sh
# tokenizer_class.sh — folders whose tokenizer_config.json names no class: config.json's class applies, or that of the
# model type, as in transformers.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/text/jieba
python3 -c 'import json, sys; print("\n".join(t for t in (json.loads(l)["text"] for l in open(sys.argv[1], encoding="utf-8")) if t and "\n" not in t and "\r" not in t))' "$golden/cases.jsonl" > texts
[ "$(wc -l < texts)" -gt 20 ] || fail "texts: $(wc -l < texts)"

# model NAME CONFIG   a folder of words with the dictionary and that config.json, without settings of a tokenizer
model() {
    mkdir "$1" && cp "$golden/vocab.txt" "$1" && printf '%s\n' "$2" > "$1/config.json"
    "$program" dictionary -q "$golden/dict.txt" -o "$1/dictionary.words" || fail "dictionary"
}
ids() { "$program" tokenize -m "$1" --json < texts > "$2" 2> err || fail "tokenize $1: $(cat err)"; }

model named '{"model_type": "roformer"}'
printf '{"tokenizer_class": "RoFormerTokenizer"}' > named/tokenizer_config.json
model bare '{"model_type": "roformer"}'
model by_config '{"model_type": "bert", "tokenizer_class": "RoFormerTokenizer"}'
model bert '{"model_type": "bert"}'
model pieces '{"model_type": "roformer", "tokenizer_class": "BertTokenizer"}'
model settings '{"model_type": "roformer", "tokenizer_class": "RoFormerTokenizer"}'
printf '{"tokenizer_class": "BertTokenizer"}' > settings/tokenizer_config.json
for m in named bare by_config bert pieces settings; do ids $m $m.ids; done
same named.ids bare.ids "a RoFormer of words, by its model_type"
same named.ids by_config.ids "tokenizer_class of config.json"
cmp -s named.ids bert.ids && fail "words and pieces are the same"
same bert.ids pieces.ids "BertTokenizer of config.json"
same bert.ids settings.ids "tokenizer_config.json comes first"

# Without a dictionary it is refused, not cut another way; a vocabulary of characters needs none.
rm bare/dictionary.words
if "$program" tokenize -m bare --json "非常" > out 2> err; then holds out '"非常"'          # one is installed
else grep -q 'dictionary' err || fail "without a dictionary: $(cat err)"; fi
model characters '{"model_type": "roformer"}'
rm characters/dictionary.words
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n今\n天\n##今天\nthe\n' > characters/vocab.txt
expect 0 '' "$program" tokenize -m characters --json "今天 the"
holds out '"tokens":["[CLS]","今","天","the","[SEP]"]'

# What cannot be had is refused by the file that names it.
model other '{"model_type": "roformer", "tokenizer_class": "T5Tokenizer"}'
expect 3 'tokenizer_class: T5Tokenizer: expected tokenizer.json' "$program" tokenize -m other x
printf '{"tokenizer_class": 5}' > other/config.json
expect 3 'tokenizer_class: expected a string, got 5' "$program" tokenize -m other x

# What writes a tokenizer writes down the class.
"$make_model" small && for m in bare by_config; do
    rm -rf one && cp -r small one && rm one/tokenizer_config.json one/special_tokens_map.json
    cp "$golden/vocab.txt" one && "$program" dictionary -q "$golden/dict.txt" -o one/dictionary.words
    python3 -c 'import json, sys
c = json.load(open("small/config.json")); c.update(json.load(open(sys.argv[1] + "/config.json")), model_type="roformer", vocab_size=c["vocab_size"])
json.dump(c, open("one/config.json", "w"))' $m
    rm -rf two
    "$program" convert -q one two --extend-vocab one > log 2>&1 || fail "convert: $(cat log)"
    holds two/tokenizer_config.json '"tokenizer_class": "RoFormerTokenizer"'
    ids two two.ids
    same named.ids two.ids "of what was written"
done
done_testing
