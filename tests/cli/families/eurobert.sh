#!/bin/sh
# eurobert.sh — folders of EuroBERT: the older key of pooling, what is written, and what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/eurobert
copy mean model
sed 's/"classifier_pooling"/"clf_pooling"/' "$golden/mean/config.json" > model/config.json
expect 0 'read back and compared' "$program" convert model written
same "$golden/mean/model.safetensors" written/model.safetensors "the weights"
holds written/config.json '"classifier_pooling": "mean"'
grep -E 'clf_pooling|rope_parameters' written/config.json && fail "older keys are written"
masked_folder "$golden/whole"
right=$golden/mean
refused config.json 's/"classifier_pooling": "mean"/"classifier_pooling": "max"/' 'classifier_pooling: expected bos, mean or late, got max'
refused config.json 's/"classifier_pooling": "mean"/"clf_pooling": 7/' 'clf_pooling: expected bos, mean or late, got 7'
refused config.json 's/"attention_bias": false/"attention_bias": true/' 'self_attn.q_proj.bias: expected a tensor, got none'
refused config.json 's/"mlp_bias": false/"mlp_bias": true/' 'mlp.gate_proj.bias: expected a tensor, got none'
refused config.json 's/"num_key_value_heads": 2/"num_key_value_heads": 3/' 'num_key_value_heads: expected'
refused config.json 's/^{/{"layer_types": ["full_attention"],/' 'layer_types: expected num_hidden_layers, 2, entries, got 1'
done_testing
