#!/bin/sh
# fast.sh — sub-words of a tokenizer.json with every command; unsupported parts are rejected by name.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/fast
for name in bpe llama t5; do
    mkdir $name
    cp "$golden/$name.tokenizer.json" $name/tokenizer.json
done
echo '{"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}' > llama/tokenizer_config.json
expect 0 '' "$program" tokenize -m bpe --json 'The [MASK]'
holds out '"tokens":["[CLS]","▁the","▁","[MASK]","[SEP]"]'
expect 0 '' "$program" tokenize -m llama --json 'a  漢'
holds out '"tokens":["<s>","▁a","▁","▁","<0xE6>","<0xBC>","<0xA2>"]'
expect 0 '' "$program" tokenize -m t5 --json '  the  Ａ'
holds out '"</s>"]'
sed 's/"Metaspace"/"Metaspaces"/g' bpe/tokenizer.json > t5/tokenizer.json
expect 3 'got Metaspaces' "$program" tokenize -m t5 x
expect 2 '--type: .*wordpiece, bytes.*fast_bpe' "$program" vocab --type fast_bpe --text bpe/tokenizer.json -o x

# A translator with them.
sentences 300 | grep . > all.en
tr a-y b-z < all.en > all.de
for side in en de; do sed -n '1,150p' all.$side > train.$side; sed -n '151,160p' all.$side > val.$side; done
echo '{"model_type": "transformer", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}' > pair.json
shape="--config pair.json --source train.en --target train.de --validation_source val.en --validation_target val.de --max_tokens 1024 --max_length 256"
# shellcheck disable=SC2086
expect 0 'step 4/4' "$program" train-translation $shape --model bpe -o de --max_steps 4
same bpe/tokenizer.json de/tokenizer.json "the tokenizer of the trained model"
expect 0 'translations were cut' "$program" translate -m de --beam 1 --max-new-tokens 5 'the old river'
# shellcheck disable=SC2086
expect 3 'subword_sampling: .*segmentations' "$program" train-translation $shape --model bpe -o x --max_steps 4 --subword_sampling 0.1

# Every command, with the settings that are written next to the file.
sentences 400 > text.txt
cat > tiny.json << EOC
{"model_type": "roformer", "vocab_size": 240, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
EOC
expect 0 'step 1/1' "$program" pretrain --model bpe --config tiny.json --text text.txt --max_length 64 --tokens_per_batch 512 --max_steps 1 --eval_steps 0 -o once
mkdir base
cp once/tokenizer.json once/tokenizer_config.json once/special_tokens_map.json base
same bpe/tokenizer.json base/tokenizer.json "the tokenizer of the trained model"
tokens=240 title='BPE (tokenizer.json)' files=tokenizer.json card='from transformers import PreTrainedTokenizerFast'
. "$here/every_command"
done_testing
