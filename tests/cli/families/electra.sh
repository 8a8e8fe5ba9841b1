#!/bin/sh
# electra.sh — an ELECTRA is trained to detect replaced tokens with its generator; both folders have the classes and the
# names of transformers. Settings of its summary are refused by name where they are unknown.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/electra
sentences 200 > text.txt
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
sed 's/"num_attention_heads": 2/"num_attention_heads": 4/' "$golden/masked/config.json" > small.json
# shellcheck disable=SC2086
expect 0 'step 8/8' "$program" pretrain --text text.txt --model base --config small.json --objective rtd --generator_size 0.5 --max_length 24 --tokens_per_batch 256 --max_steps 8
holds base/config.json '"ElectraForPreTraining"'
holds base/generator/config.json '"ElectraForMaskedLM"'
for folder in base base/generator; do
    expect 0 '' "$program" info -m $folder
    grep -q 'family *electra' out || fail "family: $(cat out)"
    grep -q 'ignored *nothing' out || fail "ignored: $(grep ignored out)"
done
expect 0 '' "$program" fill-mask -m base/generator 'the [MASK] house'
expect 0 'starting from the weights in base and its generator' "$program" pretrain --text text.txt --model base --objective rtd --generator_size 0.5 --max_length 24 --tokens_per_batch 256 --max_steps 2 -o more

# Converted, every class keeps its tensors.
for name in detect choice choice_last choice_mean untied causal; do
    copy $name $name
    expect 0 'read back and compared' "$program" convert $name written-$name
    same $name/model.safetensors written-$name/model.safetensors "$name after convert"
done
holds written-choice_last/config.json '"summary_type": "last"'
holds written-choice_last/config.json '"summary_activation": "tanh"'
holds written-choice_last/config.json '"summary_use_proj": false'

# Without embedding_size, the class has 128.
sed '/"embedding_size"/d' untied/config.json > short.json && mv short.json untied/config.json
expect 3 'word_embeddings.weight: shape: expected \[61,128\] by config.json, got \[61,24\]' "$program" info -m untied
right=choice
refused config.json 's/"summary_type": "first"/"summary_type": "attn"/' 'summary_type: expected last, first or mean, got "attn"'
refused config.json 's/"summary_activation": "gelu"/"summary_activation": "laplace"/' 'summary_activation: expected .*, got "laplace"'
refused config.json 's/{/{"summary_proj_to_labels": true,/' 'summary_proj_to_labels'
# Without that head these keys have no effect.
sed 's/"summary_type": "first"/"summary_type": "attn"/' detect/config.json > short.json && mv short.json detect/config.json
expect 0 'read back and compared' "$program" convert detect again
holds again/config.json '"summary_type": "attn"'
done_testing
