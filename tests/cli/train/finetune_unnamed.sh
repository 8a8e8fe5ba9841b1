#!/bin/sh
# finetune_unnamed.sh — heads whose labels are LABEL_0, LABEL_1, ..., as transformers writes them if nobody names them: examples give the
# numbers or these names, and training goes on from the head, also if the examples have names of their own (as run_glue.py does).
. "$(dirname "$0")/../lib"
awk 'BEGIN { srand(3); split("good great fine happy lovely", p); split("bad awful sad poor ugly", n); split("film book day cat town", w); print "text\tlabel";
    for (i = 0; i < 200; i++) { y = int(rand() * 2); print "the " w[1 + int(rand() * 5)] " is " (y ? p[1 + int(rand() * 5)] : n[1 + int(rand() * 5)]) " .\t" (y ? "pos" : "neg") } }' > named.tsv
sed 's/\tneg$/\t0/; s/\tpos$/\t1/' named.tsv > numbers.tsv
sed 's/\tneg$/\tLABEL_0/; s/\tpos$/\tLABEL_1/' named.tsv > labels.tsv
cut -f1 named.tsv | sed 1d > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
small_json base/vocab.txt 1 16 '"max_position_embeddings": 64' && mv small.json base/config.json
"$program" pretrain -q --text text.txt --model base --config base/config.json -o pre --max_steps 2 --tokens_per_batch 256 --max_length 32 --eval_steps 0 || exit 1
"$program" finetune -q --task cls --train named.tsv --dev named.tsv -m pre -o model --num_train_epochs 12 --learning_rate 1e-2 --per_device_train_batch_size 16 --max_length 32 \
    --save_strategy no > out 2>&1 || fail "train: $(cat out)"
holds out 'accuracy               1.0000'
sed -i 's/"neg"/"LABEL_0"/g; s/"pos"/"LABEL_1"/g' model/config.json && rm -f model/checksums.json

# The head answers as it is.
for file in numbers labels; do
    expect 0 '' "$program" evaluate -q -m model --dev $file.tsv --json
    holds out '"eval_accuracy": 1.0'
done
expect 3 "expected one of the 2 known labels .LABEL_0, LABEL_1., got 'pos'" "$program" evaluate -q -m model --dev named.tsv

# One step that is almost none: a new head would be right half of the time.
tune() { "$program" finetune --task cls --dev "$1" --train "$1" -m model -o "$2" --max_steps 1 --learning_rate 1e-7 --max_length 32 --seed 9 --save_strategy no > out 2> err || fail "finetune $1: $(cat err)"; }
for file in numbers labels named; do
    tune $file.tsv tuned-$file
    holds err 'and its head'
    holds out 'accuracy               1.0000'
done
for file in numbers labels; do holds tuned-$file/config.json '"id2label": {"0": "LABEL_0", "1": "LABEL_1"}'; done
holds tuned-named/config.json '"id2label": {"0": "neg", "1": "pos"}'

# Not all outputs need to occur; a number that is no output, or more names than outputs, make a new head.
{ head -1 numbers.tsv; grep '1$' numbers.tsv; } > ones.tsv
tune ones.tsv tuned-ones
holds err 'and its head'
holds tuned-ones/config.json '"1": "LABEL_1"'
{ cat named.tsv; printf 'the day\tnobody knows\n'; } > three.tsv
tune three.tsv tuned-three
holds err 'and a new head'

# A checkpoint goes on with the numbers.
for steps in 2 '4 --resume resumed/checkpoint-2'; do
    # shellcheck disable=SC2086
    "$program" finetune -q --task cls --train numbers.tsv -m model -o resumed --save_steps 2 --max_length 32 --max_steps $steps > out 2> err || fail "to step $steps: $(cat err)"
done
holds resumed/config.json '"1": "LABEL_1"'
done_testing
