#!/bin/sh
# roberta.sh — RoBERTa folders with vocab.json and merges.txt agree with transformers: ids and offsets with each
# setting, predictions for a mask, scores of pairs.  Unsupported folders are rejected.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/roberta/whole
for name in masked pairs; do
    copy $name $name
    cp "$golden/vocab.json" "$golden/merges.txt" "$golden/tokenizer_config.json" $name
done

# ids FOLDER: ids and offsets of the texts in the golden file whose settings are those of tokenizer_config.json.
ids() {
    settings=$(sed 's/,*"tokenizer_class".*/}/' "$1/tokenizer_config.json")
    grep -F "{\"settings\":$settings,\"text\":" "$golden/ids.jsonl" > rows.jsonl
    [ "$(wc -l < rows.jsonl)" -eq 6 ] || fail "$settings: $(wc -l < rows.jsonl) rows"
    sed 's/.*"ids"/"ids"/; s/}$//' rows.jsonl > theirs.txt
    for text in 'the river runs to the sea' ' a small  house?' 'hello <mask> world' 'Ünïcode 漢字 🙂' "it's 12345

lines" '<s>x</s>'; do
        "$program" tokenize -m "$1" --json "$text" || fail "tokenize"
    done | sed 's/^{"ids":\(.*\),"tokens":.*,"offsets":\(.*\)}$/"ids":\1,"offsets":\2/' > ours.txt
    same theirs.txt ours.txt "ids of $1 with $settings"
}
cp -r masked settings
for settings in '{' '{"add_prefix_space":true,' '{"trim_offsets":false,' \
    '{"mask_token":{"content":"<mask>","lstrip":true,"rstrip":false,"normalized":false,"single_word":false,"__type":"AddedToken"},'; do
    printf '%s"tokenizer_class":"RobertaTokenizer","model_max_length":100}\n' "$settings" > settings/tokenizer_config.json
    ids settings
done
ids masked

"$program" fill-mask -q -m masked --json -k 5 'hello <mask> world' > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/fill_mask.jsonl" fill_mask.jsonl
printf 'text\tpair\nthe river runs to the sea\tthe river runs to the sea\n a small  house?\tthe river runs to the sea\nhello <mask> world\tthe river runs to the sea\n' > pairs.tsv
expect 0 '' "$program" predict -q -m pairs --input pairs.tsv
sed '1d; s/^/"score": /' out > scores.txt
close_json "$golden/scores.txt" scores.txt

# What is written has tokenizer.json, and the same answers; without any class config.json's model_type says it.
expect 0 'read back and compared' "$program" convert masked written --extend-vocab masked
[ -f written/tokenizer.json ] || fail "no tokenizer.json: $(ls written)"
"$program" fill-mask -q -m written --json -k 5 'hello <mask> world' > again.jsonl || fail "fill-mask"
same fill_mask.jsonl again.jsonl "a folder that was written"
rm masked/tokenizer_config.json
"$program" fill-mask -q -m masked --json -k 5 'hello <mask> world' > again.jsonl || fail "fill-mask"
same fill_mask.jsonl again.jsonl "a folder without a class"
mkdir bare && cp pairs/vocab.json pairs/merges.txt bare
expect 3 'bare: expected tokenizer_class in tokenizer_config.json, got none' "$program" tokenize -m bare 'a'

# Merges: a line that is no pair, a piece that is not in the vocabulary, a pair twice.
for line in 'abc' 'a b c' ' b' 'a '; do
    { cat "$golden/merges.txt"; echo "$line"; } > pairs/merges.txt
    expect 3 "merges.txt:[0-9]*: expected two pieces with a blank between them, got \"$line" "$program" tokenize -m pairs 'a'
done
{ cat "$golden/merges.txt"; echo 'qq zz'; } > pairs/merges.txt
expect 3 'merge [0-9]*, of "qq": expected pieces of the vocabulary' "$program" tokenize -m pairs 'a'
{ cat "$golden/merges.txt"; sed -n 2p "$golden/merges.txt"; } > pairs/merges.txt
expect 0 '' "$program" tokenize -m pairs 'a'                      # the last one counts, as in tokenizers
rm pairs/merges.txt
expect 4 'merges.txt: cannot open' "$program" tokenize -m pairs 'a'
# The class takes add_prefix_space from its settings, not from tokenizer.json.
cp written/tokenizer.json pairs
echo '{"tokenizer_class":"RobertaTokenizer","add_prefix_space":true}' > pairs/tokenizer_config.json
expect 0 '' "$program" tokenize -m pairs --json 'hello'
mv out prefixed
expect 0 '' "$program" tokenize -m masked --json ' hello'
sed 's/,"offsets.*//' prefixed > prefixed_ids && sed 's/,"offsets.*//' out > blank_ids
cmp -s prefixed_ids blank_ids || fail "add_prefix_space of the settings is not followed: $(cat prefixed)"
echo '{"tokenizer_class":"RobertaTokenizer"}' > pairs/tokenizer_config.json
expect 0 '' "$program" tokenize -m pairs 'a'
# PhoBERT: vocab.txt and bpe.codes, of the class that config.json names.
cp -r "$repository/tests/golden/roberta/masked" phobert && chmod -R u+w phobert && cp "$repository"/tests/golden/phobert/[bv]* phobert
sed 's/^{/{"tokenizer_class": "PhobertTokenizer",/' "$repository/tests/golden/roberta/masked/config.json" > phobert/config.json
expect 0 '' "$program" tokenize -m phobert 'tôi yêu <mask>'
grep -q '^tôi ' out || fail "PhoBERT: $(cat out)"
printf 'tôi yêu tiếng Việt\n' > line
expect 0 '' "$program" embed -q -m phobert -f f32 -o a.f32 line
expect 0 'has 48 tokens' "$program" fill-mask -m phobert 'tôi <mask> tiếng'
expect 0 'read back and compared' "$program" convert phobert phobert2
for file in vocab.txt bpe.codes; do same phobert/$file phobert2/$file; done
holds phobert2/config.json '"tokenizer_class": "PhobertTokenizer"'
expect 0 '' "$program" embed -q -m phobert2 -f f32 -o b.f32 line
same a.f32 b.f32 "PhoBERT after convert"
expect 0 '' "$program" verify phobert2
# Relative positions of transformers 4: its learned ones, which are in the file, too, are not used.
for model in relative_key_model relative_key_query_model relative_key_causal_model relative_key_roberta_model; do
    rm -rf written small
    expect 0 'read back and compared' "$program" convert "$repository/tests/golden/relative/$model" written
    [ ! -s out ] || ! grep -q 'position_embeddings.*->' out || fail "$model: the table that is not used was written"
    "$program" info -m written --json > out || fail "$model"
    holds out '"name": "relative_key'
    holds out '"ignored": "nothing"'
    grep -o '"position_embedding_type": "[a-z_]*"' "$repository/tests/golden/relative/$model/config.json" > expected
    holds written/config.json "$(cat expected)"
    expect 0 '' "$program" convert -q --dtype int8 written small
    "$program" info -m small --json > out || fail "$model, int8"
done
done_testing
