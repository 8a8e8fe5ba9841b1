#!/bin/sh
# embedding_gemma.sh — a folder of sentence-transformers as EmbeddingGemma: means, Dense modules, prompts, as
# sentence-transformers computes them; what is written; what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/embedding_gemma
copy whole model
cp "$repository/tests/golden/fast/gemma.tokenizer.json" model/tokenizer.json
prompted_texts > texts.txt
[ "$(wc -l < texts.txt)" -eq 3 ] || fail "expected 3 texts"

prompted_vectors model
expect 0 'read back and compared' "$program" convert model written
prompted_vectors written
cmp model/3_Dense/model.safetensors written/3_Dense/model.safetensors || fail "a Dense module changed"
holds written/config.json '"sliding_window": 8'
holds written/config.json '"sliding_window_pattern": 2'
holds written/config.json '"use_bidirectional_attention": true'
grep -E 'layer_types|rope_parameters|is_decoder' written/config.json && fail "keys that contradict"

# The width of vectors is that of the last module.
expect 0 '' "$program" index -q -m model -o index texts.txt
input=texts.txt
expect 0 '' "$program" search -q index -m model -k 1
unset input
expect 0 '' "$program" embed -q -m model --dimensions 20 -o all.npy texts.txt
expect 2 'dimensions: expected at most 20, .* got 21' "$program" embed -m model --dimensions 21 texts.txt
expect 0 '' "$program" embed -q -m model --dtype bf16 -o bf16.npy texts.txt
expect 0 '' "$program" embed -q -m model --dtype int8 -o int8.npy texts.txt
# Dense modules change the vectors of texts, not those of tokens.
expect 0 '' "$program" embed -q -m model --tokens -o tokens.jsonl texts.txt
python3 - << 'end' || fail "expected token vectors of 24 numbers"
import json
assert all(len(v) == 24 for line in open("tokens.jsonl") for v in json.loads(line))
end

# There is no language-model head; Dense modules are not trained.
expect 3 'head' "$program" fill-mask -m model 'Call me'
expect 3 'expected a family with a language-model head, got EmbeddingGemma' "$program" pretrain --text texts.txt --model model -o more --max_steps 2
printf 'text\tpair\tscore\nthe red house\tthe house\t1\nan old river\ta sea\t0\n' > pairs.tsv
expect 3 'expected no module between Pooling and Normalize, got Dense; training' "$program" finetune --task embed --train pairs.tsv -m model -o tuned --max_steps 2

right=model refusing='embed -m broken -o broken.npy texts.txt'
refused 2_Dense/config.json 's/"in_features": 24/"in_features": 25/' '2_Dense/config.json: in_features: expected 24, .* model.s vectors, got 25'
refused 3_Dense/config.json 's/"in_features": 40/"in_features": 41/' '3_Dense/config.json: in_features: expected 40, .* got 41'
refused 3_Dense/config.json 's/"out_features": 20/"out_features": 21/' '3_Dense: linear.weight: expected .* 21 rows of 40 columns as config.json says, got another shape'
refused 2_Dense/config.json 's/"bias": false/"bias": true/' '2_Dense: linear.bias: expected .* 40 rows of 1 columns as config.json says, got none'
refused 2_Dense/config.json 's/linear.Identity/activation.PReLU/' 'activation_function: expected Identity, .*, got torch.nn.modules.activation.PReLU'
refused 2_Dense/config.json 's/"bias": false/"bias": false, "use_residual": true/' '2_Dense: residual.weight: expected .* 40 rows of 24 columns'
refused modules.json 's/dense.Dense/layer_norm.LayerNorm/' '2_Dense/config.json: unknown key in_features; did you mean dimension'
refused modules.json 's/dense.Dense/lstm.LSTM/' 'modules.json: expected Dense, LayerNorm, Normalize or Dropout after Pooling, got LSTM'
refused config.json 's/"sliding_window": 8/"sliding_window": 0/' 'sliding_window: expected .*, got 0'
refused config.json 's/"sliding_window": 8/"sliding_window": 1/' 'sliding_window: expected .*, got 1'
refused config.json '0,/"sliding_attention",/s///' 'layer_types: expected num_hidden_layers, 4, entries, got 3'
refused config.json '0,/"sliding_attention"/s//"full_attention"/' 'layer_types.2.: expected full_attention, as the last of every 1 layers sees all tokens, got sliding_attention'
refused config.json 's/"sliding_window_pattern": 2/"sliding_window_pattern": 3/' 'layer_types: expected full_attention as sliding_window_pattern, 3, says'
refused config.json 's/"attn_logit_softcapping": null/"attn_logit_softcapping": 50/' 'attn_logit_softcapping: expected null, got 50'
refused config.json 's/"num_key_value_heads": 2/"num_key_value_heads": 3/' 'num_key_value_heads: expected .* num_attention_heads, 4, got 3'
done_testing
