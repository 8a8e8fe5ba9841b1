#!/bin/sh
# convert_classes.sh — folders of classes that are not read here by name (BertModel, BertForPreTraining and others): what
# is written has the same class, the same tensors under the same names, byte for byte, and the same files, and an index
# of its vectors stays valid.  tools/check/convert.py does the same with transformers and sentence-transformers.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden

# tensors A B [DTYPE]   B has the tensors of A; with a type, rounded to it
tensors() {
    python3 - "$@" << 'P' || fail "tensors of $1 and $2"
import json, struct, sys
def read(folder):
    data = open(folder + "/model.safetensors", "rb").read()
    n, = struct.unpack("<Q", data[:8])
    return {k: (v["dtype"], v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
def now(name): return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
def rounded(t):
    if sys.argv[3:] != ["f16"] or t[0] != "F32":
        return t
    x = struct.unpack("<%df" % (len(t[2]) // 4), t[2])
    return "F16", t[1], struct.pack("<%de" % len(x), *x)
a, b = map(read, sys.argv[1:3])
bad = [k for k in a if "decoder" not in k and rounded(a[k]) != b.get(now(k))] + sorted(b.keys() - set(map(now, a)))
sys.exit("%s" % bad if bad else 0)
P
}

# A sentence-transformers folder of a BertModel with its pooler.
cp -r "$golden/sentences/models/bert" plain && cp -r "$golden/sentences/cases/bert-cls-unit" sentence && chmod -R u+w plain sentence
rm -f sentence/model sentence/*.txt sentence/function && cp plain/* sentence
printf 'a card\n' > sentence/README.md
cp -r "$golden/bert/old_names" pretraining && chmod -R u+w pretraining
for m in plain sentence pretraining; do
    expect 0 "new-$m: written, read back and compared" "$program" convert $m new-$m
    tensors $m new-$m
    class=$(sed -n '/"architectures"/,/\]/p' $m/config.json | grep -o '"Bert[A-Za-z]*"')
    holds new-$m/config.json "\"architectures\": [$class]"
    (cd $m && find . -type f ! -name '*.safetensors' ! -name config.json ! -name golden.txt) > files
    while read -r file; do same "$m/$file" "new-$m/$file"; done < files
    expect 0 '' "$program" verify new-$m
    # All types; what stays in its type does so in int8, too, and comes back from it.
    expect 0 '' "$program" convert -q $m half-$m --dtype f16
    tensors $m half-$m f16
    expect 0 '' "$program" convert -q $m bf16-$m --dtype bf16
    expect 0 '' "$program" convert -q $m int8-$m --dtype int8
    holds out 'pooler.dense.weight  F32'
    expect 0 '' "$program" info -m int8-$m
    expect 0 '' "$program" convert -q int8-$m again-$m
    same int8-$m/model.safetensors again-$m/model.safetensors
    same int8-$m/config.json again-$m/config.json
    expect 0 '' "$program" convert -q int8-$m back-$m --dtype f32
done
holds out 'cls.seq_relationship.weight  F32'
grep -q '"pooler.dense"' int8-plain/config.json || fail "transformers would expect the pooler in int8: $(cat int8-plain/config.json)"

# The index of the vectors belongs to the written folder as well.
printf 'the old city\nriver\nthe house\n' > lines.txt
expect 0 '' "$program" index -q -m sentence -o lines.index lines.txt
expect 0 '' "$program" search -m sentence lines.index 'the city' && mv out found
expect 0 '' "$program" search -m new-sentence lines.index 'the city'
same found out "search with the written folder"

# The model in a folder of its own, as sentence-transformers before 1.2 wrote it.
mkdir -p below/0_Transformer && cp -r sentence/. below && rm -rf below/README.md
for file in config.json model.safetensors tokenizer_config.json vocab.txt sentence_bert_config.json; do [ ! -e below/$file ] || mv below/$file below/0_Transformer; done
sed 's/"path": ""/"path": "0_Transformer"/' sentence/modules.json > below/modules.json
printf 'a license\n' > below/LICENSE
expect 0 'new-below: written' "$program" convert below new-below
tensors below/0_Transformer new-below/0_Transformer
for file in LICENSE modules.json 1_Pooling/config.json 0_Transformer/vocab.txt; do same below/$file new-below/$file; done
[ ! -e new-below/config.json ] || fail "a second config.json: $(ls new-below)"
for m in below new-below; do "$program" embed -q -m $m -f jsonl lines.txt > $m.jsonl || fail "embed $m"; done
same below.jsonl new-below.jsonl "vectors of a model below"
expect 4 'new-below/LICENSE: expected a new file' "$program" convert below new-below
expect 0 '' "$program" convert -q below new-below --overwrite

# A pooler in int8, which compressed-tensors writes unless it is listed in ignore, and the remedy for what is not supported.
python3 - << 'P'
import json, struct
data = open("int8-plain/model.safetensors", "rb").read()
n, = struct.unpack("<Q", data[:8])
head = json.loads(data[8:8 + n])
k, m = head["pooler.dense.weight"]["shape"]
data = data[8 + n:]
at, to = head["pooler.dense.weight"]["data_offsets"]
x = struct.unpack("<%df" % (k * m), data[at:to])
scale = [max(map(abs, x[i * m:i * m + m])) / 127 for i in range(k)]
codes = struct.pack("<%db" % (k * m), *(round(x[i] / scale[i // m]) for i in range(k * m)))
head["pooler.dense.weight"] = {"dtype": "I8", "shape": [k, m], "data_offsets": [len(data), len(data) + k * m]}
head["pooler.dense.weight_scale"] = {"dtype": "F32", "shape": [k, 1], "data_offsets": [len(data) + k * m, len(data) + k * m + 4 * k]}
data = data + codes + struct.pack("<%df" % k, *scale)
old = [v for v in head.values() if "data_offsets" in v]                  # without the gap that the old pooler leaves
parts, end = [], 0
for v in sorted(old, key=lambda v: v["data_offsets"]):
    part = data[v["data_offsets"][0]:v["data_offsets"][1]]
    v["data_offsets"] = [end, end + len(part)]
    parts.append(part)
    end += len(part)
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open("int8-plain/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"".join(parts))
P
expect 0 '' "$program" convert -q int8-plain pooled
tensors int8-plain pooled
expect 0 '' "$program" convert -q int8-plain pooled --dtype f32 --overwrite
holds out 'pooler.dense.weight  I8 [8,8]'
holds out 'pooler.dense.weight_scale  F32 [8,1]  not written'
expect 0 '' "$program" convert -q plain dropped --drop 'pooler.*'
holds out 'pooler.dense.bias  F32 [8]  not written'

# Integers, such as the positions in older files, are written as they are.
sed 's/"pooler.dense.bias":{"dtype":"F32"/"pooler.dense.bias":{"dtype":"I32"/' plain/model.safetensors > new-plain/model.safetensors
expect 0 '' "$program" convert -q new-plain whole --dtype f16
holds out 'pooler.dense.bias  I32 [8]'
tensors new-plain whole f16
done_testing
