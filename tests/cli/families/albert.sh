#!/bin/sh
# albert.sh — an ALBERT's layers share their tensors: they are counted, trained and written once. Options for single
# layers and keys of other shapes are refused by name.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/albert
sentences 200 > text.txt
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
sed 's/"num_hidden_layers": 5/"num_hidden_layers": 4/; s/"num_hidden_groups": 3/"num_hidden_groups": 2/' "$golden/groups/config.json" > small.json
learn='--max_length 24 --tokens_per_batch 256 --max_steps 6 --gradient_accumulation_steps 2'
# shellcheck disable=SC2086
expect 0 'step 6/6' "$program" pretrain --text text.txt --model base --config small.json $learn
"$program" info -m base --tensors > out || fail "info"
[ "$(grep -c 'albert_layer_groups\..*query.weight' out)" -eq 2 ] || fail "layers: $(cat out)"
grep -q 'ignored *nothing' out || fail "ignored: $(grep ignored out)"
# Layers that are computed again in the backward pass give the same gradients.
cp -r base again && rm -r again/model.safetensors again/config.json again/checkpoint-* again/metrics.jsonl
# shellcheck disable=SC2086
expect 0 'step 6/6' "$program" pretrain --text text.txt --model again --config small.json $learn --gradient_checkpointing
same base/model.safetensors again/model.safetensors "computed again"

# A folder with SentencePiece's model: ids, vectors and the answer to a mask are those of transformers.
rm -rf whole && cp -r "$golden/whole" whole && chmod -R u+w whole
cp "$repository/tests/golden/subwords/albert.model" whole/spiece.model
masked_folder whole
expect 0 'read back and compared' "$program" convert whole written-whole
masked_folder written-whole

printf 'text\tlabel\nthe red house\tx\nan old river\ty\n' > train.tsv
expect 3 'frozen_layers: expected none for an ALBERT, .* got some' "$program" finetune --train train.tsv -m base -o x --frozen_layers 1
expect 3 'layer_wise_lr_decay: expected none for an ALBERT' "$program" finetune --train train.tsv -m base -o y --layer_wise_lr_decay 0.9

for name in groups sequence choice; do
    copy $name $name
    expect 0 'read back and compared' "$program" convert $name written-$name
    same $name/model.safetensors written-$name/model.safetensors "$name after convert"
done
holds written-groups/config.json '"num_hidden_groups": 3'
holds written-sequence/config.json '"classifier_dropout_prob": 0.3'
right=groups
refused config.json 's/"inner_group_num": 1/"inner_group_num": 2/' 'inner_group_num: expected 1, got 2'
refused config.json 's/"num_hidden_groups": 3/"num_hidden_groups": 6/' 'num_hidden_groups: expected at most num_hidden_layers, 5, got 6'
done_testing
