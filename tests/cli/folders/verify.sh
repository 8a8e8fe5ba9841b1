#!/bin/sh
# verify.sh — a folder is unchanged, or the changed file is named.
. "$(dirname "$0")/../lib"
awk 'BEGIN { for (i = 0; i < 400; i++) print "the red house sees the blue river by the old road number " i % 7 ".\n" }' > text.txt
"$program" vocab -q --text text.txt --size 60 -o model || exit 1
small_json model/vocab.txt 1 16 '"max_position_embeddings": 64'
"$program" pretrain -q --text text.txt --model model --config small.json --tokens_per_batch 128 --max_length 32 --max_steps 4 --save_steps 2 || exit 1

# The verdict is a line for each folder that was named; every file has one with -v.
expect 0 '' "$program" verify model model/checkpoint-2
printf 'model: intact: 19 files in 3 folders\nmodel/checkpoint-2: intact: 7 files in 1 folder\n' > expected
same expected out 'the verdict'
expect 0 '' "$program" verify -v model/checkpoint-2
holds out 'model/checkpoint-2/optimizer.safetensors: intact'
[ "$(grep -c ': intact$' out)" -eq 7 ] || fail "files: $(cat out)"
expect 0 '' "$program" verify --verbose model
[ "$(grep -c '^model/checkpoint-.*: intact$' out)" -eq 14 ] || fail "files of both checkpoints: $(cat out)"
holds out 'model/model.safetensors: intact'

# One bit, one byte less, one file less.
cp -r model bit && printf x | dd of=bit/checkpoint-4/model.safetensors bs=1 seek=3000 conv=notrunc 2> /dev/null
expect 3 '1 of 3 folders are damaged; bit/checkpoint-4: model.safetensors: CRC' "$program" verify bit
holds out 'bit/checkpoint-4/model.safetensors: damaged (CRC)'
holds out 'bit: damaged: 1 of 3 folders'
[ "$(wc -l < out)" -eq 2 ] || fail "more than what is damaged: $(cat out)"
expect 3 'bit/checkpoint-4: model.safetensors: CRC' "$program" verify --json bit/checkpoint-4
holds out '"damage": "CRC"'
holds out '"intact": false'
cp -r model short && head -c 100 model/config.json > short/config.json
expect 3 'short: config.json: 100 bytes instead of' "$program" verify short
cp -r model gone && rm gone/checkpoint-2/vocab.txt
expect 3 'gone/checkpoint-2: vocab.txt: missing' "$program" verify gone
cp -r model unlisted && rm unlisted/checkpoint-2/COMPLETE
expect 3 'COMPLETE: missing' "$program" verify unlisted

# A file that is on no list and is read all the same: a model that cannot be opened is not called intact.
cp -r model stray && printf '{}' > stray/tokenizer.json
expect 3 'stray: .*the folder cannot be opened: stray/tokenizer.json' "$program" verify stray
holds out 'stray: damaged: 1 of 3 folders'
rm stray/tokenizer.json && printf '{}' > stray/modules.json
expect 3 'stray: .*cannot be opened: stray/modules.json: expected a list' "$program" verify stray
rm stray/modules.json && printf 'hello\n' > stray/notes
expect 0 '' "$program" verify stray
cp -r model words && printf 'hello\n' > words/checkpoint-4/tokenizer.json
expect 3 '1 of 3 folders are damaged; words/checkpoint-4: ' "$program" verify words

# Every file that a result depends on has a checksum: what sentence-transformers keeps, too, whichever program wrote it.
cp -r model from && mkdir from/1_Pooling from/2_Dense from/2_Dense/deeper && rm -r from/checkpoint-* from/checksums.json
cat > from/modules.json << 'EOC'
[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
 {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
EOC
echo '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}' > from/1_Pooling/config.json
echo '{"max_seq_length": 32, "do_lower_case": false}' > from/sentence_bert_config.json
echo '{"temperature": 0.5}' > from/generation_config.json
expect 0 'whole: written' "$program" convert from whole
for file in 1_Pooling/config.json modules.json sentence_bert_config.json config.json tokenizer_config.json vocab.txt generation_config.json; do
    rm -rf changed && cp -r whole changed
    if [ $file = 1_Pooling/config.json ]; then
        sed -i 's/"pooling_mode_mean_tokens": true/"pooling_mode_mean_tokens": false/; s/"pooling_mode_cls_token": false/"pooling_mode_cls_token": true/' changed/$file
    else echo ' ' >> changed/$file; fi
    cmp -s whole/$file changed/$file && fail "$file was not changed"
    expect 3 "changed: $file: " "$program" verify changed
done
expect 0 '' "$program" verify whole
grep -q 'without a checksum' err && fail "not listed: $(cat err)"
# A list without them, as earlier versions wrote it, is compared as far as it goes, and says so.
cp model/checksums.json whole/checksums.json && cp model/model.safetensors model/config.json whole
expect 0 'whole: without a checksum, and not compared: generation_config.json, modules.json, sentence_bert_config.json, 1_Pooling/config.json; checksums.json' "$program" verify whole
expect 0 '' "$program" verify --json whole
holds out '"1_Pooling/config.json"'

# A model from elsewhere has no list: it is read instead.
"$make_model" foreign || exit 1
expect 0 '' "$program" verify foreign
holds out 'has no checksums'
printf '{' > foreign/modules.json
expect 3 'foreign: foreign/modules.json:1: ' "$program" verify foreign
rm foreign/modules.json
cp -r model without && rm without/checksums.json && head -c 1000 model/model.safetensors > without/model.safetensors
expect 3 'without: .*model.safetensors' "$program" verify without
head -c 5000 foreign/model.safetensors > cut && mv cut foreign/model.safetensors
expect 3 'foreign' "$program" verify foreign
expect 4 'nowhere' "$program" verify nowhere
expect 2 'FOLDER' "$program" verify
done_testing
