#!/bin/sh
# deberta.sh — a DeBERTa folder as its authors publish it, with spm.model and the head's older name, agrees with
# transformers: ids, answers to a mask, vectors, scores of pairs; before and after convert.  Unsupported configs are
# rejected by name.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/deberta_v2

# answers FOLDER   ids, vectors, answers to a mask
answers() {
    masked_folder "$golden/whole" "$1" 'the small [MASK] runs'
}
copy whole model
answers model
expect 0 '' "$program" info -m model --tensors
grep -q 'ignored *nothing' out || fail "$(grep ignored out)"
expect 0 'read back and compared' "$program" convert model written --extend-vocab model
answers written
holds written/config.json '"legacy": true'
holds written/config.json '"share_att_key": true'

# [CLS] A [SEP] B [SEP]
cp model/spm.model model/tokenizer_config.json model/pairs
{ printf 'text\tpair\n'; sed 's/$/\tthe river runs to the sea/' texts.txt; } > pairs.tsv
expect 0 '' "$program" predict -q -m model/pairs --input pairs.tsv
sed '1d; s/^/"score": /' out > scores.txt
close_json "$golden/whole/pairs/scores.txt" scores.txt
rm -r model/pairs

right=model
refused config.json 's/"norm_rel_ebd": "layer_norm"/"conv_kernel_size": 4/' 'conv_kernel_size: expected an odd number, or 0, got 4'
refused config.json 's/"norm_rel_ebd": "layer_norm"/"conv_groups": 2/' 'conv_groups: expected 1, got 2'
refused config.json 's/"relative_attention": true/"relative_attention": 1/' 'relative_attention: expected true or false, got'
refused config.json 's/"position_buckets": 16/"position_buckets": 2/' 'position_buckets: expected at least 4.* got 2'
refused config.json 's/"pooler_hidden_size": 24/"pooler_hidden_size": 12/' 'pooler_hidden_size: expected hidden_size, 24, got 12'
refused config.json 's/"pos_att_type": "[^"]*"/"pos_att_type": 3/' 'pos_att_type: expected .*, got an integer'
golden=$repository/tests/golden/deberta
copy c2p first
right=first
refused config.json 's/"c2p"/"p2p"/' 'pos_att_type: expected c2p and p2c'
refused config.json 's/"legacy": false/"talking_head": true/' 'talking_head: expected false, got true'
done_testing
