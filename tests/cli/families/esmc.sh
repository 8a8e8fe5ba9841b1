#!/bin/sh
# esmc.sh — an ESMC folder with its tokenizer agrees with transformers: ids, vectors of proteins and of their residues,
# answers to masks, scores of mutations.  What the class does not compute is rejected.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/esmc
copy whole model
golden=$golden/whole

sed 's/.*"text": "//; s/", "ids.*//' "$golden/vectors.jsonl" > proteins.txt
golden_ids "$golden/vectors.jsonl" > theirs.txt
expect 0 'read back and compared' "$program" convert model written
for folder in model written; do
    token_ids $folder < proteins.txt > ours.txt
    same theirs.txt ours.txt "ids of $folder"
    "$program" embed -q -m $folder --pooling mean --skip-special-tokens --format jsonl proteins.txt > residues.jsonl || fail "embed"
    close_numbers "$golden/vectors.jsonl" residues.jsonl
    "$program" embed -q -m $folder --pooling mean --format jsonl proteins.txt > means.jsonl || fail "embed"
    sed 's/, "residues".*/}/' "$golden/vectors.jsonl" > golden_means.jsonl
    close_numbers golden_means.jsonl means.jsonl
    printf 'MK<mask>LV\n<mask>KTVA\n' | "$program" fill-mask -q -m $folder --json -k 5 | sed 's/, "sequence": "[^"]*"//g' > fill_mask.jsonl
    close_json "$golden/fill_mask.jsonl" fill_mask.jsonl
done

"$program" variants -q -m model --sequence LSERTIDPKQNF L1A S2V:F12K F12L > variants.tsv || fail "variants"
sed 's/\t/ "score": /' "$golden/variants.tsv" > theirs.txt
sed 's/\t/ "score": /' variants.tsv > ours.txt
close_json theirs.txt ours.txt
expect 3 "residue 1: expected 'L', as the sequence has, got 'A'" "$program" variants -m model --sequence LSERTIDPKQNF A1L
for dtype in bf16 int8; do expect 0 '' "$program" embed -q -m model --dtype $dtype --pooling mean -o $dtype.npy proteins.txt; done

# The class has two matrices of words, whatever tie_word_embeddings says.
cp -r model tied; sed -i 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' tied/config.json
grep -q '"tie_word_embeddings": true' tied/config.json || fail "tie_word_embeddings"
printf 'MK<mask>LV\n' > masks
for folder in model tied; do "$program" fill-mask -q -m $folder --json -k 5 < masks > $folder.masks || fail "$folder"; done
same model.masks tied.masks "tie_word_embeddings"

right=model refusing='embed -q -m broken --pooling mean -o no.npy proteins.txt'
refused config.json 's/"attention_bias": false/"attention_bias": true/' 'attention_bias: expected false, got true'
refused config.json 's/"hidden_act": "silu"/"hidden_act": "gelu"/' 'hidden_act: expected none or silu, the function of the gate, got gelu'
refused config.json 's/"num_key_value_heads": 2/"num_key_value_heads": 1/' 'num_key_value_heads: expected num_attention_heads, 2'
refused config.json 's/"head_dim": 12/"head_dim": 8/' 'head_dim'
refused config.json 's/"num_hidden_layers": 3/"num_hidden_layers": 4/' 'layers.3.*expected a tensor, got none'
done_testing
