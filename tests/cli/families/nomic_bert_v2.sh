#!/bin/sh
# nomic_bert_v2.sh — folders of NomicBERT v2: ids, vectors and words as in the golden folder, conversions, vectors that do
# not depend on the batch, and what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/nomic_bert_v2
cp -r "$golden/whole" model && cp "$repository/tests/golden/fast/xlmr.tokenizer.json" model/tokenizer.json || exit 1
masked_folder model

expect 0 'read back and compared' "$program" convert model written
same model/model.safetensors written/model.safetensors "the tensors written"
for key in auto_map moe_every_n_layers num_experts moe_top_k moe_impl qkv_proj_bias n_inner rotary_emb_fraction; do
    holds written/config.json "\"$key\""
done
expect 0 '' "$program" info -m written
grep -qE '^  family +nomic_bert_v2$' out || fail "$(grep family out)"

# A text has the same bits alone and in a batch, whose other tokens use the same experts.
sentences 9 > lines.txt
for type in f32 bf16 int8; do
    "$program" embed -q -m model --pooling mean --dtype $type -f jsonl lines.txt > together.jsonl || fail "embed in $type"
    while read -r line; do
        echo "$line" | "$program" embed -q -m model --pooling mean --dtype $type -f jsonl || fail "embed one in $type"
    done < lines.txt > alone.jsonl
    same together.jsonl alone.jsonl "vectors in $type, of texts together and alone"
    mv together.jsonl $type.jsonl
done

# Weights in int8 in a folder: experts come back in int8, too.
near() {
    python3 -c 'import json, sys
a, b = ([x for line in open(f) for x in json.loads(line)] for f in sys.argv[1:3])
off = (sum((x - y) ** 2 for x, y in zip(a, b)) / sum(x * x for x in a)) ** 0.5
sys.exit(0 if len(a) == len(b) and off < float(sys.argv[3]) else "off by %g of the size" % off)' "$1" "$2" "$3" || fail "$4"
}
expect 0 'read back and compared' "$program" convert --dtype int8 model small
for type in f32 int8; do
    "$program" embed -q -m small --pooling mean --dtype $type -f jsonl lines.txt > small.jsonl || fail "embed of int8 in $type"
    near f32.jsonl small.jsonl 0.15 "vectors of int8 in $type"
done
cmp -s f32.jsonl int8.jsonl && fail "int8 computes as f32"
expect 0 'read back and compared' "$program" convert small again
same small/model.safetensors again/model.safetensors "int8, written again"

# Names without a prefix, as the published folder has them.
python3 - model bare << 'EOP'
import json, os, shutil, struct, sys
shutil.copytree(*sys.argv[1:])
path = os.path.join(sys.argv[2], "model.safetensors")
data = open(path, "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head = {k.replace("bert.", "", 1): v for k, v in json.loads(data[8:8 + n]).items()}
text = json.dumps(head).encode()
open(path, "wb").write(struct.pack("<Q", len(text)) + text + data[8 + n:])
EOP
sed -i 's/NomicBertForPreTraining/NomicBertModel/' bare/config.json
"$program" embed -q -m bare --pooling mean -f jsonl lines.txt > bare.jsonl || fail "embed without a prefix"
same f32.jsonl bare.jsonl "vectors of names without a prefix"

right=model refusing='embed -q -m broken --pooling mean -o no.npy lines.txt'
refused config.json 's/"num_experts": 5/"num_experts": 4/' 'mlp.experts.mlp.w1: shape: expected \[160,24\] by config.json, got \[200,24\]'
refused config.json 's/"moe_every_n_layers": 2/"moe_every_n_layers": 0/' 'mlp.fc1.weight: expected a tensor, got none'
refused config.json 's/"moe_top_k": 2/"moe_top_k": 6/' 'moe_top_k: expected 1 to num_experts, 5'
refused config.json 's/"expert_choice_router": false/"expert_choice_router": true/' 'expert_choice_router: expected false, got true'
done_testing
