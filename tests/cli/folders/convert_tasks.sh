#!/bin/sh
# convert_tasks.sh — a fine-tuned model for every task of include/roformer/inspect/tasks.def, before and after convert:
# the same config.json, weights, predictions and scores.  tools/check/convert.py does the same with transformers.
. "$(dirname "$0")/../lib"
tasks=$(sed -n 's/^RFT(\([a-z0-9_]*\),.*/\1/p' "$repository/include/roformer/inspect/tasks.def")
[ "$(echo "$tasks" | wc -w)" -ge 9 ] || fail "tasks: $tasks"

# data_of TASK   train.FILE of it, and dev with other examples
data_of() {
    awk -v task="$1" 'BEGIN { srand(7); split("film book day cat town", noun); split("bad poor fair good great", word);
        if (task == "tag" ) file = "conll"; else if (task == "qa" || task == "mc") file = "jsonl"; else file = "tsv"
        header = task == "embed" || task == "cross" ? "text\tpair\tscore" : task == "sim" ? "text\tpair" : "text\tlabel"
        for (part = 0; part < 2; part++) {
            to = (part ? "dev." : "train.") file
            if (file == "tsv") print header > to
            for (i = 0; i < (part ? 12 : 40); i++) {
                y = int(rand() * 5); n = noun[1 + int(rand() * 5)]; text = "the " n " is " word[y + 1] " ."
                if (task == "cls") print text "\t" (y > 2 ? "pos" : "neg") > to
                else if (task == "reg") print text "\t" y / 4 > to
                else if (task == "multilabel") print text "\t" (y > 2 ? "good," : "bad,") n > to
                else if (task == "ordinal") print text "\t" y + 1 > to
                else if (task == "tag") print "the O\n" n " B-NOUN\nis O\n" word[y + 1] " B-WORD\n. O\n" > to
                else if (task == "embed" || task == "cross") print text "\tthe " n " was " word[y + 1] " .\t" y / 4 > to
                else if (task == "sim") print text "\tthe " n " was " word[y + 1] " ." > to
                else if (task == "qa") printf "{\"id\": \"q%d\", \"context\": \"%s\", \"question\": \"what is %s ?\", \"answers\": {\"text\": [\"%s\"], \"answer_start\": [4]}}\n", i, text, word[y + 1], n > to
                else if (task == "mc") printf "{\"id\": \"m%d\", \"text\": \"the %s is\", \"choices\": [\"%s .\", \"the .\", \"is .\"], \"label\": 0}\n", i, n, word[y + 1] > to
                else exit 1
            }
        }
        print file }'
}

sentences 40 > text.txt
printf 'the film book day cat town is was bad poor fair good great what ? .\n' >> text.txt
"$program" vocab -q --text text.txt --size 90 -o base || exit 1
small_json base/vocab.txt 1 16 '"max_position_embeddings": 64'
"$program" pretrain -q --text text.txt --model base --config small.json -o pre --max_steps 1 --tokens_per_batch 256 --max_length 32 --eval_steps 0 || exit 1
for task in $tasks; do
    mkdir "$task" && cd "$task" || exit 1
    file=$(data_of "$task") || { fail "$task: no examples of it are here: add them to data_of"; cd ..; continue; }
    "$program" finetune -q --task "$task" --train "train.$file" --dev "dev.$file" -m ../pre -o model --max_steps 6 --learning_rate 3e-3 \
        --per_device_train_batch_size 8 --max_length 32 --save_strategy no > log 2>&1 || { fail "$task: $(cat log)"; cd ..; continue; }
    "$program" convert model converted > log 2>&1 || fail "$task: convert: $(cat log)"
    python3 - << 'P' || fail "$task: config.json"
import json
a, b = (json.load(open(f + "/config.json")) for f in ("model", "converted"))
bad = {k: (a.get(k), b.get(k)) for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)}
if bad:
    raise SystemExit("before and after: %s" % bad)
P
    same model/model.safetensors converted/model.safetensors "$task"
    for m in model converted; do
        "$program" evaluate -q -m $m --dev "dev.$file" --json > $m.scores 2> err || fail "$task: evaluate $m: $(cat err)"
        case $task in
        embed | sim) "$program" similarity -q -m $m "dev.$file" > $m.said 2> err || fail "$task: similarity $m: $(cat err)" ;;
        *) "$program" predict -q -m $m --input "dev.$file" --format jsonl > $m.said 2> err || fail "$task: predict $m: $(cat err)" ;;
        esac
    done
    same model.scores converted.scores "$task: scores"
    same model.said converted.said "$task: answers"
    [ -s model.said ] || fail "$task: no answers"
    cd ..
done
# What transformers states of an ordinal model: outputs by their names, labels next to them.
holds ordinal/converted/config.json '"id2label": {"0": "> 1", "1": "> 2", "2": "> 3", "3": "> 4"}'
holds ordinal/converted/config.json '"task_labels": ["1", "2", "3", "4", "5"]'
done_testing
