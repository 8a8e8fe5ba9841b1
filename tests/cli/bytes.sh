#!/bin/sh
# bytes.sh — a tokenizer of bytes through every command: made of nothing, trained, fine-tuned, asked, written, measured.
. "$(dirname "$0")/lib"

# The folder: of nothing, and of nothing else.
expect 0 'base: 261 tokens' "$program" vocab --type bytes -o base
[ "$(ls base | tr '\n' ' ')" = 'special_tokens_map.json tokenizer_config.json ' ] || fail "files: $(ls base)"
holds base/tokenizer_config.json '"tokenizer_class": "RoFormerByteTokenizer"'
expect 2 'learns nothing from text: leave --text out' "$program" vocab --type bytes --text base/tokenizer_config.json -o x
expect 2 'leave --cased out' "$program" vocab --type bytes --cased -o x
[ ! -e x ] || fail "a folder was made although it was refused"
expect 4 'base/tokenizer_config.json exists.*--overwrite' "$program" vocab --type bytes -o base
expect 0 '' "$program" vocab -q --type bytes -o base --overwrite

# Text and back: characters, not bytes, in what is shown.
printf 'caf\303\251 [MASK]\n' > line
input=line expect 0 '' "$program" tokenize -m base --json
holds out '"tokens":["[CLS]","c","a","f","<0xC3>","<0xA9>","<0x20>","[MASK]","[SEP]"]'
holds out '"offsets":[[0,0],[0,1],[1,2],[2,3],[3,4],[3,4],[4,5],[5,11],[0,0]]'
holds out '"ids":[2,104,102,107,200,174,37,4,3]'
expect 3 'not UTF-8' "$program" tokenize -m base "$(printf 'caf\351')"

# A masked model: trained, stopped and resumed to the same bytes.
sentences 400 > text.txt
cat > small.json << EOC
{"model_type": "roformer", "vocab_size": 261, "embedding_size": 32, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
 "intermediate_size": 64, "max_position_embeddings": 128, "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
EOC
shape="--model base --config small.json --text text.txt --tokens_per_batch 1024 --max_length 128 --eval_documents 20 --learning_rate 5e-3"
# shellcheck disable=SC2086
expect 0 'step 30/30' "$program" pretrain $shape -o mlm --max_steps 30 --save_steps 15 --eval_steps 15
# shellcheck disable=SC2086
expect 0 'continue with --resume' "$program" pretrain $shape -o parts --max_steps 30 --save_steps 15 --eval_steps 15 --stop_after 11
expect 0 'step 30/30' "$program" pretrain --resume parts/checkpoint-11
same mlm/model.safetensors parts/model.safetensors "resumed"
same base/tokenizer_config.json mlm/tokenizer_config.json "the tokenizer of the trained model"
holds mlm/checksums.json 'special_tokens_map.json'
holds mlm/README.md 'transformers has no class for its tokenizer'
expect 0 '' "$program" verify mlm mlm/checkpoint-30
expect 0 '' "$program" info -m mlm
holds out 'bytes of UTF-8'
expect 0 '' "$program" info -m mlm --json
holds out '"special": "[UNK] [CLS] [SEP] [PAD] [MASK]"'
expect 0 '' "$program" fill-mask -m mlm 'the old riv[MASK]r'
[ "$(grep -c '%' out)" -eq 5 ] || fail "fill-mask: $(cat out)"
expect 0 '' "$program" fill-mask -m mlm --json --target '<0x20>' --target e 'the old riv[MASK]r'
holds out '"token": 37, "token_str": " ", "sequence": "the old riv r"'
holds out '"token": 106, "token_str": "e", "sequence": "the old river"'
expect 0 '' "$program" fill-mask -m mlm --top-k 261 --json 'h[MASK]'
holds out '"token": 5, "token_str": "\u0000", "sequence": "h\u0000"'
expect 0 '' "$program" embed -m mlm --max-length 0 -o v.npy text.txt
[ -s v.npy ] || fail "no vectors"
expect 0 '' "$program" evaluate -m mlm --text text.txt --eval_documents 20 --max_length 128
holds out 'accuracy'
expect 0 '' "$program" position-report -m mlm --text text.txt --max_length 32 --stretches 2 --pieces 2
holds out 'rotary'

# A prepared cache is that of the text itself; ids go in two bytes.
expect 0 '' "$program" prepare -q --model base --text text.txt -o text.tokens
# shellcheck disable=SC2086
expect 0 'step 30/30' "$program" pretrain --model base --config small.json --data text.tokens --tokens_per_batch 1024 --max_length 128 --learning_rate 5e-3 -o again --max_steps 30 --eval_steps 0

# Whole words are whole characters.
# shellcheck disable=SC2086
expect 0 'step 4/4' "$program" pretrain $shape -o whole --max_steps 4 --whole_word_mask

# A causal model writes; a prompt's blank is its own; what is no UTF-8 becomes U+FFFD, never half a character.
# shellcheck disable=SC2086
expect 0 'step 30/30' "$program" pretrain $shape -o clm --max_steps 30 --objective clm
expect 0 '' "$program" generate -m clm -n 12 'the '
case $(cat out) in 'the '?*) ;; *) fail "generate: $(cat out)" ;; esac
expect 0 '' "$program" generate -m clm -n 40 --temperature 9 --seed 3 'the'
iconv -f UTF-8 -t UTF-8 out > /dev/null || fail "generate: not UTF-8"
cp out said
expect 0 '' "$program" generate -m clm -n 40 --temperature 9 --seed 3 --json 'the'
expect 0 '' "$program" evaluate -m clm --text text.txt --eval_documents 20 --max_length 128
holds out 'perplexity'

# Fine-tuned: a text's label, tags of words, an answer of whole characters.
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 120; i++) print (i % 2 ? "good \303\251t\303\251" : "bad jour") " " i "\t" (i % 2 ? "pos" : "neg") }' > train.tsv
expect 0 'step' "$program" finetune --train train.tsv --dev train.tsv -m mlm -o label --max_length 64 --num_train_epochs 8 --learning_rate 5e-3
expect 0 '' "$program" classify -m label 'good été 11' 'bad jour 12'
sed -n 1p out | grep -q '^\[{"label": "pos"' || fail "classify: $(cat out)"
sed -n 2p out | grep -q '^\[{"label": "neg"' || fail "classify: $(cat out)"
expect 0 '' "$program" predict -m label --input train.tsv
expect 0 '' "$program" evaluate -m label --dev train.tsv --json
holds out '"eval_accuracy": 1.0'
awk 'BEGIN { for (i = 0; i < 40; i++) printf "{\"tokens\": [\"the\", \"caf\\u00e9\", \"%d\"], \"tags\": [\"O\", \"B-P\", \"O\"]}\n", i }' > tags.jsonl
expect 0 'step' "$program" finetune --task tag --train tags.jsonl --dev tags.jsonl -m mlm -o tag --max_length 64 --num_train_epochs 6 --learning_rate 5e-3
expect 0 '' "$program" predict -m tag --input tags.jsonl
awk 'BEGIN { printf "{\"data\": [{\"paragraphs\": ["; for (i = 0; i < 20; i++) printf "%s{\"context\": \"the \\u6f22\\u5b57 of %d\", \"qas\": [{\"id\": \"q%d\", \"question\": \"what\", \"answers\": [{\"text\": \"\\u6f22\\u5b57\", \"answer_start\": 4}]}]}", (i ? ", " : ""), i, i; print "]}]}" }' > qa.json
expect 0 'step' "$program" finetune --task qa --train qa.json --dev qa.json -m mlm -o qa --max_length 64 --num_train_epochs 6 --learning_rate 5e-3
expect 0 '' "$program" predict -m qa --input qa.json --format squad
iconv -f UTF-8 -t UTF-8 out > /dev/null || fail "an answer is cut within a character"
holds out '漢字'

# Others' bytes are refused by name.
mkdir byt5
echo '{"tokenizer_class": "ByT5Tokenizer"}' > byt5/tokenizer_config.json
expect 3 'ByT5Tokenizer is not supported.*ByT5 has ids of its own' "$program" tokenize -m byt5 x
done_testing
