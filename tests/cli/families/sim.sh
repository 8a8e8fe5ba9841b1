#!/bin/sh
# sim.sh — RoFormer-Sim and RoFormer-GPT with the commands: vectors, generated texts, converted folders, rejected input.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/sim
cp -r "$golden" sim; chmod -R u+w sim
expect 0 '' "$program" info -m sim
holds out 'linear, of the first token'
printf '广州和深圳\n京\n' > lines.txt
expect 0 '' "$program" embed -q -m sim lines.txt -o vectors.npy
expect 0 '' "$program" embed -q -m sim --pooling cls lines.txt -o cls.npy
same vectors.npy cls.npy "the pooler is what embeds"
expect 0 '' "$program" embed -q -m sim --pooling mean lines.txt -o mean.npy
cmp -s vectors.npy mean.npy && fail "the mean is not the pooler's vector"
expect 0 '' "$program" generate -q -m sim -n 6 --top_p 0.95 --seed 3 --num_return_sequences 3 广州和深圳哪个好
[ "$(grep -c . out)" -ge 3 ] || fail "three texts: $(cat out)"
printf '广州和深圳哪个好\n京津\n' > prompts.txt
"$program" generate -q -m sim -n 6 --do_sample < prompts.txt > both || fail "two prompts"
sed -n 2p prompts.txt | "$program" generate -q -m sim -n 6 --do_sample > one || fail "one prompt"
[ "$(tail -n 1 both)" = "$(cat one)" ] || fail "a prompt beside another: $(tail -n 1 both), alone: $(cat one)"
expect 3 'logprobs: expected a causal model, got RoFormer-Sim' "$program" score -m sim 广州
expect 3 ': expected a masked or causal language model, got RoFormer-Sim \(pooler_activation' "$program" evaluate -m sim --text lines.txt
expect 3 'fill-mask: expected a masked language model, got RoFormer-Sim' "$program" fill-mask -m sim '广[MASK]'
expect 3 ': expected a masked or causal language model, got RoFormer-Sim \(pooler_activation' "$program" pretrain -q --text lines.txt --model sim -o on
printf 'text\tlabel\n广州\ta\n深圳\tb\n' > rows.tsv
# Other tasks train its encoder: as one whose config.json knows of no second part and no pooler, with the same seed.
cp -r sim encoder
sed 's/"is_decoder": true/"is_decoder": false/; /"pooler_activation"/d; s/ForCausalLM/ForMaskedLM/' sim/config.json > encoder/config.json
printf 'text\tpair\tscore\n广州\t深圳\t1\n京\t津\t0\n' > scored.tsv
printf 'text\tpair\tlabel\n广州\t深圳\ta\n京\t津\tb\n' > two.tsv
printf '广 B-x\n州 I-x\n\n深 O\n圳 B-x\n' > tags.tsv
for task in cls multilabel reg cross embed tag; do
    case $task in
    cls | multilabel) train=two.tsv ;;
    reg | cross | embed) train=scored.tsv ;;
    tag) train=tags.tsv ;;
    esac
    rm -rf tuned plain
    expect 0 'sim is a RoFormer-Sim: its encoder is trained, without its pooler' "$program" finetune --model sim --task $task --train $train --max_steps 2 --seed 5 -o tuned
    expect 0 '' "$program" finetune -q --model encoder --task $task --train $train --max_steps 2 --seed 5 -o plain
    same tuned/model.safetensors plain/model.safetensors "$task: weights trained from RoFormer-Sim and from its encoder"
    grep -q 'pooler_activation' tuned/config.json && fail "$task: the pooler is in config.json"
done

expect 0 'read back and compared' "$program" convert sim again
holds again/config.json '"pooler_activation": "linear"'
expect 0 '' "$program" embed -q -m again lines.txt -o again.npy
same again.npy vectors.npy "the vectors of what was converted"

# Without the key a pooler is left over; a RoFormer-GPT has the causal mask.
sed 's/"linear"/"tanh"/' sim/config.json > c.json
cp -r sim gpt; cp c.json gpt/config.json
expect 0 'read back and compared' "$program" convert gpt causal
grep -q 'roformer.pooler.dense.weight  .*  not written' out || fail "the pooler is not named: $(grep pooler out)"
grep -q pooler causal/config.json && fail "$(grep pooler causal/config.json)"
expect 0 '' "$program" generate -q -m causal -n 6 --stop 。 广州
expect 0 '' "$program" score -q -m causal 广州
sed 's/"linear"/"relu"/' sim/config.json > gpt/config.json
expect 3 'pooler_activation: expected tanh or linear, got "relu"' "$program" info -m gpt

# Trained: from a folder of its own kind, and from another, on pairs that mean the like.
printf 'text\tpair\n广州和深圳\t深圳和广州\n哪个好\t好哪个\n京津沪\t沪津京\n港澳台\t台港澳\n' > pairs.tsv
expect 0 'starting from the encoder of sim and its head$' "$program" finetune --task sim --model sim --train pairs.tsv --dev pairs.tsv --batch_size 4 --max_steps 3 -o on
holds out mrr_at_10
holds on/config.json '"pooler_activation": "linear"'
holds on/config.json '"finetuning_task": "sim"'
holds on/README.md 'roformer embed -m on'
grep -q 'from transformers' on/README.md && fail "transformers has no such class: $(grep transformers on/README.md)"
expect 0 '' "$program" evaluate -m on --dev pairs.tsv
holds out mrr_at_10
expect 2 'margin: expected a model for task embed, got one for sim' "$program" evaluate -m on --dev pairs.tsv --margin 2
expect 0 '' "$program" evaluate -m on --dev pairs.tsv --similarity_scale 10
expect 0 '' "$program" predict -q -m on --input pairs.tsv
[ "$(grep -c . out)" -eq 5 ] || fail "a line for each pair: $(cat out)"
expect 0 '' "$program" embed -q -m on lines.txt -o on.npy
cmp -s on.npy vectors.npy && fail "nothing was learned"
expect 0 '' "$program" generate -q -m on -n 6 广州和深圳
expect 0 'its head, and a new pooler' "$program" finetune --task sim --model causal --train pairs.tsv --batch_size 2 --max_steps 1 --source_mask_probability 0 -o anew
# The second stage: cosines as another model has them.
tail -n +2 pairs.tsv | tr '\t' '\n' | "$program" embed -q -m causal --pooling mean -o teacher.npy
expect 0 '' "$program" finetune -q --task sim --model on --train pairs.tsv --teacher teacher.npy --batch_size 4 --max_steps 2 -o taught
tail -n +2 pairs.tsv | tr '\t' '\n' | "$program" embed -q -m causal --pooling max -o others.npy
expect 3 "expected the examples, teacher's vectors, vocabulary and max_length that" "$program" finetune -q --resume taught/checkpoint-2 --teacher others.npy --max_steps 3 -o other
"$program" embed -q -m taught lines.txt -o taught.npy && cmp -s taught.npy on.npy && fail "nothing was learned of the teacher"
expect 3 'expected 8 vectors, two .one for each text. for each example of .*, got 2' \
    sh -c '"$0" embed -q -m causal lines.txt -o two.npy && "$0" finetune -q --task sim --model on --train pairs.tsv --teacher two.npy -o no' "$program"
expect 2 'mini_batch_size: expected' "$program" finetune -q --task sim --model sim --train pairs.tsv --mini_batch_size 2 -o no

# SimBERT has BERT's variables, and a folder's name or keys say that it is one. The golden pooler is x + 1.
cp -r "$repository/tests/golden/tensorflow/bert" chinese_simbert_L-2; chmod -R u+w chinese_simbert_L-2
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' the old city > chinese_simbert_L-2/vocab.txt
sed 's/{/{"architectures": ["BertForMaskedLM"],/' chinese_simbert_L-2/bert_config.json > bert.json
cp -r chinese_simbert_L-2 bert; cp bert.json bert/bert_config.json
echo 'the old city' > words.txt
for m in chinese_simbert_L-2 bert; do
    "$program" embed -q -m "$m" --pooling cls --format jsonl words.txt > "$m.jsonl" || fail "embed -m $m"
done
python3 - << 'P' || fail "the vector of SimBERT is not its pooler's"
import json
sim, bert = (json.load(open(m + ".jsonl")) for m in ("chinese_simbert_L-2", "bert"))
assert max(abs(a - b - 1) for a, b in zip(sim, bert)) < 1e-5
P
expect 0 '' "$program" generate -q -m chinese_simbert_L-2 -n 4 'the old city'
expect 0 'simbert: written' "$program" convert chinese_simbert_L-2 simbert
for m in chinese_simbert_L-2 simbert; do "$program" embed -q -m "$m" words.txt -o "$m.npy" || fail "embed $m"; done
same chinese_simbert_L-2.npy simbert.npy "embed before and after convert"

# Learned positions end: that is said before the first update, of all that will be read at once.
"$make_model" model || exit 1
sed 's/"max_position_embeddings": 64/"max_position_embeddings": 16, "position_embedding_type": "absolute"/' model/config.json > short.json
mkdir vocabulary; cp model/vocab.txt model/tokenizer_config.json vocabulary
awk 'BEGIN { for (i = 0; i < 40; i++) print "the old city of the red river and the blue house" }' > text
pretrain="pretrain -q --text text --model vocabulary --config short.json --max_steps 1 --tokens_per_batch 64 --eval_documents 0"
# shellcheck disable=SC2086
expect 2 'max_length: expected at most .* 16 positions .* got a text of 17 tokens' "$program" $pretrain --max_length 17 -o long
[ ! -d long ] || fail "a folder of a run that cannot be"
# shellcheck disable=SC2086
expect 0 '' "$program" $pretrain --max_length 16 -o short
printf 'text\tpair\nthe old city\tthe red river\nthe old house\tthe red king\n' > fits.tsv
{ cat fits.tsv; printf 'the old city of the\tthe red river of the city the red house\n'; } > longer.tsv
expect 0 '' "$program" finetune -q --task embed --model short --train longer.tsv --batch_size 2 --max_steps 1 -o embeds
expect 0 'new pooler' "$program" finetune --task sim --model short --train fits.tsv --batch_size 2 --max_steps 1 -o fits
expect 2 'max_length: expected at most .* 16 positions .* got a text of 17 tokens' \
    "$program" finetune -q --task sim --model short --train longer.tsv --batch_size 2 --max_steps 1 -o no
expect 2 'batch: expected at least 2 pairs' "$program" finetune -q --task sim --model sim --train pairs.tsv --batch_size 1 -o no
# A batch is never larger than the file; a pair of which nothing can be written is none.
expect 0 '' "$program" finetune -q --task sim --model sim --train pairs.tsv --batch_size 65536 --max_steps 1 -o large
printf 'text\tpair\n广州\t深圳\n深圳\t \n' > half.tsv
expect 3 'half.tsv:3: second text: expected words to generate' "$program" finetune -q --task sim --model sim --train half.tsv -o no
expect 3 'classify: expected a model with a classification head' "$program" classify -m on 广州
[ ! -e no ] || fail "a folder was left although nothing was trained"
done_testing
