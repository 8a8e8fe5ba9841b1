#!/bin/sh
# finetune.sh — from labelled lines to a folder that answers; stopped, resumed, refused.
. "$(dirname "$0")/lib"
awk 'BEGIN { srand(3); split("good great fine happy lovely", p); split("bad awful sad poor ugly", n); split("film book day cat town", w); print "text\tlabel";
    for (i = 0; i < 240; i++) { y = int(rand() * 2); print "the " w[1 + int(rand() * 5)] " is " (y ? p[1 + int(rand() * 5)] : n[1 + int(rand() * 5)]) " .\t" (y ? "pos" : "neg") } }' > all.tsv
head -181 all.tsv > train.tsv
{ head -1 all.tsv; sed -n '182,$p' all.tsv; } > dev.tsv
cut -f1 all.tsv | sed 1d > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
cat > base/config.json << EOC
{"model_type": "roformer", "vocab_size": $(wc -l < base/vocab.txt), "embedding_size": 32, "hidden_size": 32, "num_hidden_layers": 2,
 "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64, "hidden_dropout_prob": 0.1}
EOC
"$program" pretrain -q --text text.txt --model base --config base/config.json -o pre --max_steps 2 --tokens_per_batch 256 --max_length 64 --eval_steps 0 || exit 1
run="--train train.tsv --dev dev.tsv -m pre --learning_rate 5e-3 --warmup_ratio 0.1 --per_device_train_batch_size 16 --num_train_epochs 8 --max_length 32"

# A whole run ends with a table; the folder says the same about the same file.
# shellcheck disable=SC2086
expect 0 'step 96/96' "$program" finetune $run -o model
holds err 'begins with the encoder of pre and a new head'
holds out 'accuracy               1.0000'
[ -s model/model.safetensors ] && [ -s model/metrics.jsonl ] && [ -s model/checksums.json ] || fail "files: $(ls model)"
holds model/config.json '"id2label": {"0": "neg", "1": "pos"}'
holds model/metrics.jsonl '"eval_accuracy"'
expect 0 '' "$program" evaluate -m model --dev dev.tsv --json
holds out '"eval_accuracy": 1.0'

# Texts, files and submissions.
expect 0 '' "$program" classify -m model 'the film is great .' 'the day is awful .'
sed -n 1p out | grep -q '^\[{"label": "pos", "score": 0.9' || fail "classify: $(cat out)"
sed -n 2p out | grep -q '^\[{"label": "neg", "score": 0.9' || fail "classify: $(cat out)"
expect 0 '' "$program" predict -m model --input dev.tsv -o said.tsv
cut -f1 said.tsv > said; cut -f2 dev.tsv > gold
same said gold 'predictions'
expect 0 '' "$program" predict -m model --input dev.tsv --format glue
[ "$(head -1 out)" = "index	prediction" ] && [ "$(wc -l < out)" -eq 61 ] || fail "glue: $(head -2 out)"
expect 0 '' "$program" predict -m model --input dev.tsv --format jsonl
head -1 out | grep -q '^{"label": "' || fail "jsonl: $(head -1 out)"

# Stopped and resumed: the same bytes.
# shellcheck disable=SC2086
expect 0 'saved checkpoint-31; continue with --resume .*parts/checkpoint-31' "$program" finetune $run -o parts --stop_after 31
expect 0 'step 96/96' "$program" finetune --resume parts/checkpoint-31
same model/model.safetensors parts/model.safetensors resumed

# Refused with a sentence.
expect 2 'needs --train' "$program" finetune -o nothing
expect 2 'needs -o DIR' "$program" finetune --train train.tsv -m pre
expect 2 'none of cls' "$program" finetune --task guess --train train.tsv -m pre -o nothing
expect 3 'no column text' "$program" finetune --train text.txt -m pre -o nothing
printf 'text\tlabel\nthe day\tpos\nthe \377\tneg\n' > bad.tsv
expect 3 'bad.tsv:3: byte 5 of the line .0xFF. is not UTF-8' "$program" finetune --train bad.tsv -m pre -o nothing
printf 'text,label\nthe day,pos\n"the film,neg\nthe cat,neg\n' > bad.csv
expect 3 'bad.csv:3: a quote opens here and never closes' "$program" finetune --train bad.csv -m pre -o nothing
printf 'text\tlabel\nthe day\tpos\nthe film\tfine\n' > bad.tsv
expect 3 'bad.tsv:3: label .fine. is none of the 2 that are known: neg, pos' "$program" finetune --train train.tsv --dev bad.tsv -m pre -o nothing
expect 3 'bad.tsv:3: label .fine. is none' "$program" evaluate -m model --dev bad.tsv
[ ! -e nothing ] || fail "a refused file left $(ls nothing)"
expect 4 'nowhere' "$program" finetune --train nowhere.tsv -m pre -o nothing
expect 2 'needs --text' "$program" evaluate -m model
expect 3 'has not been fine-tuned' "$program" classify -m pre 'the film'
expect 2 'needs --input' "$program" predict -m model
done_testing
