#!/bin/sh
# gte.sh — GTE folders with the names that were published first (model_type "new"), their variant of ntk, and rejected
# ones.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/gte

# What is written has the names of transformers 5: its ntk is linear, of another base, with the same frequencies.
copy ntk ntk
sed 's/"pack_qkv"/"auto_map": {"AutoModel": "code--NewModel"}, "pack_qkv"/' "$golden/ntk/config.json" > ntk/config.json
expect 0 'read back and compared' "$program" convert ntk written
holds written/config.json '"model_type": "gte"'
holds written/config.json '"GteForMaskedLM"'
grep -E 'position_embedding_type|auto_map|pack_qkv' written/config.json && fail "keys of the older code are written"
expect 0 '' "$program" info -m written
grep -qE 'rope_theta +160000$' out || fail "$(grep rope out)"
expect 0 '' "$program" info -m written --json
sed -n '/"config"/,/"tokenizer"/p' out > written.json
[ -s written.json ] || fail "no config: $(cat out)"
expect 0 '' "$program" info -m ntk --json
sed -n '/"config"/,/"tokenizer"/p' out > ntk.json
same ntk.json written.json "the config of what was written"
copy published published
expect 0 '' "$program" info -m published
grep -qE '^  family +gte$' out || fail "$(grep family out)"
copy untyped untyped
expect 0 '' "$program" info -m untyped
grep -q token_types out && fail "a GTE without token types has $(grep token_types out)"

right=$golden/ntk
refused config.json 's/"logn_attention_scale": false/"logn_attention_scale": true/' 'logn_attention_scale: expected false, got true'
refused config.json 's/"logn_attention_clip1": false/"logn_attention_clip1": true/' 'logn_attention_clip1: expected false, got true'
refused config.json 's/"layer_norm_type": "layer_norm"/"layer_norm_type": "rms_norm"/' 'layer_norm_type: expected "layer_norm", got "rms_norm"'
refused config.json 's/"pack_qkv": true/"pack_qkv": false/' 'pack_qkv: expected true, got false'
refused config.json 's/"type": "ntk"/"type": "dynamic"/' 'rope_scaling: expected null or ntk for model_type new, got dynamic'
refused config.json 's/"factor": 8.0/"factor": 8.0, "mixed_b": 0.1/' 'mixed_b'
refused config.json 's/"rope"/"alibi"/' 'position_embedding_type: expected "rotary" for a GTE, got "alibi"'
right=$golden/linear
refused config.json 's/"rope_type": "linear"/"rope_type": "ntk"/' 'rope_parameters: expected a rope_type that transformers has, got ntk'
done_testing
