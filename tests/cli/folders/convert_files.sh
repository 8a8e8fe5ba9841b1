#!/bin/sh
# convert_files.sh — files and keys that convert does not know: they are copied or reported.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden
"$make_model" model || exit 1
"$program" convert -q model converted > out || fail "a model alone"
[ ! -s err ] || fail "words: $(cat err)"
[ "$(grep copied out | sort | tr '\n' ' ')" = 'special_tokens_map.json  copied tokenizer_config.json  copied vocab.txt  copied ' ] || fail "a model alone: $(grep copied out)"

# Files that nobody here knows are copied byte for byte: next to the weights, in folders, through links.
mkdir -p model/2_Dense/deep model/assets model/onnx model/checkpoint-5 model/.git model/runs
printf 'GPL\n' > model/LICENSE
printf 'a card\n' > model/README.md
printf 'print("hello")\n' > 'model/modeling own.py'
head -c 700000 /dev/urandom > model/2_Dense/deep/rust_model.ot
printf '{"in_features": 8}\n' > model/2_Dense/config.json
printf 'a b\n' > model/vocab.bpe
printf '{}\n' > model/added_tokens.json
printf 'kept\n' > blob && ln -s ../blob model/linked.txt
: > model/empty.bin
for file in tf_model.h5 pytorch_model.bin onnx/model.onnx checkpoint-5/model.safetensors .git/HEAD metrics.jsonl training_args.bin runs/log; do printf '{}' > "model/$file"; done
expect 0 'new: written, read back and compared' "$program" convert model new
for file in LICENSE README.md 'modeling own.py' 2_Dense/deep/rust_model.ot 2_Dense/config.json vocab.bpe linked.txt empty.bin vocab.txt tokenizer_config.json special_tokens_map.json added_tokens.json; do
    same "model/$file" "new/$file"
    holds out "$file  copied"
done
[ -f new/linked.txt ] && [ ! -L new/linked.txt ] || fail "a link was copied as a link"
# What is left out is named with the reason.
for file in 'tf_model.h5  not copied: the weights in another format' 'pytorch_model.bin  not copied: the weights in another format' 'onnx  not copied: the weights' \
    'checkpoint-5  not copied: belongs to a training run' '.git  not copied: ' 'metrics.jsonl  not copied: belongs to a training run' 'training_args.bin  not copied' 'runs  not copied'; do
    holds out "$file"
    [ ! -e "new/${file%%  *}" ] || fail "${file%%  *} was copied"
done
[ "$(grep -c copied out)" -eq 20 ] || fail "$(grep copied out)"

# Nobody's file is overwritten, unless the user says so; nothing is written before that is known.
mkdir target && printf 'mine\n' > target/LICENSE
expect 4 'target/LICENSE: expected a new file' "$program" convert model target
[ "$(ls target)" = LICENSE ] && holds target/LICENSE mine
expect 0 '' "$program" convert -q model target --overwrite
same model/LICENSE target/LICENSE
# The files of another tokenizer are put aside.
for file in tokenizer.json special_tokens_map.json; do echo '{"other": 1}' > target/$file; done && rm -r model/special_tokens_map.json
expect 0 '' "$program" convert -q model target --overwrite
for file in tokenizer.json special_tokens_map.json; do holds target/$file.replaced other && [ ! -e target/$file ] || fail "$file: $(ls target)"; done
cp new/special_tokens_map.json model
# Again, in place: all stays; into a folder of the source: not into itself.
expect 0 '' "$program" convert -q new new --overwrite --dtype bf16
same model/2_Dense/deep/rust_model.ot new/2_Dense/deep/rust_model.ot
expect 0 '' "$program" convert -q model model/assets/new
[ -f model/assets/new/LICENSE ] && [ ! -e model/assets/new/assets/new ] || fail "converted into itself: $(find model/assets)"
rm -r model/assets/new

# What cannot be copied is refused before anything is written.
if [ "$posix" ]; then
mkfifo model/pipe
expect 4 'model/pipe: expected a file, got a pipe, a socket or a device' "$program" convert model refused
rm model/pipe && ln -s nowhere model/dangling
expect 4 'model/dangling: expected a file to copy' "$program" convert model refused
rm model/dangling && ln -s . model/loop
expect 4 'model/loop: expected a file or a folder to copy, got a link to a folder' "$program" convert model refused
rm model/loop
fi
[ ! -e refused ] || fail "something was written although it was refused"

# With another vocabulary what is of the old one goes.
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncity\n' > words.txt && mkdir words && mv words.txt words/vocab.txt
expect 0 '' "$program" convert -q model extended --extend-vocab words
for file in vocab.bpe added_tokens.json; do holds out "$file  not copied: belongs to the vocabulary that is replaced"; done
same words/vocab.txt extended/vocab.txt

# Keys that mean nothing here are kept; those that convert writes again are not kept next to their new form.
sed 's/^{/{"auto_map": {"AutoConfig": "modeling.Own"}, "license": "GPL", "dtype": "float32", "max_length": 30, "bos_token_id": 7, "position_biased_input": null,/' \
    model/config.json > config.json && mv config.json model/config.json
expect 0 '' "$program" convert -q model keys --dtype bf16
python3 - << 'P' || fail "keys of config.json: $(cat keys/config.json)"
import json
a, b = (json.load(open(f + "/config.json")) for f in ("model", "keys"))
for key in ("dtype", "max_length"):
    assert key not in b, key
    del a[key]
assert {k: b.get(k, "none") for k in a} == a, b
P
holds keys/generation_config.json '"max_length": 30'
expect 0 '' "$program" convert -q model ids --extend-vocab words
if grep -q bos_token_id ids/config.json; then fail "an id of the old vocabulary is kept"; fi
expect 0 '' "$program" convert -q model int8 --dtype int8
expect 0 '' "$program" convert -q int8 back --dtype f32
if grep -q quantization_config back/config.json; then fail "f32 weights have a quantization_config"; fi
holds back/config.json '"license": "GPL"'
expect 0 '' "$program" verify back
done_testing
