#!/bin/sh
# gpt_neox.sh — folders of GPT-NeoX and Pythia: vectors, log-probabilities and generated texts as transformers computes
# them; keys of rotation under their names of then and now; training; what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/gpt_neox
copy whole model
causal_folder model
expect 0 'read back and compared' "$program" convert model written
same "$golden/whole/model.safetensors" written/model.safetensors "the weights"
causal_folder written
holds written/config.json '"rotary_pct": 0.25'
grep -q rope_parameters written/config.json && fail "both names are written"
expect 0 '' "$program" embed -m model --pooling last -o last.npy texts.txt

# What the class decides: a blank before a text; in transformers 4, tokens around it.
words() {       # words VERSION KEYS IDS
    sed "s/\"transformers_version\": \"[^\"]*\"/\"transformers_version\": \"$1\"/" "$golden/whole/config.json" > model/config.json
    printf '{"tokenizer_class": "GPTNeoXTokenizer", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"%s}' "$2" > model/tokenizer_config.json
    [ "$(echo sea | token_ids model)" = "$3" ] || fail "words of $1 with $2: $(echo sea | token_ids model)"
}
for version in 4.57.1 5.24.0; do
    words $version '' '[83,69,65]'
    words $version ', "add_prefix_space": true' '[221,83,69,65]'
done
words 4.57.1 ', "add_bos_token": true, "add_eos_token": true' '[0,83,69,65,0]'
words 5.24.0 ', "add_bos_token": true, "add_eos_token": true' '[83,69,65]'
copy whole model

# The first folders: masks and frequencies among the tensors; the output matrix under its name in memory.
copy old_names old
expect 0 '' "$program" info -m old --tensors
grep -q 'ignored *nothing' out || fail "old names: $(grep ignored out)"

# rotary_pct and rotary_emb_base count; the usual names next to them must say the same.
keys='"rotary_pct": 0.25, "rotary_emb_base": 10000'
sed '/"rope_parameters"/,/}/d' "$golden/whole/config.json" | sed "s/^{/{$keys, \"partial_rotary_factor\": 0.25, \"rope_theta\": 10000,/" > model/config.json
causal_folder model
cp model/config.json model/right.json
wrong() {
    sed "$1" model/right.json > model/config.json
    expect 3 "$2" "$program" score -m model 'a'
}
wrong 's/"rope_theta": 10000/"rope_theta": 500/' 'rope_theta: expected 10000, as rotary_emb_base says, got 500'
wrong 's/"partial_rotary_factor": 0.25/"partial_rotary_factor": 1/' 'partial_rotary_factor: expected 0.25, as rotary_pct says, got 1'
wrong 's/"rotary_pct": 0.25, //; s/"partial_rotary_factor": 0.25/"partial_rotary_factor": 0.2/' 'partial_rotary_factor: expected 0.25'
wrong 's/: 0.25/: 0.2/g' 'partial_rotary_factor: expected an even number of rotated columns'
wrong 's/"attention_bias": true/"attention_bias": 1/' 'attention_bias: expected true or false'

copy whole model
causal_training model GPTNeoX
done_testing
