#!/bin/sh
# pretrain.sh — from text to a model that predicts; stopped, resumed, rejected.
. "$(dirname "$0")/../lib"
sentences 1500 > text.txt
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
small_json base/vocab.txt 2 32 '"max_position_embeddings": 64'
shape="--config small.json --tokens_per_batch 512 --max_length 64 --eval_documents 20"

# A whole run; its folder answers and can be drawn.
cp -r base whole
# shellcheck disable=SC2086
expect 0 'held-out loss' "$program" pretrain --text text.txt --model whole $shape --max_steps 40 --save_steps 20 --eval_steps 20 --logging-steps 10 --learning-rate 1e-3
holds err 'step 40/40'
[ "$(grep -c '^step .*tokens/s' err)" -eq 4 ] || fail "lines of progress: $(cat err)"
holds whole/README.md 'RoFormerForMaskedLM.from_pretrained("whole")'
[ -s whole/model.safetensors ] && [ -s whole/metrics.jsonl ] && [ -d whole/checkpoint-40 ] || fail "files: $(ls whole)"
expect 0 '' "$program" fill-mask -m whole --json 'the old river [MASK] the red house.'
expect 0 '' "$program" evaluate -m whole --text text.txt --eval_documents 20 --json
holds out '"eval_loss"'
expect 0 '' "$program" evaluate -m whole --text text.txt --max_length 64
holds out 'accuracy'
if command -v gnuplot > /dev/null; then expect 0 '' "$program" plot -q whole -o whole.svg; fi

# Stopped and resumed, with the options of the checkpoint and its place: the same bytes.
cp -r base parts
# shellcheck disable=SC2086
expect 75 '--resume .*parts/checkpoint-17' "$program" pretrain --text text.txt --model parts $shape --max_steps 40 --save_steps 20 --eval_steps 20 --logging_steps 10 --learning_rate 1e-3 --stop_after 17
expect 0 'step 40/40' "$program" pretrain --resume parts/checkpoint-17
same whole/model.safetensors parts/model.safetensors "resumed"

# Words masked whole in no piece, in half of the pieces, in all; resumed with another share.
for share in 0 0.5 1; do
    cp -r base share-$share
    # shellcheck disable=SC2086
    expect 0 '' "$program" pretrain -q --text text.txt --model share-$share $shape --max_steps 4 --save_steps 2 --whole_word_mask --whole_word_share $share
done
for mask in false true; do
    cp -r base mask-$mask
    # shellcheck disable=SC2086
    expect 0 '' "$program" pretrain -q --text text.txt --model mask-$mask $shape --max_steps 4 --whole_word_mask=$mask
done
same share-0/model.safetensors mask-false/model.safetensors "words are whole in no piece"
same share-1/model.safetensors mask-true/model.safetensors "words are whole in every piece"
for mask in false true; do
    cmp -s share-0.5/model.safetensors mask-$mask/model.safetensors && fail "half of the pieces: as --whole_word_mask=$mask"
done
expect 0 '' "$program" pretrain -q --resume mask-true --whole_word_share 0.5 --max_steps 6
expect 0 '' "$program" pretrain -q --resume share-0.5 --whole_word_mask=false --max_steps 6
expect 2 'whole_word_share: expected whole_word_mask, got none' "$program" pretrain -q --text text.txt --model base --whole_word_share 0.5 -o nothing

# Quiet is quiet.
cp -r base quiet
# shellcheck disable=SC2086
expect 0 '' "$program" pretrain -q --text text.txt --model quiet $shape --max_steps 2 --learning_rate 1e-3

# A signal saves and ends with 75; meanwhile the folder is held.
cp -r base stopped
# shellcheck disable=SC2086
"$program" pretrain --text text.txt --model stopped $shape --max_steps 1000000 --logging_steps 1 --save_steps 0 --eval_steps 0 2> log &
pid=$!
await grep -qs 'step 2/' log
# shellcheck disable=SC2086
expect 75 'stopped' "$program" pretrain --text text.txt --model stopped $shape --max_steps 2
kill -s TERM $pid
wait $pid
code=$?
[ $code -eq 75 ] || fail "TERM gives $code: $(tail -3 log)"
grep -qE '^roformer: saved checkpoint-[0-9]+; continue with --resume .*stopped/checkpoint-[0-9]+$' log || fail "words: $(tail -3 log)"
saved=$(sed -n 's/.*continue with --resume //p' log)
expect 75 'continue with --resume' "$program" pretrain --resume "$saved" --stop_after 3

# What is given wins over defaults and over the checkpoint; what has no effect is said.
cp -r base given
# shellcheck disable=SC2086
{
    expect 75 'options without effect: momentum \(optim is adamw\)' "$program" pretrain --text text.txt --model given $shape --max_steps 40 --stop_after 1 --logging_steps 1 --learning_rate 1e-3 --warmup_steps 0 --momentum 0.5
    head -1 given/metrics.jsonl | grep -q '"learning_rate":0.000975' || fail "--warmup_steps 0: $(head -1 given/metrics.jsonl)"
    expect 75 'step 2/[0-9]*[1-35-9]|step 2/4[1-9]|step 2/1[0-9][0-9]' "$program" pretrain --resume latest --model given --num_train_epochs 2 --stop_after 1 --logging_steps 1
    expect 2 'early_stopping_patience: .*held-out' "$program" pretrain --text text.txt --model base -o nothing $shape --max_steps 40 --validation_split 0 --early_stopping_patience 2
    : > nothing.txt
    expect 3 'nothing.txt: expected text to evaluate on, got none' "$program" pretrain --text text.txt --validation_text nothing.txt --model base -o nothing $shape --max_steps 40
}
[ ! -e nothing ] || fail "a refused run left a folder"

# A tokenizer that vocab.txt cannot represent is kept as tokenizer.json; one of other tokens in the folder is set aside.
mkdir bare
printf '{"tokenizer_class": "PreTrainedTokenizerFast"}' > bare/tokenizer_config.json
awk 'BEGIN { printf "{\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": {" }
    { printf "%s\"%s\": %d", (NR > 1 ? ", " : ""), $0, NR - 1 } END { print "}}}" }' base/vocab.txt > bare/tokenizer.json
# shellcheck disable=SC2086
expect 0 'held-out loss' "$program" pretrain --text text.txt --model bare -o kept $shape --max_steps 2
expect 0 '' "$program" tokenize -m bare --json 'the old river'
cp out bare.ids
expect 0 '' "$program" tokenize -m kept --json 'the old river'
same bare.ids out "a tokenizer without [CLS] and [SEP] after training"
mkdir older
echo '{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4}}}' > older/tokenizer.json
# shellcheck disable=SC2086
expect 0 'older: .*tokenizer.json.replaced' "$program" pretrain --text text.txt --model base -o older $shape --max_steps 2
expect 0 '' "$program" tokenize -m older --json 'the old river'
cp out older.json
expect 0 '' "$program" tokenize -m base --json 'the old river'
same out older.json "a tokenizer.json of other tokens"

# USR1 saves and goes on.
cp -r base asked
rm -f log
# shellcheck disable=SC2086
"$program" pretrain --text text.txt --model asked $shape --max_steps 1000000 --logging_steps 1 --save_steps 0 --eval_steps 0 2> log &
pid=$!
await grep -qs 'step 2/' log
kill -s USR1 $pid
await grep -qs ': saved .*asked/checkpoint-' log
step=$(sed -n 's/.*asked\/checkpoint-//p' log | head -1)
await grep -qs "step $((step + 2))/" log
kill -s TERM $pid
wait $pid
code=$?
[ $code -eq 75 ] || fail "TERM after USR1 gives $code: $(tail -3 log)"
grep -q "step $((step + 2))/" log || fail "USR1 ended the run: $(tail -3 log)"
expect 0 '' "$program" verify "asked/checkpoint-$step"

# A step of 5,000 batches is given up where TERM finds it: what is saved is the step before.
cp -r base long
# shellcheck disable=SC2086
expect 75 'saved checkpoint-1;' "$program" pretrain --text text.txt --model long $shape --max_steps 9 --stop_after 1
rm -f log
"$program" pretrain --resume latest --model long --gradient_accumulation_steps 5000 2> log &
pid=$!
await grep -qs 'packing:' log
kill -s TERM $pid
wait $pid
code=$?
[ $code -eq 75 ] || fail "TERM between batches gives $code: $(tail -3 log)"
! grep -q 'step 2/' log || fail "the step went on: $(tail -3 log)"

# The best of a run in its folder, chosen by the highest loss so that it is not the last.
cp -r base best
# shellcheck disable=SC2086
expect 0 'the model is that of checkpoint-10: eval_loss' "$program" pretrain --text text.txt --model best $shape --max_steps 40 --save_steps 10 --eval_steps 10 --learning_rate 1e-3 --load_best_model_at_end --metric_for_best_model eval_loss --greater_is_better true --save_total_limit 1
same best/model.safetensors best/checkpoint-10/model.safetensors "best"
expect 2 'load_best_model_at_end: .*save_steps.*eval_steps' "$program" pretrain --text text.txt --model best -o other --eval_steps 7 --save_steps 10 --load_best_model_at_end

# An option that is given counts on resuming, also when it is the default's value.
cp -r base chosen
# shellcheck disable=SC2086
expect 0 'saved' "$program" pretrain --text text.txt --model chosen $shape --max_steps 2 --lr_scheduler_type constant
expect 0 'lr_scheduler_type' "$program" pretrain --resume chosen/checkpoint-2 --max_steps 4 --lr_scheduler_type linear

# Refused before anything is lost.
rm -rf taken && cp -r whole taken && rm -r taken/checkpoint-* taken/.lock
expect 2 'taken: expected a folder without weights' "$program" pretrain --text text.txt --model taken --max_steps 2
same whole/model.safetensors taken/model.safetensors "in place"
[ ! -e taken/.lock ] || fail "a refused run leaves its lock"
before=$(ls stopped | sort | tr '\n' ' ')
# shellcheck disable=SC2086
expect 2 'resume' "$program" pretrain --text text.txt --model stopped $shape --max_steps 2
mkdir plain
expect 3 'plain: expected a checkpoint, got another folder' "$program" pretrain --resume plain
# A checkpoint of transformers' Trainer, by its name and as the newest of a folder.
mkdir -p trainer/checkpoint-5 && echo '{"epoch": 1.0, "global_step": 5, "log_history": []}' > trainer/checkpoint-5/trainer_state.json && : > trainer/checkpoint-5/optimizer.pt
for resume in '--resume trainer/checkpoint-5' '--resume latest -o trainer'; do
    # shellcheck disable=SC2086
    expect 3 "trainer/checkpoint-5: expected a checkpoint of this program, got one of transformers' Trainer .optimizer.pt.; train on from its weights with --model .*trainer/checkpoint-5" "$program" pretrain $resume
done
[ "$(find trainer | wc -l)" -eq 4 ] || fail "something was written: $(find trainer)"
expect 2 'expected one of them, got ' "$program" evaluate -m stopped --text text.txt --dev text.txt
[ "$before" = "$(ls stopped | sort | tr '\n' ' ')" ] || fail "files changed: $(ls stopped)"
expect 4 'nowhere' "$program" pretrain --text nowhere --model base --config small.json --max_steps 2
expect 4 'nowhere' "$program" pretrain --text text.txt --model nowhere --max_steps 2
expect 4 'nowhere' "$program" pretrain --resume nowhere/checkpoint-3
printf '{"vocab_size": 0}' > broken.json
expect 3 'broken.json' "$program" pretrain --text text.txt --model base --config broken.json --max_steps 2
sed 's/"hidden_size": 32,/"hidden_size": 32, "position_embedding_type": "rotery",/' small.json > rotery.json
expect 3 'rotery.json: position_embedding_type: .*"rotery"' "$program" pretrain --text text.txt --model base --config rotery.json --max_steps 2
expect 2 'max_length: expected at most tokens_per_batch, 512, got 600' "$program" pretrain --text text.txt --model base --config small.json --max_length 600 --tokens_per_batch 512 --max_steps 2
done_testing
