#!/bin/sh
# gpt2.sh — folders of GPT-2: vocab.json and merges.txt, vectors, log-probabilities and generated texts as transformers
# computes them; keys under both names; matrices that are written as they were; training; what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/gpt2
copy whole model
causal_folder model
expect 0 'read back and compared' "$program" convert model written
same "$golden/whole/model.safetensors" written/model.safetensors "the weights"
causal_folder written
holds written/config.json '"scale_attn_weights": true'
expect 0 '' "$program" embed -m model --pooling last -o last.npy texts.txt

# The first folders: no prefix, masks among the tensors.
copy old_names old
expect 0 '' "$program" info -m old --tensors
grep -q 'ignored *nothing' out || fail "old names: $(grep ignored out)"
expect 0 'read back and compared' "$program" convert old renamed
grep -aq '"h.0.attn.c_attn.weight"' renamed/model.safetensors || fail "names with a prefix are written"

# The end token of the class, which a small vocabulary does not have, is not used where config.json says it.
copy whole small
sed 's/"eos_token_id": [0-9]*/"eos_token_id": 50256/' "$golden/whole/config.json" > small/config.json
expect 0 '' "$program" generate -m small -n 4 'the'
echo '{"eos_token_id": 50256}' > small/generation_config.json
expect 3 'generation_config.json: eos_token_id: expected ids below vocab_size 303, got 50256' "$program" generate -m small -n 4 'the'

# int8 has the matrices as they are multiplied; its codes are read again.
expect 0 'read back and compared' "$program" convert model int8 --dtype int8
expect 0 '' "$program" score -q -m int8 --dtype int8 'the red house'
expect 0 'read back and compared' "$program" convert int8 again
"$program" generate -q -m int8 -n 4 'the' > one.txt
"$program" generate -q -m again -n 4 'the' > two.txt
same one.txt two.txt "int8 that was read and written"

# The names that transformers maps to those of GPT-2; n_inner is four times n_embd where it is missing.
right=$golden/whole
sed 's/"n_embd"/"hidden_size"/; s/"n_head"/"num_attention_heads"/; s/"n_layer"/"num_hidden_layers"/; s/"n_positions"/"max_position_embeddings"/; /"n_inner"/d' "$golden/whole/config.json" > model/config.json
causal_folder model
refused config.json 's/"n_embd": 24/"n_embd": 24, "hidden_size": 48/' 'hidden_size: expected 24, as n_embd says, got 48'
refused config.json 's/"n_inner": null/"n_inner": 100/' 'h.0.mlp.c_fc.weight: shape: expected .24,100. by config.json, got .24,96.'
refused config.json 's/"scale_attn_weights": true/"scale_attn_weights": 1/' 'scale_attn_weights: expected true or false, got an integer'
refused config.json 's/"add_cross_attention": false/"add_cross_attention": true/' 'add_cross_attention: expected false, got true'
refused config.json 's/"activation_function": "gelu_new"/"activation_function": "laplace"/' 'activation_function: expected one of .*got "laplace"'
copy unscaled unscaled
expect 0 'read back and compared' "$program" convert unscaled unscaled_written
holds unscaled_written/config.json '"scale_attn_weights": false'
holds unscaled_written/config.json '"scale_attn_by_inverse_layer_idx": true'

copy whole model
causal_training model GPT2
done_testing
