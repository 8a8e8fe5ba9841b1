#!/bin/sh
# mistral.sh — folders of Mistral: vectors, log-probabilities and generated texts with a window that texts exceed, as
# transformers computes them; training; what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/mistral
copy whole model
causal_folder model
expect 0 'read back and compared' "$program" convert model written
same "$golden/whole/model.safetensors" written/model.safetensors "the weights"
causal_folder written
holds written/config.json '"sliding_window": 6'
"$program" embed -q -m model --pooling mean --format jsonl texts.txt > near.jsonl
sed 's/"sliding_window": 6/"sliding_window": null/' "$golden/whole/config.json" > model/config.json
"$program" embed -q -m model --pooling mean --format jsonl texts.txt > all.jsonl
cmp -s near.jsonl all.jsonl && fail "the window is ignored"
copy whole_texts null
expect 0 'read back and compared' "$program" convert null null_written
holds null_written/config.json '"sliding_window": null'

right=$golden/whole
refused config.json 's/"sliding_window": 6/"sliding_window": 1/' 'sliding_window: expected .2, .*got 1'
refused config.json 's/^{/{"layer_types": ["sliding_attention", "full_attention"],/' 'layer_types.1.: expected sliding_attention, got full_attention'
refused config.json 's/"num_key_value_heads": 2/"num_key_value_heads": 3/' 'num_key_value_heads: expected .* num_attention_heads, 4, got 3'

copy whole model
causal_training model Mistral
done_testing
