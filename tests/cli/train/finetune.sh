#!/bin/sh
# finetune.sh — from labeled lines to a folder that predicts; stopped, resumed, rejected.
. "$(dirname "$0")/../lib"
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

# Runs that seldom print a line print another one after ten seconds. They rest while the other runs work.
seldom='--max_steps 1000000 --logging_steps 1000000 --save_steps 0 --threads 1'
# shellcheck disable=SC2086
"$program" pretrain --text text.txt --model base --config base/config.json -o slow $seldom --eval_steps 0 2> slow.log &
slow=$!
# shellcheck disable=SC2086
"$program" finetune --train train.tsv -m pre -o slower $seldom > slower.log 2>&1 &
slower=$!
kill -s STOP $slow $slower

# A whole run ends with a table; the folder says the same about the same file.
# shellcheck disable=SC2086
expect 0 'step 96/96' "$program" finetune $run -o model
holds err '2 labels: neg, pos'
holds err 'starting from the encoder of pre and a new head'
holds out 'accuracy               1.0000'
[ -s model/model.safetensors ] && [ -s model/metrics.jsonl ] && [ -s model/checksums.json ] || fail "files: $(ls model)"
holds model/config.json '"id2label": {"0": "neg", "1": "pos"}'
holds model/metrics.jsonl '"eval_accuracy"'
holds model/README.md 'pipeline_tag: text-classification'
holds model/README.md '| `accuracy` | 1.0000 |'
expect 0 '' "$program" evaluate -m model --dev dev.tsv --json
holds out '"eval_accuracy": 1.0'
# The loss is that of the run's last evaluation; answers and losses of other batches differ by roundings.
loss_of() { sed -n 's/.*"eval_loss": *\([0-9.e-]*\).*/\1/p' "$1" | tail -1; }
close() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) * (a - b) <= 1e-10 * a * a) }'; }
close "$(loss_of out)" "$(loss_of model/metrics.jsonl)" || fail "eval_loss $(loss_of out), in training $(loss_of model/metrics.jsonl)"
expect 0 '53 of 60 .* 8 tokens' "$program" evaluate -m model --dev dev.tsv --max_length 8
expect 0 '53 of 60 .* 8 tokens' "$program" predict -m model --input dev.tsv --max_length 8
expect 0 '1 of 2 .* 32 tokens' "$program" classify -m model 'the day' "$(head -c 600 text.txt | tr '\n' ' ')"
{ cat dev.tsv; printf '\nthe day\tpos\nthe day\n'; } > some.tsv
expect 0 '1 empty line was skipped' "$program" evaluate -m model --dev some.tsv --max_bad_lines 1
holds err '1 malformed line was skipped, the first: some.tsv:64: expected the 2 columns of the header, got 1'

# Files that no run wrote are not written over, and no lock is left; a folder where a run has been may be used again.
for file in config.json vocab.txt tokenizer_config.json metrics.jsonl all_results.json modules.json report.html tokens.cache; do
    rm -rf own && mkdir own && echo 'of the user' > own/$file
    # shellcheck disable=SC2086
    expect 2 "own/$file: .*(would be overwritten|to replace)" "$program" finetune $run -o own --max_steps 1
    [ "$(cat own/$file)" = 'of the user' ] && [ ! -e own/.lock ] || fail "own/$file: $(ls -A own)"
    expect 2 "own/$file: .*(would be overwritten|to replace)" "$program" pretrain --text text.txt --model base -o own --max_steps 1
    [ "$(cat own/$file)" = 'of the user' ] && [ ! -e own/.lock ] || fail "own/$file: $(ls -A own)"
done
mkdir notes && echo 'of the user' > notes/notes.txt
# shellcheck disable=SC2086
expect 0 'saved' "$program" finetune $run -o notes --max_steps 1 --save_strategy no
[ "$(cat notes/notes.txt)" = 'of the user' ] || fail 'notes/notes.txt is lost'
rm -r notes/model.safetensors notes/checkpoint-*
# shellcheck disable=SC2086
expect 0 'saved' "$program" finetune $run -o notes --max_steps 1 --save_strategy no

# Texts, files and submissions.
expect 0 '' "$program" classify -m model 'the film is great .' 'the day is awful .'
cp out both
printf 'the film is great .\nthe day is awful .\n' | gzip > two.gz
input=two.gz expect 0 '' "$program" classify -m model
same both out 'compressed standard input'
sed -n 1p out | grep -q '^\[{"label": "pos", "score": 0.9' || fail "classify: $(cat out)"
sed -n 2p out | grep -q '^\[{"label": "neg", "score": 0.9' || fail "classify: $(cat out)"
expect 0 '' "$program" predict -m model --input dev.tsv -o said.tsv
cut -f1 said.tsv > said; cut -f2 dev.tsv > gold
same said gold 'predictions'
expect 0 '' "$program" predict -m model --input dev.tsv --format glue
[ "$(head -1 out)" = "index	prediction" ] && [ "$(wc -l < out)" -eq 61 ] || fail "glue: $(head -2 out)"
# evaluate has no file to train on: the option would name text of another kind.
expect 2 'train_file.* evaluate.*--dev' "$program" evaluate -m model --train_file train.tsv
expect 2 'train is not an option of roformer evaluate: .*--dev FILE' "$program" evaluate -m model --train train.tsv
# A page next to the run, where the user named none; the user's own stays.
expect 0 'model/report.html written' "$program" report model
holds model/report.html '<!DOCTYPE html>'
expect 0 'model/report.html written' "$program" report model
mkdir other && cp model/metrics.jsonl other && echo 'of the user' > other/report.html
expect 2 'other/report.html: not a report of this program' "$program" report other
[ "$(cat other/report.html)" = 'of the user' ] || fail 'other/report.html is lost'
expect 0 '' "$program" predict -m model --input dev.tsv --format jsonl
head -1 out | grep -q '^{"label": "' || fail "jsonl: $(head -1 out)"

# Stopped and resumed: the same bytes.
# shellcheck disable=SC2086
expect 75 '--resume .*parts/checkpoint-31' "$program" finetune $run -o parts --stop_after 31
# What needs a dev file finds the checkpoint's.
expect 75 'saved checkpoint-32;' "$program" finetune --resume parts/checkpoint-31 --early_stopping_patience 90 -o patient --stop_after 1
expect 0 'step 96/96' "$program" finetune --resume parts/checkpoint-31
same model/model.safetensors parts/model.safetensors resumed

# TERM in an evaluation of 60,000 examples: saved at once, and the resumed run begins with that evaluation.
{ head -1 dev.tsv; yes "$(sed 1d dev.tsv)" | head -60000; } > long.tsv
# shellcheck disable=SC2086
"$program" finetune $run --dev long.tsv --per_device_eval_batch_size 2 --eval_strategy steps --eval_steps 3 --logging_steps 1 -o evaluated 2> log &
pid=$!
await grep -qs 'step 3/' log
kill -s TERM $pid
wait $pid
code=$?
[ $code -eq 75 ] || fail "TERM in an evaluation gives $code: $(tail -3 log)"
holds log 'saved checkpoint-3; continue with'
! grep -q eval_ evaluated/metrics.jsonl || fail "an evaluation that was given up is in the log: $(tail -1 evaluated/metrics.jsonl)"
expect 75 'saved checkpoint-4;' "$program" finetune --resume latest -o evaluated --dev dev.tsv --stop_after 1
[ "$(sed -n 4p evaluated/metrics.jsonl | grep -c '"step":3.*eval_loss')" -eq 1 ] || fail "the evaluation is not made up for: $(cat evaluated/metrics.jsonl)"

# Other examples to evaluate on, in the same file: reported, and the best is determined again.
cp dev.tsv edited.tsv
# shellcheck disable=SC2086
expect 75 'saved checkpoint-8;' "$program" finetune $run --dev edited.tsv --eval_strategy steps --eval_steps 4 --save_strategy steps --save_steps 4 -o edited --stop_after 8
cp -r edited same-dev
expect 75 'saved checkpoint-12;' "$program" finetune --resume latest -o same-dev --stop_after 4
! grep -q 'has other examples than in the evaluations' err || fail "the same dev file is taken for another: $(cat err)"
sed -i 2d edited.tsv
expect 75 'dev has other examples than in the evaluations up to step 8' "$program" finetune --resume latest -o edited --stop_after 4
holds edited/checkpoint-12/trainer_state.json '"best_step": 12'
expect 75 'saved checkpoint-16;' "$program" finetune --resume latest -o edited --stop_after 4
! grep -q 'has other examples than in the evaluations' err || fail "said again: $(cat err)"

# Pairs: what was fine-tuned on them has no answer to one text.
awk -F '\t' 'NR == 1 { print "text\tpair\tlabel"; next } { print $1 "\t" $1 "\t" $2 }' train.tsv > twice.tsv
expect 0 '' "$program" finetune -q -m pre --max_length 32 --max_steps 2 --train twice.tsv -o twice
expect 2 'classify: expected pairs of texts' "$program" classify -m twice 'the film is great .'
expect 0 '' "$program" classify -m twice --pair 'the film is great .' 'the film is great .'
# What the head is made of is used.
"$program" info twice > out; holds out 'ignored   nothing'

# Columns that were named are those of the folder; evaluation's own length; metrics are known before the first step.
tr '\t' ';' < train.tsv > semicolons.csv
sed '1s/text/words/; 1s/label/mood/' train.tsv > named.tsv
sed '1s/text/words/; 1s/label/mood/' dev.tsv > named-dev.tsv
few="-m pre --max_length 32 --max_steps 6 --per_device_train_batch_size 16"
# shellcheck disable=SC2086
expect 0 '' "$program" finetune -q $few --train named.tsv --dev named-dev.tsv --text_column words --label_column mood -o named
expect 0 '' "$program" evaluate -m named --dev named-dev.tsv --json
cp out whole
expect 0 '' "$program" evaluate -m named --dev dev.tsv --text_column text --label_column label --json
same out whole 'columns by other names'
expect 0 'were truncated' "$program" evaluate -m model --dev dev.tsv --json --max_length 8
! grep -q '"eval_accuracy": 1.0' out || fail "max_length of evaluate does nothing: $(cat out)"
expect 0 'were truncated' "$program" predict -m named --input named-dev.tsv --max_length 8
# shellcheck disable=SC2086
expect 2 'metric_for_best_model: .*accuracy.*"precision"' "$program" finetune $few --train train.tsv --dev dev.tsv --metric_for_best_model precision -o nothing

# Columns by number: a header is no example, labels are not needed to predict, a line for every row.
# shellcheck disable=SC2086
{
    expect 3 'which looks like a column name' "$program" finetune $few --train train.tsv --text_column 1 --label_column 2 -o nothing
    expect 0 '' "$program" finetune -q $few --train train.tsv --text_column 1 --label_column 2 --header yes -o numbered
    expect 3 'separator ";" reads it so' "$program" finetune $few --train semicolons.csv -o nothing
    expect 0 '' "$program" finetune -q $few --train semicolons.csv --separator ';' -o semicolons
}
same semicolons/model.safetensors numbered/model.safetensors 'a file with another separator'
expect 0 '' "$program" evaluate -m numbered --dev dev.tsv --json
cp out whole
expect 0 '' "$program" evaluate -m semicolons --dev dev.tsv --separator tab --json
same out whole 'evaluation of another separator'
printf 'the day is good .\n\nthe film is bad .\n' > plain.tsv
expect 0 '' "$program" predict -m numbered --input plain.tsv --text_column 1 --header no
[ "$(wc -l < out)" -eq 4 ] || fail "a line for every row and a header: $(cat out)"

# Tags: entities of IOB2 and its relatives have scores; of other tags that is said, and accuracy chooses.
awk 'BEGIN { for (i = 0; i < 40; i++) print "the DT\nfilm NN\nis VB\n" }' > speech.conll
awk 'BEGIN { for (i = 0; i < 40; i++) print "the O\nfilm U-A\nis B-A\ngood L-A\n" }' > entities.conll
# shellcheck disable=SC2086
{
    expect 0 'the tags name no entities .* accuracy selects' "$program" finetune --task tag $few --train speech.conll --dev speech.conll -o speech
    holds out accuracy
    if grep -q f1 out; then fail "f1 of parts of speech: $(cat out)"; fi
    expect 2 'metric_for_best_model: .*accuracy.*"f1"' "$program" finetune --task tag $few --train speech.conll --dev speech.conll --metric_for_best_model f1 -o nothing
    expect 0 'learning rate 0.001: the best, accuracy' "$program" finetune --task tag $few --train speech.conll --dev speech.conll --learning_rates 1e-3 -o speech-grid
    expect 0 'dev loss .*, f1 ' "$program" finetune --task tag $few --train entities.conll --dev entities.conll -o entities
}
holds out 'f1 '
expect 0 'the tags name no entities' "$program" evaluate -m speech --dev speech.conll

# eval_loss is that of the labels as they are, whatever weights and smoothing training has: evaluate says the same of the folder.
# shellcheck disable=SC2086
expect 0 '' "$program" finetune -q $few --train train.tsv --dev dev.tsv --class_weights 5,1 --label_smoothing_factor 0.2 -o weighted
expect 0 '' "$program" evaluate -m weighted --dev dev.tsv --json
close "$(loss_of out)" "$(loss_of weighted/metrics.jsonl)" || fail "eval_loss $(loss_of out), in training with weights $(loss_of weighted/metrics.jsonl)"

# The loss that evaluate prints is the run's, whatever the task.
awk 'BEGIN { print "text\tscore"; for (i = 0; i < 20; i++) print "the film is good\t" i % 7 / 3 }' > reg.tsv
awk 'BEGIN { print "text\tlabels"; for (i = 0; i < 20; i++) print "the film is good\t" (i % 2 ? "a,b" : "c") }' > multilabel.tsv
awk 'BEGIN { for (i = 0; i < 20; i++) print "{\"text\": \"the film\", \"choices\": [\"is good\", \"is bad\", \"day\"], \"label\": " i % 3 "}" }' > mc.jsonl
awk 'BEGIN { for (i = 0; i < 20; i++) print "{\"question\": \"film\", \"context\": \"the film is good , the day is bad\", \"answers\": {\"text\": [\"film is\"], \"answer_start\": [4]}}" }' > qa.jsonl
for file in reg.tsv multilabel.tsv mc.jsonl qa.jsonl entities.conll; do
    task=${file%.*}
    [ $task = entities ] && task=tag
    # shellcheck disable=SC2086
    expect 0 '' "$program" finetune -q --task $task $few --train $file --dev $file -o loss-$task
    expect 0 '' "$program" evaluate -q -m loss-$task --dev $file --json
    close "$(loss_of out)" "$(loss_of loss-$task/metrics.jsonl)" || fail "$task: eval_loss $(loss_of out), in training $(loss_of loss-$task/metrics.jsonl)"
done
expect 0 '' "$program" watch --once --metric eval_precision entities

# Smoothed labels: the loss of training is (1 - P) times that of the labels and P times the mean over all classes, which
# is that of P = 1; eval_loss is of the labels alone.  Tasks without one label at a place have nothing to smooth.
smooth="-m pre --max_length 32 --max_steps 1 --per_device_train_batch_size 181 --dropout 0 --logging_steps 1 --learning_rate 0"
for share in 0 0.25 1; do
    # shellcheck disable=SC2086
    expect 0 '' "$program" finetune -q $smooth --train train.tsv --dev dev.tsv -o smooth-$share --label_smoothing_factor $share --json
    sed -n 's/.*"step":1,.*"loss":\([0-9.]*\).*/\1/p' smooth-$share/metrics.jsonl | head -1 > loss-$share
    loss_of out > eval-$share
done
awk -v none="$(cat loss-0)" -v some="$(cat loss-0.25)" -v all="$(cat loss-1)" \
    'BEGIN { d = some - 0.75 * none - 0.25 * all; exit !(none > 0 && all > 0 && all != none && d * d < 1e-10) }' ||
    fail "smoothed losses: $(cat loss-0 loss-0.25 loss-1)"
same eval-0 eval-0.25 'eval_loss is without smoothing'
for file in reg.tsv multilabel.tsv mc.jsonl qa.jsonl; do
    # shellcheck disable=SC2086
    expect 2 'label_smoothing_factor: .*cls and tag' "$program" finetune -q \
        --task ${file%.*} $few --train $file --dev $file -o nothing --label_smoothing_factor 0.1
done

# The results of a run as Trainer leaves them: the scores are those that were printed.
cat > keys << 'EOK'
epoch
eval_accuracy
eval_f1
eval_f1_macro
eval_loss
eval_matthews_correlation
eval_runtime
eval_samples
eval_samples_per_second
num_input_tokens_seen
train_loss
train_runtime
train_samples
train_samples_per_second
train_steps_per_second
EOK
grep -oE '"[a-z0-9_]+":' smooth-0/all_results.json | tr -d '":' | sort > found
same keys found 'keys of all_results.json'
close "$(loss_of smooth-0/all_results.json)" "$(cat eval-0)" || fail "all_results.json: $(cat smooth-0/all_results.json)"
holds smooth-0/all_results.json '"train_samples": 180'
holds smooth-0/all_results.json '"eval_samples": 60'
# shellcheck disable=SC2086
expect 0 'without effect: k_fold applies only to 2 parts and more' "$program" finetune $smooth --train train.tsv -o one-fold --k_fold 1
expect 2 'unknown metric eval_precison; did you mean eval_precision' "$program" watch --once --metric eval_precison entities

# How updates are made: as in pre-training.
# shellcheck disable=SC2086
{
    expect 0 '' "$program" finetune -q $few --train train.tsv --dev dev.tsv -o plain
    expect 0 '' "$program" finetune -q $few --train train.tsv --dev dev.tsv -o again --gradient_checkpointing
    same plain/model.safetensors again/model.safetensors 'gradient_checkpointing'
    expect 0 'the model is the mean of checkpoints 6, 3' "$program" finetune $few --train train.tsv --dev dev.tsv -o mean --average_last 2 \
        --save_strategy steps --save_steps 3 --optim lion --lr_scheduler_type one_cycle --warmup_steps 2 --logging_steps 1 --report_to tensorboard --report
}
holds mean/report.html 'held-out matthews correlation'
holds mean/report.html 'class="c" points'
expect 0 '' "$program" watch --once mean
holds out 'matthews_correlation '
[ -s mean/events.out.tfevents.roformer ] && grep -q '<polyline' mean/report.html || fail "what a run leaves to look at: $(ls mean)"

# How often without when means steps; none means none.
# shellcheck disable=SC2086
expect 0 'options without effect: doc_stride applies only to task qa' "$program" finetune $few --train train.tsv --dev dev.tsv -o often --eval_steps 2 --doc_stride 8
grep -q '"step":2,.*"eval_loss"' often/metrics.jsonl || fail "--eval_steps 2 without a strategy: $(cat often/metrics.jsonl)"

# Folds: stopped in the second, the same command goes on, and ends with the bytes of an undisturbed one.
folds="--train dev.tsv -m pre --max_length 32 --num_train_epochs 2 --per_device_train_batch_size 8 --k_fold 3"
# shellcheck disable=SC2086
{
    expect 0 '' "$program" finetune -q $folds -o whole-folds --json
    cp out scores
    expect 75 'continue with the same command and --resume latest' "$program" finetune $folds -o folds --stop_after 4
    expect 75 'saved folds/fold-2/checkpoint-8; continue with the same' "$program" finetune $folds -o folds --stop_after 8 --resume latest --json
    holds out '"stopped": true'
    holds out '"checkpoint": "folds/fold-2/checkpoint-8"'
    expect 2 'checkpoint-.*: seed: expected .* 42, got 7' "$program" finetune $folds -o folds --resume latest --seed 7
    sed '2s/pos$/fine/; 2s/neg$/fine/' dev.tsv > three.tsv
    expect 3 'max_length.*fold-1/checkpoint-' "$program" finetune $folds -o folds --resume latest --train three.tsv
    expect 3 'three.tsv: .* 2 labels.*got 3' "$program" finetune $folds -o folds --resume latest --train three.tsv --allow_data_change
    sed 's/pos$/good/' dev.tsv > renamed.tsv
    expect 3 "renamed.tsv: label 0: expected 'neg', with which .* was trained, got 'good'" "$program" finetune $folds -o folds --resume latest --train renamed.tsv --allow_data_change
    expect 0 '' "$program" finetune -q $folds -o folds --resume latest --json
    same out scores 'scores of folds'
    for k in 1 2 3; do same folds/fold-$k/model.safetensors whole-folds/fold-$k/model.safetensors "fold $k"; done
    # The folder of several runs is no model: those in it are named.
    expect 2 'folds: .*fold-1, fold-2, fold-3.*k_fold' "$program" finetune --resume folds
    expect 2 'folds: expected the folder of one run' "$program" finetune --resume latest -o folds
    for command in 'evaluate --dev dev.tsv -m' 'predict --input dev.tsv -m' 'info' 'embed -m' 'finetune --train train.tsv -o none -m'; do
        # shellcheck disable=SC2086
        expect 4 'folders in it have one: fold-1, fold-2, fold-3' "$program" $command folds
    done
    for command in 'plot -o none.svg' 'report' 'watch --once'; do
        # shellcheck disable=SC2086
        expect 4 'folds/metrics.jsonl: .*fold-1, fold-2, fold-3' "$program" $command folds
    done
    expect 2 'expected "latest" with the earlier output_dir' "$program" finetune $folds -o folds --resume folds/fold-1/checkpoint-10
    expect 2 'expected one run, got several .k_fold.' "$program" finetune $folds -o nothing --report
}

# A grid: a run for each rate and seed, the best mean named, and its scores; stopped, the same command goes on.
rates="--train train.tsv --dev dev.tsv -m pre --max_length 32 --max_steps 24 --warmup_ratio 0.1 --learning_rates 1e-6,5e-3 --seeds 2"
# shellcheck disable=SC2086
{
    expect 0 'learning rate 0.005: the best, accuracy' "$program" finetune $rates -o grid --json
    cp out scores
    holds scores 'eval_accuracy_std'
    holds scores '{"learning_rate": 0.005, "folders": ["grid/lr-0.005-seed-42", "grid/lr-0.005-seed-43"], '
    grep -q 'the best model is in grid/lr-0.005-seed-42$' err || fail "the folder: $(tail -3 err)"
    expect 2 'grid: .*lr-.*learning_rates' "$program" finetune --resume latest -o grid
    sed -i 's|grid/|parts-of-grid/|g' scores
    expect 0 '' "$program" finetune -q --train train.tsv --dev dev.tsv -m pre --max_length 32 --max_steps 24 --warmup_ratio 0.1 --learning_rate 5e-3 --seed 43 -o point
    same point/model.safetensors grid/lr-0.005-seed-43/model.safetensors 'a point of the grid'
    expect 75 'continue with the same command and --resume latest' "$program" finetune $rates -o parts-of-grid --stop_after 9
    expect 0 '' "$program" finetune -q $rates -o parts-of-grid --resume latest --json
    same out scores 'scores of the grid'
    expect 0 '' "$program" finetune -q --train train.tsv --dev dev.tsv -m pre --max_length 32 --max_steps 6 --learning_rates 1e-3 -o one-rate
    expect 2 'checkpoint-6: seed: expected .* 42, got 7' "$program" finetune -q --train train.tsv --dev dev.tsv -m pre --max_length 32 --max_steps 6 --learning_rates 1e-3 -o one-rate --resume latest --seed 7
    expect 0 'learning rate 1e-06: the best, loss' "$program" finetune $rates -o worst --metric_for_best_model loss --greater_is_better true
    expect 2 'learning_rates: expected' "$program" finetune --train train.tsv -m pre --learning_rates 1e-3 -o nothing
    expect 2 'learning_rates: expected up to 32 numbers .*, got "1e-3,x"' "$program" finetune --train train.tsv --dev dev.tsv -m pre --learning_rates 1e-3,x -o nothing
    expect 2 'learning_rates: .*0.001 and 0.001' "$program" finetune --train train.tsv --dev dev.tsv -m pre --learning_rates 2e-3,1e-3,0.001 -o nothing
    expect 2 'expected different rates, got .* of folder lr-0.001' "$program" finetune --train train.tsv --dev dev.tsv -m pre --learning_rates 1e-3,0.0010000001 -o nothing
    expect 2 'seeds: expected learning_rates' "$program" finetune --train train.tsv --dev dev.tsv -m pre --seeds 2 -o nothing
    expect 3 'dev.tsv: .* 61 .*got 60' "$program" finetune --train dev.tsv -m pre --k_fold 61 -o nothing
}

# Refused with a message.
expect 2 'expected --train' "$program" finetune -o nothing
expect 2 'expected -o DIR' "$program" finetune --train train.tsv -m pre
expect 2 'task: expected one of cls' "$program" finetune --task no-such --train train.tsv -m pre -o nothing
expect 3 "expected a column 'text'" "$program" finetune --train text.txt -m pre -o nothing
printf 'text\tlabel\nthe day\tpos\nthe \377\tneg\n' > bad.tsv
expect 3 'bad.tsv:3: byte 5 of the line .0xFF. is not UTF-8' "$program" finetune --train bad.tsv -m pre -o nothing
printf 'text,label\nthe day,pos\n"the film,neg\nthe cat,neg\n' > bad.csv
expect 3 'bad.csv:3: expected a closing quote' "$program" finetune --train bad.csv -m pre -o nothing
printf 'text\tlabel\nthe day\tpos\nthe film\tfine\n' > bad.tsv
expect 3 'bad.tsv:3: label: .*neg, pos.*fine' "$program" finetune --train train.tsv --dev bad.tsv -m pre -o nothing
expect 3 'bad.tsv:3: label: .*neg, pos.*fine' "$program" evaluate -m model --dev bad.tsv
[ ! -e nothing ] || fail "a refused file left $(ls nothing)"
expect 4 'nowhere' "$program" finetune --train nowhere.tsv -m pre -o nothing
expect 2 'expected --text' "$program" evaluate -m model
expect 3 'classify: expected a fine-tuned model.*; .roformer finetune. makes one' "$program" classify -m pre 'the film'
expect 2 'expected --input' "$program" predict -m model

kill -s CONT $slow $slower
for pid in $slow $slower; do
    [ "$pid" -eq $slow ] && log=slow.log || log=slower.log
    await grep -qs '^training .*step .*ETA' $log
    kill -s TERM "$pid"
    wait "$pid"
done
done_testing
