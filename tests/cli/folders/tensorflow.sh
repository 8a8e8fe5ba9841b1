#!/bin/sh
# tensorflow.sh — folders of the authors' TensorFlow checkpoints: every command opens them, and convert writes folders
# for transformers with the bits of the TensorFlow weights.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden
gpt=$golden/tensorflow/chinese_roformer-gpt-char_L-2_H-24_A-2
sim=$golden/tensorflow/chinese_roformer-sim-char_L-2_H-24_A-2

# What was written for transformers holds the tensors from which the checkpoint was made.
char=chinese_roformer-char_L-2_H-32_A-4
for pair in $char:models/plain projected:models/projected bert:bert/masked nezha:relative/nezha_model roformer_v2:roformer_v2/masked gau_alpha:gau_alpha/masked; do
    name=${pair%%:*}
    expect 0 "$name: written" "$program" convert "$golden/tensorflow/$name" "$name"
    python3 - "$name/model.safetensors" "$golden/${pair#*:}/model.safetensors" << 'P' || fail "$name: other tensors"
import json, struct, sys
def read(path):
    data = open(path, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    return {k: (v["dtype"], v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
a, b = map(read, sys.argv[1:])
for k in sorted(a.keys() | b.keys()):
    if a.get(k) != b.get(k) and not any(s in k for s in ("embed_positions", "position_ids", "cls.predictions.decoder", "bert.pooler")):
        sys.exit(k)
P
done
holds bert/config.json '"model_type": "bert"'
# A WoBERT's words show its tokenizer, which the written folder has to name.
cp -r "$golden/tensorflow/bert" words && chmod -R u+w words && cp "$golden/text/jieba/vocab.txt" words
expect 0 '' "$program" convert -q words wobert
holds wobert/tokenizer_config.json '"tokenizer_class": "RoFormerTokenizer"'
holds nezha/config.json '"position_embedding_type": "nezha"'
holds roformer_v2/config.json '"norm_type": "rms_norm"'
holds $char/config.json '"layer_norm_eps": 1e-7'

# Commands open the folder itself, by whatever path; "." has a name, too.
expect 0 '' "$program" generate -q -m "$gpt" --max_new_tokens 8 '天'
cp out direct.txt
(cd "$gpt" && "$program" generate -q -m . --max_new_tokens 8 '天') > dot.txt || fail "generate -m ."
same direct.txt dot.txt "generate by another path"
expect 0 'causal: written' "$program" convert "$gpt" causal
expect 0 '' "$program" generate -q -m causal --max_new_tokens 8 '天'
same direct.txt out "generate before and after convert"
expect 0 '' "$program" score -q -m "$gpt" --json '天地玄黄'
expect 0 'similar: written' "$program" convert "$sim" similar
for m in "$sim" similar; do echo 天地 | "$program" embed -q -m "$m" -o "$(basename "$m").npy" || fail "embed $m"; done
same "$(basename "$sim").npy" similar.npy "embed before and after convert"
expect 0 '' "$program" info "$sim"
holds out 'RoFormerForCausalLM'

# Under another name nothing says which of three models it is, until a key does; the answers are those above.
cp -r "$gpt" mine && chmod -R u+w mine
says='mine/bert_config.json: architectures: expected one, or a published folder name .chinese_roformer...., got neither: .*, for -GPT "is_decoder": true, for -Sim that and "pooler_activation": "linear"'
expect 3 "$says" "$program" info mine
expect 3 "$says" "$program" generate -q -m mine '天'
expect 3 "$says" "$program" convert mine x
sed -i 's/{/{"is_decoder": true,/' mine/bert_config.json
expect 0 '' "$program" generate -q -m mine --max_new_tokens 8 '天'
same direct.txt out "generate of another folder with the key"
cp -r "$sim" mine-sim && chmod -R u+w mine-sim
sed -i 's/{/{"is_decoder": true, "pooler_activation": "linear",/' mine-sim/bert_config.json
echo 天地 | "$program" embed -q -m mine-sim -o mine-sim.npy || fail "embed mine-sim"
same similar.npy mine-sim.npy "embed of another folder with the keys"

# Training begins with one.
sed -i 's/"is_decoder": true,/"architectures": ["RoFormerForMaskedLM"],/' mine/bert_config.json
printf 'text\tlabel\n天地\tx\n玄黄\ty\n宇宙\tx\n洪荒\ty\n' > train.tsv
expect 0 'starting from the encoder of' "$program" finetune --train train.tsv -m mine -o tuned --max_steps 1 --batch_size 2

# Words of several characters are looked up where the vocabulary has some, as bert4keras reads WoBERT and RoFormer.
sed 's/^天$/天地/' "$gpt/vocab.txt" > mine/vocab.txt
expect 0 '' "$program" tokenize -m mine '天地玄黄'
holds out '天地'

# Keras' file of transformers 4 is another form of the same tensors.
expect 0 'keras: written' "$program" convert "$golden/hdf5/roformer" keras
expect 0 'plain: written' "$program" convert "$golden/models/plain" plain
same keras/model.safetensors plain/model.safetensors "tf_model.h5"
expect 0 '' "$program" info "$golden/hdf5/sequence"
holds out 'RoFormerForSequenceClassification'
mkdir damaged && cp "$golden/hdf5/roformer/config.json" damaged && head -c 4000 "$golden/hdf5/roformer/tf_model.h5" > damaged/tf_model.h5
expect 3 'tf_model.h5: ".*": .*: expected [0-9]* bytes at byte [0-9]*, got a file of 4000' "$program" convert damaged x

# A checkpoint by the prefix of its files.
expect 0 '' "$program" info "$golden/tensorflow/$char/bert_model.ckpt"
mv out whole && expect 0 '' "$program" info "$golden/tensorflow/$char" && same whole out "the prefix of the files"
(cd "$golden/tensorflow/$char" && "$program" info -m bert_model.ckpt > /dev/null) || fail "the prefix of the files, from their folder"

# What is not as it should be, by name.
cp -r "$golden/tensorflow/$char" bad && chmod -R u+w bad
sed -i 's/{/{"architectures": ["RoFormerForMaskedLM"],/' bad/bert_config.json
rm bad/bert_model.ckpt.data-*
expect 3 'expected the shard bert_model.ckpt.data-00000-of-00001 in the same folder, got none' "$program" convert bad x
rm bad/bert_model.ckpt.index
expect 4 'bad: expected weights .*, got none of these files' "$program" info bad
cp -r "$golden/tensorflow/$char" chinese_roformer_two && chmod -R u+w chinese_roformer_two
mv chinese_roformer_two/bert_model.ckpt.index chinese_roformer_two/model.ckpt-7.index
mv chinese_roformer_two/bert_model.ckpt.data-00000-of-00001 chinese_roformer_two/model.ckpt-7.data-00000-of-00001
expect 0 '' "$program" info chinese_roformer_two
holds out 'mlm_head  yes'
rm -r bad && cp -r "$golden/tensorflow/$char" bad && chmod -R u+w bad && rm bad/bert_config.json
expect 3 'bad: expected bert_config.json beside bert_model.ckpt.index, got none' "$program" info bad
mkdir other && cp "$golden/models/plain/config.json" other
for file in 'tf_model.h5.index.json:Keras in shards' 'model.weights.h5:Keras 3' flax_model.msgpack:Flax model_state.pdparams:PaddlePaddle \
    'esmc_300m_2024_12_v0.pth:weights of the package esm' 'model.fp16.safetensors:safetensors of another name' \
    'model-00001-of-00002.safetensors:shards without their index' 'best.pt:PyTorch.s file of another name' model.gguf:GGUF \
    'onnx/model_quantized.onnx:an ONNX graph' 'openvino/openvino_model.bin:an OpenVINO graph' flax_model-00001-of-00002.msgpack:Flax; do
    mkdir -p "other/$(dirname "${file%%:*}")"
    touch "other/${file%%:*}"
    expect 3 "expected weights of safetensors, PyTorch, TensorFlow 1 or tf_model.h5, got ${file%%:*} .${file#*:}., which is not read; " "$program" convert other x
    rm "other/${file%%:*}"
done
# Under the name that the message says, they are read; info names them, too, without failing.
cp "$golden/models/plain/model.safetensors" other/model.fp16.safetensors
expect 3 'got model.fp16.safetensors .*; rename it to model.safetensors' "$program" embed -m other -o v.npy text
expect 0 'no weights: other: .*got model.fp16.safetensors' "$program" info other
grep -qE '^weights +none$' out || fail "info without weights: $(tail -1 out)"
mv other/model.fp16.safetensors other/model.safetensors
expect 0 '' "$program" info other
mv other/config.json . && expect 4 'other/config.json: cannot open' "$program" info other
# bert_config.json next to weights of transformers is BERT's; next to those of Keras' layers, the file is named.
mkdir old && cp "$golden/bert/masked/model.safetensors" old && cp "$golden/tensorflow/bert/bert_config.json" old
expect 0 'old-now: written' "$program" convert old old-now
same "$golden/bert/masked/model.safetensors" old-now/model.safetensors "weights beside bert_config.json"
holds old-now/config.json BertForMaskedLM
rm old/model.safetensors && cp "$golden/hdf5/bert/tf_model.h5" old/my.weights
expect 3 "old/my.weights: weights of Keras' layers are not read: .*save_weights_as_checkpoint" "$program" info old
printf '[]' > chinese_roformer_two/bert_config.json
expect 3 'bert_config.json: expected a JSON object' "$program" info chinese_roformer_two
done_testing
