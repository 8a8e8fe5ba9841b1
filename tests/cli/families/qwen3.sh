#!/bin/sh
# qwen3.sh — a folder of sentence-transformers as Qwen3-Embedding: vectors of the last token, with each prompt, and
# log-probabilities, as sentence-transformers and transformers compute them; what is written; what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/qwen3
copy whole model
prompted_texts > texts.txt

prompted_vectors model
input=texts.txt
expect 0 '' "$program" score -q -m model --json
unset input
[ "$(grep -c '"uncounted": 1' out)" = "$(wc -l < "$golden/whole/scores.jsonl")" ] || fail "first tokens are counted: $(head -1 out)"
sed 's/.*"logprobs": \(\[[^]]*\]\).*/\1/' out > ours.jsonl
sed 's/.*"logprobs"://; s/}$//' "$golden/whole/scores.jsonl" > theirs.jsonl
close_numbers theirs.jsonl ours.jsonl

expect 0 'read back and compared' "$program" convert model written
prompted_vectors written
holds written/1_Pooling/config.json lasttoken
# The tokenizer, which has no [UNK] and no [MASK], stays as it is, in another folder and in place.
same_tokenizer() {
    for file in tokenizer.json tokenizer_config.json special_tokens_map.json; do
        if [ -e "$golden/whole/$file" ]; then cmp "$golden/whole/$file" "$1/$file" || fail "$1: another $file"
        elif [ -e "$1/$file" ]; then fail "$1: got a $file"; fi
    done
}
same_tokenizer written
cp -r model place && rm -f place/checksums.json
expect 0 'read back and compared' "$program" convert --overwrite place place
same_tokenizer place
expect 0 '' "$program" info -m written
holds out 'key_value_heads'
holds written/config.json '"rope_theta": 1e4'
expect 3 'pooling: expected mean, max or last, got cls: in a causal model' "$program" embed -m model --pooling cls texts.txt
expect 2 'pooling: expected mean or max where special tokens are skipped, got last' "$program" embed -m model --skip-special-tokens texts.txt
expect 0 '' "$program" embed -m model --dtype int8 --pooling mean -o int8.npy texts.txt

right=$golden/causal
refused config.json 's/"num_key_value_heads": 2/"num_key_value_heads": 3/' 'num_key_value_heads: expected .* num_attention_heads, 4, got 3'
refused config.json 's/"num_key_value_heads": 2/"num_key_value_heads": 0/' 'num_key_value_heads: expected .*, got 0'
refused config.json 's/"num_key_value_heads": 2/"num_key_value_heads": 1/' 'self_attn.k_proj.weight: shape: expected .16,24. by config.json, got .32,24.'
refused config.json 's/"head_dim": 16/"head_dim": 15/' 'head_dim: expected an even number for rotation, got 15'
refused config.json '0,/"full_attention",/s///' 'layer_types: expected num_hidden_layers, 2, entries, got 1'
refused config.json '0,/"full_attention"/s//"sliding_attention"/' 'layer_types.0.: expected full_attention, got sliding_attention'
refused config.json 's/"use_sliding_window": false/"use_sliding_window": 1/' 'use_sliding_window: expected true or false, got an integer'
right=$golden/near
refused config.json 's/"max_window_layers": 0/"max_window_layers": 1/; /"layer_types": \[/,/\]/d' 'max_window_layers: expected 0, or num_hidden_layers, 2, or more, got 1'
refused config.json '0,/"sliding_attention"/s//"full_attention"/' 'layer_types.1.: expected full_attention, got sliding_attention'
refused config.json 's/"sliding_window": 7/"sliding_window": 1/' 'sliding_window: expected .2, .*got 1'
right=$golden/causal
# Without a list of layers, those from max_window_layers on see few tokens; a window of null is none.
expect 0 'read back and compared' "$program" convert "$golden/near" near
holds near/config.json '"max_window_layers": 0'
holds near/config.json '"sliding_window": 7'
for change in 's/"max_window_layers": 0/"max_window_layers": 2/' 's/"sliding_window": 7/"sliding_window": null/'; do
    rm -rf whole_texts && cp -r near whole_texts && chmod -R u+w whole_texts && rm -f whole_texts/checksums.json
    sed "$change" near/config.json > whole_texts/config.json
    expect 0 'read back and compared' "$program" convert --overwrite whole_texts whole_texts
    holds whole_texts/config.json '"sliding_window": null'
done
refused config.json 's/"attention_bias": false/"attention_bias": true/' 'self_attn.q_proj.bias: expected a tensor, got none'
refused config.json 's/"vocab_size": 61/"vocab_size": 61, "is_decoder": false/' 'is_decoder: expected true, got false'
refused config.json 's/"vocab_size": 61/"vocab_size": 61, "attention_type": "linear"/' 'attention_type: expected "softmax" with num_key_value_heads or head_dim'
refused config.json 's/"vocab_size": 61/"vocab_size": 61, "position_embedding_type": "alibi"/' 'position_embedding_type: expected "rotary" for a Qwen3'

# Training: causal, resumed with the same bits; labels of texts and of tokens; vectors of texts.
sentences 200 > text.txt
cp -r model trained && rm -f trained/checksums.json
expect 0 'step 6/6' "$program" pretrain --text text.txt --model trained --objective clm --max_length 24 --tokens_per_batch 128 --max_steps 6 -o more
expect 0 '' "$program" generate -m more -n 4 'the'
printf 'text\tlabel\n' > train.tsv
for n in 1 2 3 4; do printf 'the red house %s\tgood\nan old river %s\tbad\n' $n $n; done >> train.tsv
expect 0 'step 4/4' "$program" finetune --task cls --train train.tsv --dev train.tsv -m model -o labels --max_steps 4 --max_length 24
expect 0 '' "$program" classify -m labels 'the red house'
holds labels/config.json Qwen3ForSequenceClassification
printf '{"text": "the red", "choices": ["house", "river sea"], "label": 0}\n' > choices.jsonl
expect 3 'a Qwen3' "$program" finetune --task mc --train choices.jsonl -m model -o choices --max_steps 4
done_testing
