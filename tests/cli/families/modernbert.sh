#!/bin/sh
# modernbert.sh — ModernBERT folders with their tokenizer agree with transformers: predictions for masks, vectors.  The keys
# of both versions of transformers are read; other models are rejected.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/modernbert
copy whole model
cp "$repository/tests/golden/byte_level/modernbert.tokenizer.json" model/tokenizer.json

printf 'int i = [MASK];\n    return x' > two_lines.txt
{ "$program" fill-mask -q -m model --json -k 5 'Call me  [MASK]. Some years ago' && "$program" fill-mask -q -m model --json -k 5 "$(cat two_lines.txt)"; } > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/whole/fill_mask.jsonl" fill_mask.jsonl
printf "Call me Ishmael.\nnever mind how long precisely, it's 1851\n" > texts.txt
"$program" embed -q -m model --pooling mean --format jsonl texts.txt > means.jsonl || fail "embed"
close_numbers "$golden/whole/means.jsonl" means.jsonl

# Written with the keys that both versions read; layers that are fewer or more than in the file have kinds all the same.
expect 0 'read back and compared' "$program" convert model written
holds written/config.json '"global_attn_every_n_layers": 3'
holds written/config.json '"local_rope_theta": 1e4'
holds written/config.json '"classifier_pooling": "cls"'
grep -E 'layer_types|rope_parameters' written/config.json && fail "both kinds of keys are written"
"$program" embed -q -m written --pooling mean --format jsonl texts.txt > again.jsonl || fail "embed"
same means.jsonl again.jsonl "vectors of what was written"

# Of an odd window the half is rounded down, as in transformers.
cp -r model odd
for window in 8 9 6; do
    sed "s/\"local_attention\": [0-9]*/\"local_attention\": $window/" model/config.json > odd/config.json
    "$program" embed -q -m odd --pooling mean --format jsonl texts.txt > window_$window.jsonl || fail "embed with a window of $window"
done
same window_8.jsonl window_9.jsonl "vectors of windows of 8 and 9"
cmp -s window_8.jsonl window_6.jsonl && fail "windows of 8 and 6 are one"

# Of older and newer keys the newer ones count, as in transformers.
cp -r model both
sed 's/"local_attention"/"global_attn_every_n_layers": 2, "global_rope_theta": 5000, "local_rope_theta": 500, "local_attention"/' model/config.json > both/config.json
"$program" embed -q -m both --pooling mean --format jsonl texts.txt > both.jsonl || fail "embed with both kinds of keys"
same means.jsonl both.jsonl "vectors of a file with both kinds of keys"

right=$golden/masked
refused config.json 's/"norm_bias": false/"norm_bias": true/' 'norm_bias: expected false, got true'
refused config.json 's/"mlp_dropout": 0.0/"mlp_dropout": 0.1/' 'mlp_dropout: expected 0, got 0.1'
refused config.json 's/"local_attention": 8/"local_attention": -8/' 'local_attention: expected .*, got -8'
refused config.json 's/"local_attention": 8/"local_attention": 1/' 'local_attention: expected .*, got 1'
refused config.json 's/"local_attention": 8/"local_attention": 8.5/' 'local_attention: expected an integer'
refused config.json 's/"local_attention": 8/"local_attention": 0/' 'local_attention: expected .*, got 0'
refused config.json 's/"local_attention"/"sliding_window": 777, "local_attention"/' 'sliding_window: expected half of local_attention'
refused config.json '/"sliding_attention",/d' 'layer_types: expected num_hidden_layers, 4, entries, got 2'
refused config.json '0,/"sliding_attention"/s//"chunked_attention"/' 'layer_types.1.: expected full_attention or sliding_attention, got chunked_attention'
refused config.json '0,/"full_attention"/s//"sliding_attention"/' 'layer_types.0.: expected full_attention'
refused config.json '0,/"rope_type": "default"/s//"rope_type": "linear"/' 'rope_scaling: factor: expected a finite number of at least 1, got missing or 0'
refused config.json 's/"classifier_pooling": "cls"/"classifier_pooling": "max"/' 'classifier_pooling: expected cls or mean, got max'
refused config.json 's/"classifier_activation": "gelu"/"classifier_activation": "silu"/' 'classifier_activation: expected "gelu", got "silu"'
refused config.json 's/"norm_bias"/"is_decoder": true, "norm_bias"/' 'is_decoder: expected false, got true; ModernBERT has no causal model'
done_testing
