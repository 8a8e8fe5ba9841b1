#!/bin/sh
# diverged.sh — runs with non-finite losses: exit code 6, no model, the last good checkpoint is named, and NaN is
# printed as a word.
. "$(dirname "$0")/../lib"
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 40; i++) print "the cat " i "\tgood\nthe dog " i "\tbad" }' > train.tsv
cut -f1 train.tsv | sed 1d > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
cat > base/config.json << EOC
{"model_type": "roformer", "vocab_size": $(wc -l < base/vocab.txt), "embedding_size": 32, "hidden_size": 32, "num_hidden_layers": 2,
 "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64}
EOC
"$program" pretrain -q --text text.txt --model base --config base/config.json -o pre --max_steps 2 --tokens_per_batch 256 --max_length 64 --eval_steps 0 || exit 1
# A rate of 10 and a decay of 10: each update multiplies the matrices by -99.
run="--train train.tsv --dev train.tsv -m pre --optim sgd --weight_decay 10 --max_grad_norm 0 --lr_scheduler_type constant --batch_size 20 --logging_steps 1 --save_steps 1 --save_total_limit 2"

# shellcheck disable=SC2086
expect 6 'step 8: .*not finite.*updates: [0-9]+.*lost/checkpoint-[0-9]+' \
    "$program" finetune $run --learning_rate 10 --num_train_epochs 2 -o lost
grep -q 'dev loss nan, accuracy' err || fail "no evaluation says nan: $(grep 'dev loss' err)"
grep -q -e '-nan\|[0-9]\{13\}' err && fail "numbers: $(grep -e '-nan\|[0-9]\{13\}' err | head -3)"
good=$(sed -n 's/.*; \(lost[^ ]*\) is the last good.*/\1/p' err)
[ -d "$good" ] || fail "$good is not there: $(ls lost)"
[ ! -e lost/model.safetensors ] && [ ! -e lost/config.json ] || fail "a model: $(ls lost)"
expect 0 'step 8: saved .*lost$' "$program" finetune --resume "$good" --learning_rate 0

# Of several rates that one has no score; a tie is named, the folder of the best one, too.
# shellcheck disable=SC2086
expect 0 'learning rate 10: no score: step 8' "$program" finetune $run --num_train_epochs 2 --learning_rates 1e-8,2e-8,10 -o rates --json
holds err 'the same score as the best, of which the first was chosen: 2e-08'
holds err 'the best model is in rates/lr-1e-08'
holds out '{"learning_rate": 1e-8, "folder": "rates/lr-1e-08", "eval_loss": 0.'
# shellcheck disable=SC2086
expect 6 'finite score.*step 8' "$program" finetune $run --num_train_epochs 2 --learning_rates 10 -o none
done_testing
