#!/bin/sh
# rtd.sh — replaced-token detection (ELECTRA): a discriminator and its generator are trained, stopped, resumed and used.
. "$(dirname "$0")/../lib"
sentences 600 > text.txt
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
small_json base/vocab.txt 2 32 '"max_position_embeddings": 64, "rotary_value": true'
shape="--config small.json --tokens_per_batch 512 --max_length 32 --validation_split 0.1 --objective rtd --generator_size 0.5"
learn='--max_steps 300 --save_steps 100 --eval_steps 100 --logging-steps 100 --learning-rate 3e-3'

cp -r base whole
# shellcheck disable=SC2086
expect 0 'step 300: held-out loss [0-9.]+, accuracy [0-9.]+ %' "$program" pretrain --text text.txt --model whole $shape $learn
holds whole/config.json '"RoFormerForReplacedTokenDetection"'
holds whole/generator/config.json '"RoFormerForMaskedLM"'
holds whole/generator/config.json '"hidden_size": 16'
grep -q '"eval_detection_loss":.*"eval_detected":' whole/metrics.jsonl || fail "metrics: $(tail -1 whole/metrics.jsonl)"
# Both have learned: the losses fall, and a discriminator is worth more than the share of replaced tokens says.
python3 - whole/metrics.jsonl << 'P' || fail "nothing was learned: $(tail -1 whole/metrics.jsonl)"
import json, math, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
first, last = [line for line in lines if "eval_loss" in line][::2]
p = last["eval_replaced"]
blind = -p * math.log(p) - (1 - p) * math.log(1 - p)
assert last["eval_generator_loss"] < first["eval_generator_loss"] + 0.05, (first, last)
assert last["eval_detection_loss"] < 0.95 * blind, (last, blind)
assert abs(last["eval_loss"] - last["eval_generator_loss"] - 50 * last["eval_detection_loss"]) < 1e-3, last
P

# Stopped and resumed: the same bytes, of both.
cp -r base parts
# shellcheck disable=SC2086
expect 75 'continue with --resume' "$program" pretrain --text text.txt --model parts $shape $learn --stop_after 130
expect 0 'step 300/300' "$program" pretrain --resume latest --model parts
same whole/model.safetensors parts/model.safetensors "discriminator resumed"
same whole/generator/model.safetensors parts/generator/model.safetensors "generator resumed"
same whole/checkpoint-300/model.safetensors parts/checkpoint-300/model.safetensors "checkpoint resumed"

# A checkpoint has both; the folder of the model has the model.
expect 0 '' "$program" info whole --tensors
grep -q 'ignored *nothing' out || fail "model: $(grep ignored out)"
! grep -q '^ *generator' out || fail "the model holds its generator"
expect 0 '' "$program" verify whole
expect 0 '' "$program" verify whole/generator

# What they are for.
expect 0 '' "$program" fill-mask -m whole/generator -k 3 'the [MASK] house'
[ -s out ] || fail "the generator has no answer"
expect 0 '' "$program" embed -m whole -o vectors.npy text.txt
expect 0 'converted: written' "$program" convert whole converted
same whole/model.safetensors converted/model.safetensors "converted"
printf 'text\tlabel\nthe red house\tx\nan old river\ty\n' > train.tsv
expect 0 'step 3/3' "$program" finetune --train train.tsv -m whole -o tuned --max_steps 3 --batch_size 2
expect 3 'head' "$program" fill-mask -m whole 'the [MASK] house'

# On from a model: with its generator, from a masked language model without one, and bf16 with layers computed again.
# shellcheck disable=SC2086
expect 0 'starting from the weights in whole and its generator' "$program" pretrain --text text.txt --model whole --objective rtd --generator_size 0.5 --max_length 32 --tokens_per_batch 512 --max_steps 2 -o more
# shellcheck disable=SC2086
expect 0 'whole/generator.*generator is new' "$program" pretrain --text text.txt --model whole/generator --objective rtd --generator_size 1 --max_length 32 --tokens_per_batch 512 --max_steps 2 --bf16 --gradient_checkpointing -o other
# shellcheck disable=SC2086
expect 0 'step 4/4' "$program" pretrain --text text.txt --model base $shape --max_steps 4 --gradient_accumulation_steps 2 --ema_decay 0.9 --optim muon -o mean
rm base/config.json 2> /dev/null

# What cannot be.
# shellcheck disable=SC2086
expect 2 'generator_size: .*hidden_size, 32.*num_attention_heads, 2.*0.3' "$program" pretrain --text text.txt --model base $shape --generator_size 0.3 -o x
sed 's/{/{"is_decoder": true, /' small.json > causal.json
# shellcheck disable=SC2086
expect 2 'objective rtd: .*bidirectional.*config.json' "$program" pretrain --text text.txt --model base $shape --config causal.json -o x
expect 3 'objective rtd: expected a RoFormer or an ELECTRA, got a BERT' "$program" pretrain --text text.txt --model base --config "$repository/tests/golden/bert/masked/config.json" --objective rtd --max_steps 1 -o x
# shellcheck disable=SC2086
expect 0 'options without effect: .*generator_size' "$program" pretrain --text text.txt --model base --config small.json --max_length 32 --tokens_per_batch 512 --generator_size 0.5 --max_steps 1 -o x
done_testing
