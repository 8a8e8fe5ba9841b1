#!/bin/sh
# sentence_folder.sh — the settings of sentence vectors stay with the model: in checkpoints, in resumed runs, after
# further training, convert and verify; resumed runs check data and options like new runs.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
awk 'BEGIN { print "text\tpair"; for (i = 0; i < 8; i++) print "the old city " i "\tthe city is old " i }' > pairs.tsv
printf 'the old city\nof the river\n' > lines
few="--train pairs.tsv --batch_size 4 --dropout 0"
prompts='{"prompts": {"query": "of the red ", "document": ""}, "default_prompt_name": "query"}'
"$program" finetune -q --task embed $few --model model --pooling cls --normalize --max_length 20 --max_steps 1 -o first
printf '%s\n' "$prompts" > first/config_sentence_transformers.json
vectors() { "$program" embed -q -m "$1" --format f32 lines > "$2" || fail "vectors of $1"; }

# Prompts: the model's, its checkpoints', those of a run that goes on from one, wherever the first folder is now.
runs="--save_strategy steps --save_steps 2 --dev pairs.tsv"
expect 0 'default prompt.*"of the red "' "$program" finetune --task embed $few --model first $runs --max_steps 4 -o whole
for folder in whole whole/checkpoint-2 whole/checkpoint-4; do
    same first/config_sentence_transformers.json $folder/config_sentence_transformers.json "prompts of $folder"
done
vectors whole a; vectors whole/checkpoint-4 b; same a b "the last checkpoint's vectors"
"$program" embed -q -m whole --prompt '' --format f32 lines > b
cmp -s a b && fail "the default prompt has no effect"
expect 0 '' "$program" verify whole/checkpoint-4 whole
holds out 'whole: intact'

# What embed puts before a text, training and evaluation put there, too: the same bits as of texts that begin with it.
awk -F '\t' 'NR == 1 { print } NR > 1 { print "of the red " $1 "\tof the red " $2 }' pairs.tsv > longer.tsv
cp -r first promptless; rm promptless/config_sentence_transformers.json
expect 0 '' "$program" finetune -q --task embed ${few%pairs.tsv*}longer.tsv${few#*pairs.tsv} --model promptless --max_steps 4 -o longer
same whole/model.safetensors longer/model.safetensors "weights of texts that begin with the prompt"
printf 'text\tpair\tscore\nthe old city\tof the river\t1\nthe king\tthe red house\t2\nthe blue river\tthe river\t4\n' > scored.tsv
awk -F '\t' 'NR == 1 { print } NR > 1 { print "of the red " $1 "\tof the red " $2 "\t" $3 }' scored.tsv > scored.longer.tsv
"$program" evaluate -m whole --dev scored.tsv --score_max 5 --json > asked
"$program" evaluate -m longer --dev scored.longer.tsv --score_max 5 --json > longer.scores
grep -q spearmanr asked && same asked longer.scores "scores of texts that begin with the prompt"
"$program" evaluate -m longer --dev scored.tsv --score_max 5 --json > longer.scores
cmp -s asked longer.scores && fail "the prompt changes no score"

# A folder of sentence-transformers' own, whose config.json does not know of vectors: next to modules.json or below it.
cp -r whole own
sed -e '/"finetuning_task"/d; /"task_/d; /"sentence_pooling"/d; /"id2label"/d; /"label2id"/d; /"sentence_normalize"/d' \
    -e 's/RoFormerForSentenceEmbedding/RoFormerModel/; s/\("vocab_size": [0-9]*\),*/\1/' whole/config.json > own/config.json
rm own/checksums.json
mkdir -p below/0_Transformer; cp -r own/. below
for file in config.json model.safetensors vocab.txt tokenizer_config.json special_tokens_map.json; do mv below/$file below/0_Transformer; done
sed 's/"path": ""/"path": "0_Transformer"/' own/modules.json > below/modules.json
for folder in own below; do
    expect 0 '' "$program" evaluate -m $folder --dev scored.tsv --score_max 5 --json
    same out asked "scores of $folder"
done
expect 0 'similarity_threshold.* 0 and 1' "$program" evaluate -m own --dev scored.tsv --score_max 5 --similarity_threshold 0.5
# Where config.json and modules.json differ, both commands follow modules.json.
cp -r whole other; rm other/checksums.json
sed -e 's/"pooling_mode_cls_token": true/"pooling_mode_cls_token": false/; s/"pooling_mode_mean_tokens": false/"pooling_mode_mean_tokens": true/' \
    whole/1_Pooling/config.json > other/1_Pooling/config.json
sed 's/"max_seq_length": 20/"max_seq_length": 6/' whole/sentence_bert_config.json > other/sentence_bert_config.json
cut -f 1 scored.tsv | tail -n +2 > left; cut -f 2 scored.tsv | tail -n +2 > right
for folder in whole own other; do
    "$program" similarity -q -m $folder --pairs left right > near
    "$program" predict -q -m $folder --input scored.tsv | tail -n +2 > of.$folder
    paste near of.$folder | awk '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 || NF != 2 { exit 1 }' || fail "$folder: $(paste near of.$folder)"
done
cmp -s of.whole of.other && fail "modules.json has no effect"

# Cut to their first numbers, as similarity cuts them: by the option, and as the folder says; evaluate's correlation is that of these cosines.
cp -r whole trimmed; printf '%s\n' "${prompts%\}}, \"truncate_dim\": 8}" > trimmed/config_sentence_transformers.json
correlation() { awk -F '\t' 'NR == FNR { x[FNR] = $1; next } FNR > 1 { n++; y = $3; a = x[n]; sx += a; sy += y; xx += a * a; yy += y * y; xy += a * y }
    END { printf "%.4f\n", (n * xy - sx * sy) / sqrt((n * xx - sx * sx) * (n * yy - sy * sy)) }' "$1" scored.tsv; }
for cut in 'whole --dimensions 8' 'whole --dimensions 3' 'trimmed --dimensions 3' 'trimmed'; do
    # shellcheck disable=SC2086
    "$program" similarity -q -m $cut --pairs left right > near
    # shellcheck disable=SC2086
    "$program" predict -q -m $cut --input scored.tsv | tail -n +2 > of.cut
    paste near of.cut | awk '{ d = $1 - $2 } d > 1e-4 || d < -1e-4 || NF != 2 { exit 1 } END { exit NR != 3 }' || fail "$cut: $(paste near of.cut)"
    cmp -s of.whole of.cut && fail "$cut has no effect"
    # shellcheck disable=SC2086
    "$program" evaluate -q -m $cut --dev scored.tsv --score_max 5 > scores
    got=$(sed -n 's/^pearson *//p' scores) expected=$(correlation of.cut)
    awk -v a="$got" -v b="$expected" 'BEGIN { d = a - b; exit !(d < 2e-4 && d > -2e-4) }' || fail "$cut: pearson $got, of the cosines $expected"
done
expect 2 'dimensions: .* 32.*got 33' "$program" evaluate -m whole --dev scored.tsv --score_max 5 --dimensions 33
sed 's/"include_prompt": true/"include_prompt": false/' own/1_Pooling/config.json > note; cp note own/1_Pooling/config.json
expect 3 'include_prompt: expected true, got false' "$program" evaluate -m own --dev scored.tsv --score_max 5
rm own/modules.json
expect 3 'model: expected a fine-tuned model' "$program" evaluate -m own --dev scored.tsv --score_max 5

mv first gone
expect 0 '' "$program" finetune -q --resume whole/checkpoint-2 -o resumed
mv gone first
vectors resumed b; same a b "vectors of the run that was resumed"
expect 0 '' "$program" finetune -q --resume latest -o whole --max_steps 6
same first/config_sentence_transformers.json whole/config_sentence_transformers.json "prompts of a run that goes on"
expect 0 '' "$program" finetune -q --task embed $few --model whole/checkpoint-4 --max_steps 1 -o on
same first/config_sentence_transformers.json on/config_sentence_transformers.json "prompts of a checkpoint that is trained on"
expect 0 '' "$program" convert -q whole/checkpoint-4 converted
for file in modules.json 1_Pooling/config.json 2_Normalize/config.json sentence_bert_config.json; do
    same "converted/$file" "whole/$file" "a checkpoint that was converted"
done
vectors whole/checkpoint-4 a; vectors converted b; same a b "a checkpoint that was converted"
expect 0 '' "$program" convert -q --dtype bf16 --overwrite whole whole
same first/config_sentence_transformers.json whole/config_sentence_transformers.json "prompts of a folder that was converted in its place"
"$program" info first > out; holds out 'default_prompt  query'; holds out 'prompts         query document'
sed 's/"include_prompt": true/"include_prompt": false/' first/1_Pooling/config.json > note; cp note first/1_Pooling/config.json
expect 3 'include_prompt: expected true, got false' "$program" finetune -q --task embed $few --model first --max_steps 1 -o no
"$program" classify -m whole 'the old city' > out 2>&1 && fail "labels of a model that has none"
holds out 'got one that embeds texts'

# What a run that is resumed is given and not given.
expect 0 '' "$program" finetune -q $few --task embed --model model $runs --max_steps 4 --eval_strategy steps --eval_steps 2 -o r1
expect 0 '' "$program" finetune -q --resume latest -o r1 --max_steps 8 --eval_steps 1
for step in 5 6 7 8; do grep -q "\"step\":$step,.*eval_loss" r1/metrics.jsonl || fail "step $step was not evaluated"; done
printf 'text\tlabel\nthe old city\t0\nof the river\t1\nthe king\t0\n' > labels.tsv
expect 0 '' "$program" finetune -q --task cls --train labels.tsv --dev labels.tsv --batch_size 2 --model model --max_steps 3 \
    --save_strategy steps --save_steps 1 --eval_strategy steps --eval_steps 1 --load_best_model_at_end \
    --metric_for_best_model loss --greater_is_better true -o best
expect 2 'dimensions: .*embed and sim' "$program" evaluate -m best --dev labels.tsv --dimensions 8
expect 0 'the model is that of checkpoint-1: ' "$program" finetune --resume best/checkpoint-3 -o beside
expect 2 'max_length: .* 16 positions .* 2[0-9] tokens' sh -c '
    awk "BEGIN { print \"text\tpair\"; for (i = 0; i < 8; i++) print \"the old city of the red river and the blue house of the old dog and the king\tthe river\" }" > long.tsv
    printf "text\tpair\nthe river\tof the old city\nthe king\tof the river\n" > fits.tsv
    cp model/vocab.txt . && mkdir vocabulary && cp vocab.txt vocabulary
    printf "the old city\n\nof the river\n\nthe king\n\nthe red house\n" > text
    sed "s/\"max_position_embeddings\": 64/\"max_position_embeddings\": 16, \"position_embedding_type\": \"absolute\"/" model/config.json > short.json
    "$0" pretrain -q --text text --model vocabulary --config short.json --max_steps 1 --tokens_per_batch 64 --eval_documents 0 --max_length 16 -o short &&
    "$0" finetune -q --task embed --model short --train fits.tsv --dev fits.tsv --batch_size 2 --max_steps 4 --save_strategy steps --save_steps 2 -o s1 &&
    "$0" finetune -q --resume s1/checkpoint-2 --dev long.tsv -o s2' "$program"
[ ! -e s2/metrics.jsonl ] || fail "it trained before it looked at the texts"
grep -q '"max_seq_length": 16' s1/sentence_bert_config.json || fail "longer than its positions: $(cat s1/sentence_bert_config.json)"
cut -f 1 long.tsv | tail -1 > lines.long
expect 0 '1 of 1 .* 16 tokens.*--max-length' "$program" embed -m s1 --format f32 lines.long

# A triplet's loss is of vectors as the model makes them.
printf '{"text": "the old city", "pair": "the red river", "negative": "a dog"}\n{"text": "the old house", "pair": "the king", "negative": "the river"}\n' > triplets.jsonl
"$program" finetune -q --task embed --model model --train triplets.jsonl --dev triplets.jsonl --loss triplet --normalize --batch_size 2 --max_steps 1 --dropout 0 -o triplet > trained
"$program" evaluate -m triplet --dev triplets.jsonl --loss triplet > out
[ "$(grep '^loss' trained)" = "$(grep '^loss' out)" ] && grep -q '^loss' out || fail "losses: $(grep loss trained) / $(grep loss out)"

# A folder that cannot be opened is not intact.
cp -r triplet broken; rm -r broken/1_Pooling broken/checksums.json
expect 4 '1_Pooling/config.json' "$program" verify broken
cp -r model bare; rm bare/vocab.txt
expect 0 '' "$program" verify bare
holds out 'configuration and weights can be read'

# A pipe has no name in any folder.
echo before > both; "$program" embed -q -m model --format jsonl lines -o /dev/stdout >> both; echo behind >> both
[ "$(sed -n '1p;$p' both | tr '\n' ' ')" = 'before behind ' ] || fail "/dev/stdout that is a file: $(cut -c 1-40 both)"
[ "$("$program" embed -q -m model --format f32 lines -o /dev/stdout | cksum)" = "$("$program" embed -q -m model --format f32 lines | cksum)" ] || fail "/dev/stdout"
expect 0 'npy, jsonl, f32 or safetensors' "$program" embed -m model -o v.json lines
expect 0 '' "$program" embed -m model -o v.JSONL lines
head -c 1 v.JSONL | grep -q '\[' || fail "an ending in capitals"

# Texts alone, of which training makes pairs, cannot be evaluated on.
printf '{"text": "the old city"}\n{"text": "a small river"}\n' > alone.jsonl
expect 3 'alone.jsonl:1: .*single texts are for training only' "$program" finetune -q --task embed --model model --train alone.jsonl --dev alone.jsonl --max_steps 1 -o alone
[ ! -e alone ] || fail "a refused run left a folder"
done_testing
