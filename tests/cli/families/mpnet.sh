#!/bin/sh
# mpnet.sh — MPNet folders with their tokenizer agree with transformers: ids, predictions for a mask, vectors, scores of
# pairs; from tokenizer.json, from vocab.txt, and without a class.  Unsupported models are rejected.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/mpnet
copy whole model
golden=$golden/whole

printf 'the river runs to the sea\na small house?\nHello <mask> world\nzebra houses\n' > texts.txt
cp "$golden/ids.jsonl" theirs.txt
ids() {
    "$program" tokenize -m "$1" --json < texts.txt | sed 's/,"tokens":.*,"offsets"/,"offsets"/' > ours.txt
    same theirs.txt ours.txt "ids of $1"
}
ids model                               # <mask> takes the blank before it, which trim_offsets takes off again

"$program" fill-mask -q -m model --json -k 5 'Hello <mask> world' > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/fill_mask.jsonl" fill_mask.jsonl
"$program" embed -q -m model --pooling mean --format jsonl texts.txt > vectors.jsonl || fail "embed"
close_numbers "$golden/vectors.jsonl" vectors.jsonl

# <s> A </s></s> B </s>, all of type 0.
cp model/tokenizer*.json model/pairs
{ printf 'text\tpair\n'; sed 's/$/\tthe river runs to the sea/' texts.txt; } > pairs.tsv
expect 0 '' "$program" predict -q -m model/pairs --input pairs.tsv
sed '1d; s/^/"score": /' out > scores.txt
close_json "$golden/pairs/scores.txt" scores.txt
rm -r model/pairs

# As older folders have it: vocab.txt, and the class in tokenizer_config.json alone or nowhere.
expect 0 'read back and compared' "$program" convert model written --extend-vocab model
[ -f written/vocab.txt ] || fail "no vocab.txt: $(ls written)"
holds written/tokenizer_config.json '"tokenizer_class": "MPNetTokenizer"'
ids written
rm -rf old && cp -r model old && rm old/tokenizer.json old/tokenizer_config.json && cp written/vocab.txt old
ids old
# tokenizer.json that says all.
cp -r model fast && sed 's/"MPNetTokenizer"/"PreTrainedTokenizerFast"/' model/tokenizer_config.json > fast/tokenizer_config.json
ids fast

# The file counts rows of the table, 2 more than positions; both come back.
expect 0 '' "$program" info -m model
grep -qE 'max_position_embeddings +160$' out || fail "$(grep max_position out)"
grep -q token_types out && fail "MPNet has no token types: $(grep token_types out)"
holds written/config.json '"max_position_embeddings": 162'
right=model
refused config.json 's/"pad_token_id": 1/"pad_token_id": 0/' 'pad_token_id: expected .*, got'
refused config.json 's/"relative_attention_num_buckets": 32/"relative_attention_num_buckets": 16/' 'relative_attention_num_buckets: expected .*, got'
done_testing
