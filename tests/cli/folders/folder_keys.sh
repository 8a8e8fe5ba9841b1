#!/bin/sh
# folder_keys.sh — keys of files next to the weights (src/base/files/folder_keys.def): unsupported values are rejected by
# name, a misspelled key is reported, and limits are found wherever sentence-transformers finds them.
. "$(dirname "$0")/../lib"
"$make_model" plain || exit 1
awk 'BEGIN { print "text\tpair"; for (i = 0; i < 8; i++) print "the old city " i "\tthe city is old " i }' > pairs.tsv
"$program" finetune -q --task embed --train pairs.tsv --batch_size 4 --dropout 0 --model plain --max_length 30 --max_steps 1 --normalize -o model || exit 1
printf 'the old city of the river of the house of the king\n' > text
rm model/checksums.json
fresh() { rm -rf m && cp -r model m; }
right=model refusing='embed -m broken -o v.npy text'
limit() {       # limit NAME   what info says of the folder m
    expect 0 '' "$program" info -m m --json
    holds out "\"max_length\": $1"
}

# Values that are not honored, and keys that nobody knows.
refused sentence_bert_config.json '{"max_seq_length": 30, "transformer_task": "fill-mask"}' 'broken/sentence_bert_config.json: transformer_task: expected "feature-extraction", got "fill-mask"'
refused sentence_bert_config.json '{"module_output_name": "sentence_embedding"}' 'module_output_name: expected "token_embeddings"'
refused sentence_bert_config.json '{"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}}' 'modality_config: expected'
refused sentence_bert_config.json '{"processing_kwargs": {"text": {"max_length": 4}}}' 'processing_kwargs: expected'
refused sentence_bert_config.json '{"query_length": 4}' 'query_length: expected null, got 4'
refused sentence_bert_config.json '{"config_args": {"num_hidden_layers": 1}}' 'broken/sentence_bert_config.json: config_args.num_hidden_layers: expected arguments .*; set it in config.json'
refused sentence_bert_config.json '{"model_kwargs": {"load_in_8bit": true}}' 'model_kwargs.load_in_8bit: expected'
refused sentence_bert_config.json '{"tokenizer_args": {"do_lower_case": true}}' 'tokenizer_args.do_lower_case: expected .*; set it in tokenizer_config.json'
refused sentence_bert_config.json '{"model_args": []}' 'model_args: expected an object'
refused sentence_bert_config.json '{"max_seq_lenght": 4}' 'unknown key max_seq_lenght; did you mean max_seq_length?'
refused 1_Pooling/config.json '{"pooling_mod": "cls"}' 'broken/1_Pooling/config.json: unknown key pooling_mod; did you mean pooling_mode?'
refused 2_Normalize/config.json '{"module_input_name": "token_embeddings"}' 'broken/2_Normalize/config.json: module_input_name: expected "sentence_embedding"'
refused config_sentence_transformers.json '{"model_type": "SparseEncoder"}' 'model_type: expected "SentenceTransformer", got "SparseEncoder"'
for change in '"errors": "ignore"' '"truncation_side": "middle"' '"split_special_tokens": true' '"sp_model_kwargs": {"alpha": 1}'; do
    fresh && sed "s/^{/{$change,/" model/tokenizer_config.json > m/tokenizer_config.json
    expect 3 "m/tokenizer_config.json: $(echo "$change" | cut -d '"' -f 2): expected" "$program" embed -m m -o v.npy text
done
for change in '"stop_strings": ["a"]' '"token_healing": true' '"num_return_sequences": 2' '"watermarking_config": {"bias": 1}' '"top_h": 0.4'; do
    rm -rf m && cp -r plain m && sed 's/^{/{"is_decoder": true,/' plain/config.json > m/config.json && printf '{%s}\n' "$change" > m/generation_config.json
    expect 3 "m/generation_config.json: $(echo "$change" | cut -d '"' -f 2): expected" "$program" generate -m m "the city"
done
printf '{"stop_strings": null, "num_return_sequences": 1, "min_length": 0, "sequence_bias": null}\n' > m/generation_config.json
expect 0 '' "$program" generate -q -m m --max_new_tokens 2 "the city"

# Keys of tokenizer_config.json that say nothing of ids stay where a tokenizer is written, but for those that say where it was read.
fresh && sed 's/^{/{"model_max_length": 20, "padding_side": "left", "truncation_side": "left", "model_input_names": ["input_ids"], "is_local": true,/' model/tokenizer_config.json > m/tokenizer_config.json
"$program" convert -q m converted --extend-vocab m > out || fail "convert: $(cat out)"
for key in '"model_max_length": 20' '"padding_side": "left"' '"truncation_side": "left"' '"model_input_names": \['; do grep -q "$key" converted/tokenizer_config.json || fail "convert lost $key"; done
! grep -q is_local converted/tokenizer_config.json || fail "convert kept is_local"

# What sentence-transformers 6 writes of a plain model is no obstacle.
fresh && printf '{"max_seq_length": 30, "transformer_task": "feature-extraction", "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}, "module_output_name": "token_embeddings", "unpad_inputs": null}' > m/sentence_bert_config.json
printf '{"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}' > m/2_Normalize/config.json
expect 0 '' "$program" embed -q -m m -o v.npy text

# Arguments of loading that change no number.
expect 0 '' "$program" embed -q -m m -f f32 -o all.f32 text
printf '{"max_seq_length": 30, "model_args": {"safe_serialization": true, "torch_dtype": "float32", "attn_implementation": "sdpa"}, "tokenizer_args": {"use_fast": true}, "config_args": {"trust_remote_code": false, "num_labels": null}}' > m/sentence_bert_config.json
expect 0 '' "$program" embed -q -m m -f f32 -o with.f32 text
same all.f32 with.f32 "arguments of loading"

# The limit: a file of an older name, the tokenizer's older key, of a folder below, too.
fresh && mv m/sentence_bert_config.json m/sentence_distilbert_config.json && sed -i 's/"max_seq_length": 30/"max_seq_length": 7/' m/sentence_distilbert_config.json
limit 7
fresh && rm m/sentence_bert_config.json && sed 's/^{/{"max_len": 9,/' model/tokenizer_config.json > m/tokenizer_config.json
limit 9
mkdir below && mkdir below/0_Transformer && cp -r m/1_Pooling m/2_Normalize below && cp m/config.json m/model.safetensors m/vocab.txt m/tokenizer_config.json below/0_Transformer
sed 's/"path": ""/"path": "0_Transformer"/' m/modules.json > below/modules.json
"$program" embed -q -m m -f f32 text > a && "$program" embed -q -m below -f f32 text > b && same a b "the tokenizer's limit of a folder below"
printf '{"tokenizer_args": {"model_max_length": 6}}' > below/0_Transformer/sentence_bert_config.json
"$program" embed -q -m below -f f32 text > b && "$program" embed -q -m m --max_length 6 -f f32 text > a && same a b "tokenizer_args of a folder below"

# An adapter next to the weights, or without them.
rm -rf m lora && cp -r plain m && echo '{"peft_type": "LORA"}' > m/adapter_config.json && mkdir lora && cp m/adapter_config.json lora
for command in 'embed -m m -o v.npy text' 'fill-mask -m m [MASK]' 'convert m other' 'info -m m' 'info -m lora' 'fill-mask -m lora [MASK]'; do
    # shellcheck disable=SC2086
    expect 3 'adapter_config.json: the folder holds an adapter .* merge_and_unload' "$program" $command
done

# Code of other programs.
right=plain refusing='embed -m broken -o v.npy text'
refused config.json 's/^{/{"auto_map": {"AutoConfig": "configuration.Own", "AutoModel": "modeling.Own"},/' 'broken/config.json: auto_map: AutoModel: expected none for a RoFormer, got "modeling.Own"'
rm -rf m && cp -r plain m && sed 's/^{/{"auto_map": {"AutoTokenizer": ["tokenization.Own", null], "AutoConfig": "configuration.Own"},/' plain/config.json > m/config.json
expect 0 '' "$program" embed -q -m m -o v.npy text

# A slip in config.json is named by every command that opens the model.
rm -rf m && cp -r plain m && sed 's/^{/{"rotary_valu": true, "license": "MIT",/' plain/config.json > m/config.json
for command in 'embed -m m -o v.npy text' 'fill-mask -m m [MASK]'; do
    # shellcheck disable=SC2086
    expect 0 'm/config.json: unknown key rotary_valu; did you mean rotary_value?' "$program" $command
    if grep -q license err; then fail "a key without meaning: $(cat err)"; fi
done
done_testing
