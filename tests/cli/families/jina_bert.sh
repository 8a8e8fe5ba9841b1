#!/bin/sh
# jina_bert.sh — folders of jina-embeddings-v2: tensors without a prefix, keys that distinguish them from BERT, and
# rejected ones.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/jina_bert

# The published folders have no prefix.  ("bert." of the header becomes blanks after its JSON.)
copy masked masked
python3 - masked/model.safetensors <<'END' || fail "no Python"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = {k.replace("bert.", "", 1): v for k, v in json.loads(data[8:8 + n]).items()}
header = json.dumps(header).encode().ljust(n)
open(sys.argv[1], "wb").write(struct.pack("<Q", len(header)) + header + data[8 + n:])
END
sed 's/"JinaBertForMaskedLM"/"JinaBertModel"/; s/{/{"auto_map": {"AutoModel": "jinaai\/jina-bert-implementation--modeling_bert.JinaBertModel"},/' "$golden/masked/config.json" > masked/config.json
sentences 40 > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
cp base/vocab.txt base/tokenizer_config.json masked
expect 0 '' "$program" info -m masked
grep -qE '^  family +jina_bert$' out || fail "$(grep family out)"
expect 0 '' "$program" embed -q -m masked --pooling mean -o bare.npy text.txt
copy masked whole
cp base/vocab.txt base/tokenizer_config.json whole
expect 0 '' "$program" embed -q -m whole --pooling mean -o whole.npy text.txt
same bare.npy whole.npy "vectors of tensors without a prefix"
expect 0 'read back and compared' "$program" convert masked written
for key in '"model_type": "bert"' '"feed_forward_type": "geglu"' '"position_embedding_type": "alibi"' '"auto_map"'; do holds written/config.json "$key"; done
expect 0 '' "$program" embed -q -m written --pooling mean -o written.npy text.txt
same bare.npy written.npy "vectors of the folder that was written"

right=whole refusing='embed -q -m broken --pooling mean -o no.npy text.txt'
refused config.json 's/"geglu"/"reglu"/' 'feed_forward_type: expected .* got reglu'
refused config.json 's/"geglu"/true/' 'feed_forward_type: expected a string, got true'
refused config.json 's/"alibi"/"absolute"/' 'feed_forward_type: expected .* got geglu'
refused config.json 's/"geglu"/"original"/' 'position_embedding_type: expected .*"relative_key".* got "alibi"'
refused config.json 's/{/{"alibi_scaling": 2,/' 'alibi_scaling: expected 1, got 2'
refused config.json 's/"hidden_act": "gelu"/"hidden_act": "relu"/' 'hidden_act: expected .* got relu'
refused config.json 's/"intermediate_size": 40/"intermediate_size": 48/' 'mlp.gated_layers.weight: shape: expected \[96,24\] by config.json, got \[80,24\]'
refused config.json 's/"num_hidden_layers": 2/"num_hidden_layers": 3/' 'encoder.layer.2.attention.self.query.weight: expected a tensor, got none'

# Norms of queries and keys: auto_map names the code. Without it, the tensors are not JinaBERT's.
"$program" info -m "$golden/../jina_bert_qk/masked" | grep -qE '^  family +jina_bert_qk$' || fail "jina_bert_qk is not recognized"
copy ../jina_bert_qk/masked qk
cp base/vocab.txt base/tokenizer_config.json qk
expect 0 'read back and compared' "$program" convert qk qk_written
for key in '"model_type": "bert"' '"AutoModelForMaskedLM": "jinaai/jina-bert-v2-qk-post-norm--'; do holds qk_written/config.json "$key"; done
"$program" embed -q -m qk --pooling mean -o qk.npy text.txt && "$program" embed -q -m qk_written --pooling mean -o qk_written.npy text.txt || fail "embed"
same qk.npy qk_written.npy "vectors of the folder with norms of queries and keys"
sed 's/qk-post-norm/implementation/' "$golden/../jina_bert_qk/masked/config.json" > qk/config.json
expect 3 'mlp.gated_layers.weight: expected a tensor, got none' "$program" embed -q -m qk --pooling mean -o no.npy text.txt
sed 's/"attn_implementation"/"auto_map": {"AutoConfig": "jinaai\/jina-bert-v2-qk-post-norm--x.JinaBertConfig"}, &/' "$golden/masked/config.json" > whole/config.json
expect 3 'attention.self.layer_norm_q.weight: expected a tensor, got none' "$program" embed -q -m whole --pooling mean -o no.npy text.txt

# Folders with their tokenizer: ids of transformers, vectors, words for masks.
masked_folder "$golden/whole"
masked_folder "$golden/../jina_bert_qk/whole"
done_testing
