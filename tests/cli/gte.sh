#!/bin/sh
# gte.sh — GTE folders with the names that were published first (model_type "new"), their variant of ntk, and rejected
# ones.
. "$(dirname "$0")/lib"
golden=$here/../golden/gte
copy() { rm -rf "$2"; cp -r "$golden/$1" "$2"; chmod -R u+w "$2"; }

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

refused() {
    sed "$1" "$golden/$2/config.json" > ntk/config.json
    expect 3 "$3" "$program" info -m ntk
}
refused 's/"logn_attention_scale": false/"logn_attention_scale": true/' ntk 'logn_attention_scale: expected false, got true'
refused 's/"logn_attention_clip1": false/"logn_attention_clip1": true/' ntk 'logn_attention_clip1: expected false, got true'
refused 's/"layer_norm_type": "layer_norm"/"layer_norm_type": "rms_norm"/' ntk 'layer_norm_type: expected "layer_norm", got "rms_norm"'
refused 's/"pack_qkv": true/"pack_qkv": false/' ntk 'pack_qkv: expected true, got false'
refused 's/"type": "ntk"/"type": "dynamic"/' ntk 'rope_scaling: expected null or ntk for model_type new, got dynamic'
refused 's/"factor": 8.0/"factor": 8.0, "mixed_b": 0.1/' ntk 'mixed_b'
refused 's/"rope_type": "linear"/"rope_type": "ntk"/' linear 'rope_parameters: expected a rope_type that transformers has, got ntk'
refused 's/"rope"/"alibi"/' ntk 'position_embedding_type: expected "rotary" for a GTE, got "alibi"'
done_testing
