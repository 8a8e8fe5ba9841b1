#!/bin/sh
# convert.sh — converts folders of torch.save to the current format: what is written equals what was read.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden

# The same weights by safetensors, by the old pickles, by the zip, by shards: the same bytes.
expect 0 'plain: written, read back and compared' "$program" convert "$golden/models/plain" plain
holds out 'roformer.embeddings.word_embeddings.weight  F32 [101,32]'
# A pooler, which transformers' class does not have, is left out of a RoFormer.
expect 0 'old: written' "$program" convert "$golden/torch/old" old
holds out 'roformer.embeddings.LayerNorm.gamma  F32 [32]  as roformer.embeddings.LayerNorm.weight'
holds out 'roformer.pooler.dense.bias  F32 [32]  not written'
holds out 'roformer.encoder.embed_positions.weight  F32 [40,8]  not written'
same plain/model.safetensors old/model.safetensors
holds old/config.json '"RoFormerForPreTraining"'
# A table of positions that the configuration does not make, which transformers uses: refused by all who open the folder; convert can drop it.
cp -r "$golden/models/plain" other && chmod -R u+w other && sed 's/"hidden_size"/"rope_theta": 500, "hidden_size"/' "$golden/models/plain/config.json" > other/config.json
expect 3 'expected only tensors of .*embed_positions.weight; --drop' "$program" convert other based
expect 0 'based: written' "$program" convert other based --drop 'roformer.encoder.embed_positions.*'
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n' | tee other/vocab.txt > based/vocab.txt
expect 3 "embed_positions.weight: expected the position table that config.json defines, got that of rope_theta 10000, which transformers uses; .*convert --drop" \
    "$program" embed -q -m other -o v.npy other/vocab.txt
expect 0 '' "$program" embed -q -m based -o v.npy other/vocab.txt
expect 0 '' "$program" verify old
expect 0 'zip: written' "$program" convert "$golden/torch/zip" zip --drop roformer.pooler.dense.weight --drop roformer.pooler.dense.bias
same plain/model.safetensors zip/model.safetensors
expect 0 '' "$program" convert -q "$golden/torch/sharded" sharded
expect 0 '' "$program" convert -q "$golden/models/sharded" shards
same shards/model.safetensors sharded/model.safetensors
expect 0 '' "$program" convert -q "$golden/torch/zip_f16" f16
holds out 'F16'
expect 0 '' "$program" info -m f16 --json
holds out '"type": "F16"'

# A matrix of its own where config.json says that the head is tied: refused by all who open the folder, with the remedy.
cp -r "$golden/marian/untied" tied && chmod -R u+w tied && sed 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' "$golden/marian/untied/config.json" > tied/config.json
for command in 'translate -m tied hello' 'info -m tied' 'verify tied' 'convert tied not-made'; do
    # shellcheck disable=SC2086
    expect 3 'lm_head.weight: expected the numbers of .*weight, as tie_word_embeddings is true' "$program" $command
done
[ ! -e not-made ] || fail "something was written although it was refused"

# Half the bytes; again; into what is there; what does not exist.
expect 0 '' "$program" convert -q old half --dtype bf16
expect 0 '' "$program" info -m half --json
holds out '"type": "BF16"'
expect 4 'old: expected a folder without weights' "$program" convert half old
expect 0 '' "$program" convert -q half old --dtype f32 --overwrite
expect 4 'nowhere' "$program" convert nowhere x
[ ! -e x ] || fail "a folder was made for nothing"

# Matrices in int8: the same answers as by --dtype int8, carried on as they are, back to f32; bad scales and other schemes are named before
# a weight is read.
expect 0 'int8: written, read back and compared' "$program" convert "$golden/models/plain" int8 --dtype int8
expect 0 '' "$program" verify int8
expect 0 '' "$program" info -m int8
holds out 'matrices_in_int8  12'
holds out 'ignored           nothing'
expect 0 '' "$program" convert -q int8 again
same int8/model.safetensors again/model.safetensors
same int8/config.json again/config.json
holds out 'roformer.encoder.layer.1.output.dense.weight_scale  F32 [32,1]'
expect 0 '' "$program" convert -q int8 f32 --dtype f32
if grep -q quantization_config f32/config.json; then fail "f32 weights have a quantization_config"; fi
sed 's/"num_bits": 8/"num_bits": 4/' int8/config.json > again/config.json
expect 3 'quantization_config.config_groups.group_0.weights.num_bits: expected 8, got 4' "$program" info -m again
sed 's/"dynamic": true/"dynamic": false/' int8/config.json > again/config.json
expect 3 'quantization_config.config_groups.group_0.input_activations.dynamic: expected true' "$program" convert again x
python3 -c 'import json; c = json.load(open("int8/config.json")); del c["quantization_config"]; json.dump(c, open("again/config.json", "w"))'
expect 3 'int8 weights: expected quantization_config in config.json, got none' "$program" info -m again
cp int8/config.json again
sed 's/layer.1.output.dense.weight_scale/layer.1.output.dense.weight_scaly/' int8/model.safetensors > again/model.safetensors
expect 3 'tensor "roformer.encoder.layer.1.output.dense.weight" is in int8: expected' "$program" convert again x
[ ! -e x ] || fail "something was written although it was refused"

# What is to be left out is there and can be left out; a slip in a name is reported, and nothing is written.
expect 2 "--drop roformer.poolr.*: expected a tensor of the source" "$program" convert "$golden/torch/old" x --drop 'roformer.pooler.*' --drop 'roformer.poolr.*'
expect 2 '--drop roformer.embeddings.*: expected a tensor that is not needed' "$program" convert "$golden/torch/old" x --drop 'roformer.embeddings.*'
[ ! -e x ] || fail "something was written although it was refused"

# A tokenizer goes along; a head with labels keeps their names.
mkdir words
cp "$golden/torch/old_bf16"/* words
cp "$golden/text/jieba/vocab.txt" "$golden/text/jieba/tokenizer_config.json" words
expect 0 '' "$program" dictionary -q "$golden/text/jieba/dict.txt" -o words/dictionary.words
expect 0 '' "$program" convert -q words today
same words/vocab.txt today/vocab.txt
same words/dictionary.words today/dictionary.words
holds today/tokenizer_config.json '"tokenizer_class": "RoFormerTokenizer"'
expect 0 'the vocabulary has 67 tokens' "$program" fill-mask -m today --top-k 2 '今天[MASK]'

# In place, too; what was written is what its checksums say.  Another model's tokenizer is not left next to new weights, and a checkpoint is not touched.
expect 0 '' "$program" convert -q today today --dtype f32 --overwrite
expect 0 '' "$program" verify today
holds out 'today: intact'
cp today/model.safetensors kept
expect 4 'today: expected no vocab.txt .*old has no tokenizer' \
    "$program" convert "$golden/torch/old" today --drop 'roformer.pooler.*' --overwrite
cp -r today checkpoint-5 && echo '{}' > checkpoint-5/COMPLETE
expect 4 'checkpoint-5: expected a model folder' "$program" convert words checkpoint-5 --overwrite
same today/model.safetensors kept

# Bad files: a sentence, nothing written, nothing executed.
mkdir bad
cp "$golden/torch/old/config.json" bad
printf '\200\002\212\nl\374\234\106\371 j\250P\031.\200\002M\351\003.\200\002}(X\r\000\000\000little_endian\210u.\200\002cos\nsystem\n(X\016\000\000\000touch executedtR.' > bad/pytorch_model.bin
expect 3 'refused: the object os.system at byte 48, which no state dict needs; nothing was executed' "$program" convert bad x
head -c 5000 "$golden/torch/old/pytorch_model.bin" > bad/pytorch_model.bin
expect 3 'pytorch_model.bin: ' "$program" convert bad x
{ [ ! -e x ] && [ ! -e executed ]; } || fail "something was written or executed"
done_testing
