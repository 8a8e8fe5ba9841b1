#!/bin/sh
# distilbert.sh — DistilBERT folders with their tokenizer agree with transformers: ids, predictions for a mask, vectors,
# scores of pairs. Keys that transformers does not use are not used.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/distilbert
rm -rf whole && cp -r "$golden/whole" whole && chmod -R u+w whole
masked_folder whole

# [CLS] A [SEP] B [SEP]: this model has no token types, and the class gives none.
cp whole/tokenizer*.json whole/pairs
{ printf 'text\tpair\n'; sed 's/$/\tthe river runs to the sea/' texts.txt; } > pairs.tsv
expect 0 '' "$program" predict -q -m whole/pairs --input pairs.tsv
sed '1d; s/^/"score": /' out > scores.txt
close_json whole/pairs/scores.txt scores.txt

# A sentence model: what modules.json says, as in msmarco-distilbert.
cp -r whole sentences && rm -r sentences/pairs && mkdir sentences/1_Pooling
echo '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]' > sentences/modules.json
echo '{"word_embedding_dimension": 24, "pooling_mode_mean_tokens": true}' > sentences/1_Pooling/config.json
echo '{"max_seq_length": 24, "do_lower_case": false}' > sentences/sentence_bert_config.json
"$program" embed -q -m sentences --format jsonl texts.txt > sentences.jsonl || fail "embed"
close_numbers whole/vectors.jsonl sentences.jsonl

# Written and read again: the same names of keys and tensors.
expect 0 'read back and compared' "$program" convert whole written
same whole/model.safetensors written/model.safetensors "DistilBERT after convert"
for key in '"dim": 24' '"n_layers": 2' '"n_heads": 2' '"hidden_dim": 40' '"activation": "gelu"' '"seq_classif_dropout": 0.2'; do
    holds written/config.json "$key"
done
! grep -q '"hidden_size"\|"type_vocab_size"' written/config.json || fail "keys of BERT: $(cat written/config.json)"

# Other names of keys, which transformers accepts; those without effect.
sed 's/"dim"/"hidden_size"/; s/"n_layers"/"num_hidden_layers"/; s/{/{"layer_norm_eps": 0.1, "type_vocab_size": 7, "tie_weights_": true, /' whole/config.json > sentences/config.json
"$program" embed -q -m sentences --format jsonl texts.txt > others.jsonl || fail "embed with other names of keys"
same sentences.jsonl others.jsonl "other names of keys"
done_testing
