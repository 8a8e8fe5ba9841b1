#!/bin/sh
# esm.sh — ESM-2 folders with their tokenizer answer as transformers does: ids, tokens for a mask, vectors.  What would be
# another model is refused.
. "$(dirname "$0")/lib"
golden=$here/../golden/esm/whole
cp -r "$golden" model
chmod -R u+w model
rm model/*.jsonl

sed 's/.*"ids": //; s/}$//; s/ //g' "$golden/ids.jsonl" > theirs.txt
ids() {
    printf '%s\n' MKTV MKJJLV mkTV 'M K T' 'MK<mask>LV' 'MK <mask> LV' 'A-B.C*' "MKT$(printf '\t')VV  L" MKéV '<cls>MK' 'J J' '<null_1>O<' x '*' 'éé é' |
        "$program" tokenize -m "$1" --json | sed 's/.*"ids":\(\[[0-9,]*\]\).*/\1/' > ours.txt
    same theirs.txt ours.txt "ids of $1"
}
ids model
expect 0 '' "$program" tokenize -m model --json 'MKéJ LV'
holds out '"offsets":[[0,0],[0,1],[1,2],[2,4],[5,6],[6,7],[0,0]]'

# The script's "sequence" separates residues by blanks; so does ours.
printf '%s\n' 'MK<mask>LV' '<mask>KTVA' 'MKTVLSER<mask>' | "$program" fill-mask -q -m model --json -k 5 > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/fill_mask.jsonl" fill_mask.jsonl
flat() { sed 's/.*\[//; s/[]}]//g; s/ //g' "$1" | tr ',' '\n' | sed 's/^/"score": /'; }
printf 'MKTV\nLSERTIDPKQNF\n' > proteins.txt
"$program" embed -q -m model --pooling mean --format jsonl proteins.txt > means.jsonl || fail "embed"
flat means.jsonl > ours.txt
flat "$golden/means.jsonl" > theirs_means.txt
close_json theirs_means.txt ours.txt
# The share of masked tokens is that of each text, whatever else is in the batch.
for text in MKTV 'LSERT<mask>DPKQNF'; do "$program" embed -q -m model --pooling mean --format jsonl - << EOT || fail "embed"
$text
EOT
done > alone.jsonl
printf 'MKTV\nLSERT<mask>DPKQNF\n' | "$program" embed -q -m model --pooling mean --format jsonl - > together.jsonl || fail "embed"
same alone.jsonl together.jsonl "texts alone and together"

expect 0 'the same' "$program" convert model written
[ -f written/vocab.txt ] || fail "no vocab.txt: $(ls written)"
holds written/tokenizer_config.json '"tokenizer_class": "EsmTokenizer"'
holds written/config.json '"position_embedding_type": "rotary"'
holds written/config.json '"token_dropout": true'
ids written
rm written/tokenizer_config.json
ids written                             # the class by config.json's model_type

refused() {
    sed "$1" model/config.json > written/config.json
    expect 3 "$2" "$program" info -m written
}
refused '/position_embedding_type/d' 'position_embedding_type: expected "rotary" .ESM-2., got none'
refused 's/"rotary"/"absolute"/' 'position_embedding_type: expected "rotary" for a ESM-2, got "absolute"'
refused 's/"emb_layer_norm_before": false/"emb_layer_norm_before": true/' 'emb_layer_norm_before: expected false, got true'
refused 's/"is_folding_model": false/"is_folding_model": true/' 'is_folding_model: expected false, got true'
refused 's/"mask_token_id": 32/"mask_token_id": null/' 'mask_token_id: expected the id of <mask> where token_dropout is true, got none'
refused 's/"vocab_size"/"rope_interleave": true, "vocab_size"/' 'rope_interleave'
cp -r model other
sed 's/"rope_theta": 10000.0/"rope_theta": 20000.0/' model/config.json > other/config.json
expect 3 'inv_freq.[0-9]*.: expected .* by rope_theta 20000, got' "$program" embed -m other proteins.txt
done_testing
