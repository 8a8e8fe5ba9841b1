#!/bin/sh
# qwen3.sh — a folder of sentence-transformers as Qwen3-Embedding: vectors of the last token, with each prompt, and
# log-probabilities, as sentence-transformers and transformers compute them; what is written; what is refused.
. "$(dirname "$0")/lib"
golden=$here/../golden/qwen3
cp -r "$golden/whole" model
chmod -R u+w model
grep '"prompt": null' "$golden/whole/vectors.jsonl" | sed 's/.*"text": "\([^"]*\)".*/\1/' > texts.txt

# numbers FILE: those of its lists, one a line
numbers() { sed 's/.*\[//; s/[]}]//g; s/ //g' "$1" | tr ',' '\n' | sed 's/^/"score": /'; }

# vectors_of MODEL: beside those of sentence-transformers, with each prompt
vectors_of() {
    for prompt in null query document; do
        [ $prompt = null ] || named="--prompt-name $prompt"
        # shellcheck disable=SC2086
        "$program" embed -q -m "$1" ${named:-} --format jsonl texts.txt > ours.jsonl || fail "embed"
        grep "\"prompt\": \"*$prompt" "$golden/whole/vectors.jsonl" > theirs.jsonl
        numbers ours.jsonl > ours.txt
        numbers theirs.jsonl > theirs.txt
        [ -s theirs.txt ] || fail "no vectors of $prompt"
        close_json theirs.txt ours.txt
    done
    unset named
}
vectors_of model
input=texts.txt
expect 0 '' "$program" score -q -m model --json
unset input
sed 's/.*"logprobs"://; s/}$//' out > ours.jsonl
sed 's/.*"logprobs"://; s/}$//' "$golden/whole/scores.jsonl" > theirs.jsonl
numbers ours.jsonl > ours.txt
numbers theirs.jsonl > theirs.txt
close_json theirs.txt ours.txt

expect 0 'read back and compared' "$program" convert model written
vectors_of written
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

refused() {
    rm -rf broken
    cp -r "$golden/causal" broken
    sed "$1" "$golden/causal/config.json" > broken/config.json
    expect 3 "$2" "$program" info -m broken
}
refused 's/"num_key_value_heads": 2/"num_key_value_heads": 3/' 'num_key_value_heads: expected a divisor of num_attention_heads, 4, got 3'
refused 's/"num_key_value_heads": 2/"num_key_value_heads": 0/' 'num_key_value_heads: expected .*, got 0'
refused 's/"num_key_value_heads": 2/"num_key_value_heads": 1/' 'self_attn.k_proj.weight: shape: expected .16,24. by config.json, got .32,24.'
refused 's/"head_dim": 16/"head_dim": 15/' 'head_dim: expected an even number for rotation, got 15'
refused '0,/"full_attention",/s///' 'layer_types: expected num_hidden_layers, 2, entries, got 1'
refused '0,/"full_attention"/s//"sliding_attention"/' 'layer_types.0.: expected full_attention, got sliding_attention'
refused 's/"use_sliding_window": false/"use_sliding_window": true/' 'use_sliding_window: expected false, got true'
refused 's/"attention_bias": false/"attention_bias": true/' 'attention_bias: expected false, got true'
refused 's/"vocab_size": 61/"vocab_size": 61, "is_decoder": false/' 'is_decoder: expected true, got false'
refused 's/"vocab_size": 61/"vocab_size": 61, "attention_type": "linear"/' 'attention_type: expected "softmax" with num_key_value_heads or head_dim'
refused 's/"vocab_size": 61/"vocab_size": 61, "position_embedding_type": "alibi"/' 'position_embedding_type: expected "rotary" for a Qwen3'

# Training: causal, resumed with the same bits; labels of texts and of tokens; vectors of texts.
sentences 200 > text.txt
cp -r model trained && rm -rf trained/*.jsonl trained/checksums.json
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
