#!/bin/sh
# paper.sh — each preset of experiments/paper for three updates, on synthetic data in its format and with small models;
# and the messages about missing data and other formats.
. "$(dirname "$0")/../lib"
experiment=$(dirname "$program")/experiments/experiment
glue=$(dirname "$program")/experiments/glue
presets=$repository/experiments/paper
if [ ! -x "$experiment" ] || [ ! -x "$glue" ]; then echo "SKIPPED: no $experiment or $glue"; exit 0; fi
shape='"hidden_size": 16, "embedding_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32'
run() { preset=$1 work=$2; shift 2; "$experiment" "$presets/$preset.json" "$work" "$@" --data data --results "results-$preset" --overlay over.json --threads 1 --program "$program"; }
updates() { grep -q '"step": *3[,}]' "$1/metrics.jsonl" || fail "$1 ends at $(tail -n 1 "$1/metrics.jsonl")"; }

# Nothing is there: every file by name, where it was looked for, and where it comes from, before a folder is made.
mkdir empty
for preset in mlm enwik8 chinese scm; do
    expect 4 'are not in empty \(--data\)' "$experiment" "$presets/$preset.json" none --data empty --results none --program "$program"
    sed -n 's/.*{"path": "\([^"]*\)".*/\1/p' "$presets/$preset.json" | while read -r path; do holds err "looked for empty/$path"; done
    [ ! -e none ] || fail "$preset left a folder"
done
holds err "SCM's train.json of github.com/china-ai-law-challenge"
expect 4 '12 of 12 files of .paper-glue. are not in empty' "$glue" "$presets/glue.json" none --data empty --results none --program "$program"
holds err 'looked for empty/glue/QQP/train.tsv'

# English: BookCorpus and Wikipedia, then GLUE with these models.
mkdir -p data/bookcorpus data/wikipedia-en data/enwik8 data/chinese data/cail2019-scm data/glue
awk 'BEGIN { srand(5); split("good great fine happy bad awful sad poor", p); split("film book day cat town", w);
    for (i = 0; i < 300; i++) print "the " w[1 + int(rand() * 5)] " number " i " is " p[1 + int(rand() * 8)] " .\n" }' > data/bookcorpus/bookcorpus.txt
sed 's/film/city/' data/bookcorpus/bookcorpus.txt | gzip > data/wikipedia-en/wikipedia.txt.gz
cat > over.json << EOC
{"vocab_size": 120, "config": {"vocab_size": 120, $shape}, "options": {"max_steps": 3, "tokens_per_batch": 128,
 "gradient_accumulation_steps": 2, "max_length": 32, "logging_steps": 1, "eval_steps": 3, "eval_documents": 4, "save_steps": 3}}
EOC
expect 0 '== english/bert-1' run mlm english
for row in roformer bert; do updates english/$row-1; done
grep -q '"position_embedding_type": *"absolute"' english/bert-1/config.json || fail "bert has no learned positions"

tsv() { # FOLDER COLUMNS TEXT PAIR LABEL LABELS FILE...
    folder=data/glue/$1 columns=$2 text=$3 pair=$4 label=$5 labels=$6
    mkdir -p "$folder"
    shift 6
    for file; do
        awk -v n="$columns" -v t="$text" -v p="$pair" -v l="$label" -v labels="$labels" 'BEGIN { k = split(labels, y, " ");
            for (i = 0; i <= 24; i++) for (c = 1; c <= n; c++) printf "%s%s", !i ? "c" c : c == t ? "the film " i : c == p ? "a day " i : c == l ? y[1 + i % k] : "x", c < n ? "\t" : "\n" }' > "$folder/$file"
    done
}
tsv MRPC 5 4 5 1 '0 1' train.tsv dev.tsv
tsv SST-2 2 1 0 2 '0 1' train.tsv dev.tsv
tsv QNLI 4 2 3 4 'entailment not_entailment' train.tsv dev.tsv
tsv STS-B 10 8 9 10 '0.5 2.0 4.5' train.tsv dev.tsv
tsv QQP 6 4 5 6 '0 1' train.tsv dev.tsv
tsv MNLI 12 9 10 12 'entailment neutral contradiction' train.tsv dev_matched.tsv
cat > over.json << 'EOC'
{"seeds": [1], "learning_rate": [2e-5], "options": {"max_steps": 3, "per_device_train_batch_size": 4, "max_length": 32, "logging_steps": 1}}
EOC
expect 0 '== english/paper-glue/MNLI-m/bert' "$glue" "$presets/glue.json" english --data data --results results-glue --overlay over.json --threads 1 --program "$program"
for task in MRPC SST-2 QNLI STS-B QQP MNLI-m; do [ -s english/paper-glue/$task/bert-2e-05-1/scores.json ] || fail "$task has no scores"; done

# Bytes with linear attention.
for part in train valid test; do sed "s/film/$part/" data/bookcorpus/bookcorpus.txt > data/enwik8/$part.txt; done
cat > over.json << EOC
{"config": {$shape}, "options": {"max_steps": 3, "tokens_per_batch": 256, "gradient_accumulation_steps": 2, "max_length": 128,
 "logging_steps": 1, "eval_steps": 3, "save_steps": 3}, "evaluate": {"max_length": [128]}}
EOC
expect 0 '== enwik8/performer-1' run enwik8 enwik8
for row in performer_rope performer; do updates enwik8/$row-1; done
holds results-enwik8/table.txt 'in bits for each token'
expect 3 'data/enwik8/train.txt: [0-9]* bytes, expected 90000000' "$experiment" "$presets/enwik8.json" enwik8 --data data --results none --program "$program"

# Chinese: six stages, each from the one before, then triplets.
awk 'BEGIN { srand(7); split("甲 乙 丙 丁 戊 己 庚 辛 原告 被告 法院 借款", w, " ");
    for (i = 0; i < 200; i++) { for (j = 0; j < 12; j++) printf "%s", w[1 + int(rand() * 12)]; print "。\n" } }' > data/chinese/corpus.txt
awk 'BEGIN { for (i = 0; i < 12; i++) printf "{\"A\": \"原告甲\", \"B\": \"被告乙%d\", \"C\": \"借款丙\", \"label\": \"%s\"}\n", i, i % 2 ? "B" : "C" }' > data/cail2019-scm/train.json
cp data/cail2019-scm/train.json data/cail2019-scm/valid.json
gzip -c data/cail2019-scm/train.json > data/cail2019-scm/test.json.gz
cat > over.json << EOC
{"tokenizer": "chars", "vocab_size": 60, "config": {"vocab_size": 60, $shape}, "options": {"max_steps": 3, "tokens_per_batch": 128,
 "gradient_accumulation_steps": 2, "max_length": 32, "logging_steps": 1, "eval_steps": 3, "eval_documents": 4, "save_steps": 3}}
EOC
expect 0 '== chinese/stage6-1' run chinese chinese
for stage in 1 2 3 4 5 6; do updates chinese/stage$stage-1; done
cat > over.json << 'EOC'
{"options": {"max_steps": 3, "max_length": 32, "logging_steps": 1}, "evaluate": {"max_length": [32]}}
EOC
expect 0 '== chinese/roformer_1024-1' run scm chinese
for row in roformer_512 roformer_1024; do updates chinese/$row-1; done
grep -q '"choices":\[.*"label":1}' chinese/train.jsonl || fail "triplets: $(head -n 1 chinese/train.jsonl)"
grep -q '^beside [0-9.]* % of who reads nothing' results-scm/table.txt || fail "the prediction: $(cat results-scm/table.txt)"
grep -qE '^roformer_512 +1 +[0-9]' results-scm/table.txt || fail "table of scm: $(cat results-scm/table.txt)"

# Table 5 with published models: TensorFlow's files of BERT, WoBERT and RoFormer as their authors name them, a folder of transformers.
expect 1 'bert_512 begins with a published model: expected --hub DIR' run baselines published
mkdir -p hub/google-bert hub/models--sijunhe--nezha-cn-base/snapshots/abc
for name in google-bert/chinese_L-12_H-768_A-12 chinese_wobert_L-12_H-768_A-12; do cp -r "$repository/tests/golden/tensorflow/bert" hub/$name; done
cp -r "$repository/tests/golden/tensorflow/projected" hub/chinese_roformer_L-12_H-768_A-12
cp -r "$repository/tests/golden/tensorflow/nezha"/* hub/models--sijunhe--nezha-cn-base/snapshots/abc
for folder in hub/google-bert/* hub/chinese_* hub/models--*/snapshots/abc; do
    awk -v n="$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' $folder/bert_config.json)" 'BEGIN { split("[PAD] [UNK] [CLS] [SEP] [MASK] 原 告 被 法 院", w, " ");
        for (i = 1; i <= n; i++) print i in w ? w[i] : "w" i }' > $folder/vocab.txt
done
baselines() { run baselines published --hub hub; }
expect 0 '== published/nezha_512-1' baselines
for row in bert_512 wobert_512 roformer_512 roformer_1024 nezha_512; do
    updates published/$row-1
    grep -qE "^$row +1 +[0-9]" results-baselines/table.txt || fail "table of baselines: $(cat results-baselines/table.txt)"
done
rm -r hub/chinese_wobert* published
expect 1 'wobert_512 begins with junnyu/wobert_chinese_base: expected it below hub' baselines

# CLUE with the last stage's model: labels as texts and numbers, lists, rows without a label that annotators agreed on.
object() { # FOLDER FORMAT LABELS FILE...
    folder=data/clue/$1 format=$2 labels=$3
    mkdir -p "$folder"
    shift 3
    for file; do
        awk -v format="$format" -v labels="$labels" 'BEGIN { k = split(labels, y, " ");
            for (i = 0; i < 24; i++) { line = format; gsub("LABEL", y[1 + i % k], line); gsub("N", i, line); print line } }' > "$folder/$file"
    done
}
pair='{"sentence1": "原告甲N", "sentence2": "被告\\t乙", "label": "LABEL"}'
object AFQMC "$pair" '0 1' train.json dev.json
object TNEWS '{"label": "LABEL", "label_desc": "x", "sentence": "法院甲N"}' '100 101 102' train.json dev.json
object IFLYTEK '{"label": LABEL, "sentence": "借款乙N"}' '7 8' train.json dev.json
object CMNLI "$pair" 'entailment neutral contradiction -' train.json dev.json
object OCNLI "$pair" 'entailment neutral contradiction -' train.50k.json dev.json
object CSL '{"id": N, "abst": "原告丁", "keyword": ["戊", "己N"], "label": "LABEL"}' '0 1' train.json dev.json
cat > over.json << 'EOC'
{"seeds": [1], "learning_rate": [2e-5], "options": {"max_steps": 3, "per_device_train_batch_size": 4, "max_length": 32, "logging_steps": 1}}
EOC
expect 0 '== chinese/paper-clue/CSL/stage6' "$glue" "$presets/clue.json" chinese --data data --results results-clue --overlay over.json --threads 1 --program "$program"
for task in AFQMC TNEWS IFLYTEK CMNLI OCNLI CSL; do [ -s chinese/paper-clue/$task/stage6-2e-05-1/scores.json ] || fail "$task has no scores"; done
grep -q "^原告丁	戊 己3	1$" chinese/paper-clue/data/CSL-train.tsv || fail "keywords: $(head -n 5 chinese/paper-clue/data/CSL-train.tsv)"
! grep -q -- '-$' chinese/paper-clue/data/OCNLI-dev.tsv || fail "rows without a label stayed"
holds results-clue/table.txt 'roformer_chinese_base'
rm data/clue/CSL/dev.json
expect 4 'looked for data/clue/CSL/dev.json' "$glue" "$presets/clue.json" chinese --data data --results none --program "$program"

# Of another layout, and a stage without the one before.
expect 1 'begins with .*stage6-1, which has no model.safetensors: train that first' run scm alone
echo '{"A": "x", "B": "y", "C": "z"}' > data/cail2019-scm/valid.json
expect 3 'valid.json: the first line has no such member, expected "label" in each object' run scm alone
tsv QQP 4 4 0 0 '0 1' dev.tsv
expect 3 'QQP/dev.tsv: 4 columns in the first line, expected 6 between tabs' "$glue" "$presets/glue.json" english --data data --results none --program "$program"
tr '\n' ' ' < data/bookcorpus/bookcorpus.txt > one && mv one data/bookcorpus/bookcorpus.txt
expect 3 'bookcorpus.txt: no document ends in its first megabyte, expected an empty line behind each document' run mlm other
rm data/chinese/corpus.txt
expect 4 'looked for data/chinese/corpus.txt, .zst and .gz' run chinese other
done_testing
