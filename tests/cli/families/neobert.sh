#!/bin/sh
# neobert.sh — folders of NeoBERT: rows by head come back in f32 and int8, widths are derived, and what is refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/neobert
sentences 40 > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
copy_with_words() { copy "$1" "$2"; cp base/vocab.txt base/tokenizer_config.json "$2"; }

# Weights in int8 have the order of the file, their scales too: in another order, vectors would be others.  In int8 they are off by 2 to 3 %.
near() {
    python3 -c 'import json, sys
a, b = ([x for line in open(f) for x in json.loads(line)] for f in sys.argv[1:])
off = (sum((x - y) ** 2 for x, y in zip(a, b)) / sum(x * x for x in a)) ** 0.5
sys.exit(0 if len(a) == len(b) and off < 0.05 else "off by %g of the size" % off)' "$1" "$2" || fail "$3"
}
for name in masked rounded; do
    copy_with_words $name model
    sed 's/{/{"auto_map": {"AutoModel": "model.NeoBERT"},/' "$golden/$name/config.json" > model/config.json
    rm -rf written small
    expect 0 'read back and compared' "$program" convert model written
    same model/model.safetensors written/model.safetensors "$name written"
    holds written/config.json '"auto_map"'
    expect 0 'read back and compared' "$program" convert --dtype int8 model small
    for type in f32 int8; do
        "$program" embed -q -m model --pooling mean --dtype $type -f jsonl text.txt > $type.jsonl || fail "embed in $type"
    done
    "$program" embed -q -m small --pooling mean --dtype int8 -f jsonl text.txt > small.jsonl || fail "embed of int8"
    near f32.jsonl small.jsonl "vectors of $name in int8"
    cmp -s f32.jsonl int8.jsonl && fail "$name: int8 computes as f32"
    expect 0 'read back and compared' "$program" convert small again
    same small/model.safetensors again/model.safetensors "$name in int8, written again"
    rm -rf again
done
expect 0 '' "$program" info -m written
grep -qE '^  family +neobert$' out || fail "$(grep family out)"
grep -qE '^  intermediate_size +32$' out || fail "$(grep intermediate_size out)"
holds written/config.json '"intermediate_size": 48'
holds written/config.json '"hidden_act": "SwiGLU"'

copy_with_words masked model
copy_with_words masked idle                     # what the class names otherwise, or does not read
sed -i 's/{/{"hidden_act": "SwiGLU", "rope_scaling": {"rope_type": "linear", "factor": 2}, "position_embedding_type": "absolute",/; /"hidden_act": "silu"/d' idle/config.json
echo w1 > words.txt
for m in model idle; do "$program" embed -q -m $m --pooling mean --format jsonl words.txt > $m.jsonl || fail "embed -m $m"; done
same model.jsonl idle.jsonl "vectors where keys are not read"
right=model refusing='embed -q -m broken --pooling mean -o no.npy text.txt'
refused config.json 's/{/{"rope": false,/' 'rope: expected true, got false'
refused config.json 's/{/{"rms_norm": false,/' 'rms_norm: expected true, got false'
refused config.json 's/{/{"ngpt": true,/' 'ngpt: expected false, got true'
refused config.json 's/{/{"hidden_act": "gelu",/' 'hidden_act: expected none or silu, the function of the gate, got gelu'
refused config.json 's/{/{"rope_theta": 20000,/' 'rope_theta: expected \[10000, 10000\], got 20000'
refused config.json 's/{/{"tie_word_embeddings": true,/' 'tie_word_embeddings: expected false, got true'
refused config.json 's/"dim_head": 12/"dim_head": 16/' 'dim_head: expected hidden_size / num_attention_heads, 24 / 2, got 16'
refused config.json 's/"intermediate_size": 60/"intermediate_size": 72/' 'ffn.w12.weight: shape: expected \[96,24\] by config.json, got \[80,24\]'
refused config.json 's/"intermediate_size": 60/"intermediate_size": 0/' 'intermediate_size: expected \[1, 1048576\], got 0'
refused config.json 's/"hidden_size": 24/"hidden_size": 48/; s/"dim_head": 12/"dim_head": 24/' 'encoder.weight: shape: expected \[61,48\] by config.json, got \[61,24\]'
masked_folder "$golden/whole"
done_testing
