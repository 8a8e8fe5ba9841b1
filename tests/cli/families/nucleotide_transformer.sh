#!/bin/sh
# nucleotide_transformer.sh — a folder of the Nucleotide Transformer v2 as published: no model_type, words of several
# letters, texts without an end; its ids are those of transformers.  What letters alone would change is rejected.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/nucleotide_transformer
copy whole model

sed 's/.*"text": "//; s/", "ids.*//' "$golden/whole/ids.jsonl" > dna.txt
golden_ids "$golden/whole/ids.jsonl" > theirs.txt
ids() {
    token_ids "$1" < dna.txt > ours.txt
    same theirs.txt ours.txt "ids of $1"
}
ids model
expect 0 '' "$program" info -m model
grep -qE '^  family +nucleotide_transformer$' out || fail "$(grep family out)"

# A written folder has a model_type and the same ids, and gives the same vectors.
expect 0 'read back and compared' "$program" convert model written
for key in '"model_type": "esm"' '"add_bias_fnn": false' '"auto_map"'; do holds written/config.json "$key"; done
same model/tokenizer_config.json written/tokenizer_config.json
ids written
for folder in model written; do "$program" embed -q -m $folder --pooling mean -o $folder.npy dna.txt || fail "embed $folder"; done
same model.npy written.npy "vectors of the folder that was written"

# With an end, a text has one more token.
sed 's/"eos_token":null/"eos_token":"<eos>"/' model/tokenizer_config.json > written/tokenizer_config.json
echo ATC | "$program" tokenize -m written --json | grep -q '"ids":\[3,12,4\]' || fail "eos_token"

# A letter's score would be that of another model than the one that reads words; pairs have no template.
copy sequence sequence
cp model/vocab.txt model/tokenizer_config.json model/special_tokens_map.json sequence
expect 3 "sequence: expected .* got the token 'ATC'" "$program" variants -m model --sequence ATCGATCGATCG A1T
expect 3 'template of two texts is not supported' "$program" classify -m sequence --pair ATC GAT
right=model
refused config.json 's/"add_bias_fnn": false/"add_bias_fnn": "no"/' 'add_bias_fnn: expected true or false, got a string'
refusing='embed -q -m broken -o no.npy dna.txt'
refused config.json 's/"add_bias_fnn": false/"add_bias_fnn": true/; /auto_map/,/}/d' 'intermediate.dense.weight: shape: expected \[48,40\] by config.json, got \[96,40\]'
refused config.json 's/"rotary"/"absolute"/' 'position_embedding_type: .*absolute'
done_testing
