#!/bin/sh
# programs.sh — the programs of examples/ and the one in README.md: each works as described with the shipped model.
. "$(dirname "$0")/../lib"
if grep -q __asan_init "$program"; then echo "SKIPPED: takes minutes under a sanitizer, where the tests of each command run, too"; exit 0; fi
examples=$(dirname "$program")/examples
shipped=$(cd "$repository/models/roformer-small-en" && pwd)
ln -s "$shipped" run-1
sentences=$(cd "$repository/models/roformer-small-en-sentences" && pwd)
model=models/roformer-small-en-sentences                # the folder that the program of README.md names
mkdir models

# The vectors are those of the command, on the rung that programs get.
printf 'A dog barks.\nPrices fell.\n' > lines
ln -s "$sentences" $model
"$examples/readme" > got || fail "the program of README.md"
env -u ROFORMER_ISA "$program" embed -m $model --format jsonl < lines | head -1 | tr -d '[,' | awk '{ printf "%g %g ...\n", $1, $2 }' > expected
same expected got "README.md"

# With a model of sentences that program does what the folder says: pooling, length 1, prompt, length in tokens, dimensions.
says() {                                    # POOLING NORMALIZE PROMPT TOKENS DIMENSIONS
    rm -rf $model && mkdir -p $model/1_Pooling
    for file in "$sentences"/*.*; do ln -s "$file" $model/; done
    rm -f $model/modules.json $model/sentence_bert_config.json $model/config_sentence_transformers.json
    sed "s/true/false/; s/\(pooling_mode_$1_tokens*\": \)[a-z]*/\1true/; s/\(include_prompt\": \)[a-z]*/\1true/" "$sentences/1_Pooling/config.json" > $model/1_Pooling/config.json
    printf '{"max_seq_length": %s, "do_lower_case": false}' "$4" > $model/sentence_bert_config.json
    printf '{"prompts": {"q": "%s"}, "default_prompt_name": "q", "truncate_dim": %s}' "$3" "$5" > $model/config_sentence_transformers.json
    {
        printf '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},\n'
        printf '{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}'
        [ "$2" = unit ] && printf ',{"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}'
        printf ']'
    } > $model/modules.json
}
: > every
for how in 'cls unit || 128 null' 'cls plain || 128 null' 'max plain || 128 null' 'mean plain || 128 null' 'mean plain |find: | 128 null' \
    'mean plain || 4 null' 'mean unit || 128 16'; do
    IFS='|' read -r before prompt after <<END
$how
END
    says $before "$prompt" $after
    "$examples/readme" > got || fail "README.md's program: $how"
    "$program" embed -m $model --format jsonl < lines | head -1 | tr -d '[],' | awk '{ printf "%g %g ...\n", $1, $2 }' > expected
    same expected got "README.md's program, of a folder that says $how"
    cat got >> every
done
[ "$(sort -u every | wc -l)" -ge 6 ] || fail "what a folder says changes no vector: $(cat every)"
"$examples/embed" run-1 "A dog barks." "The hound barks." "Prices fell." > got || fail "embed"
awk 'NR == 1 && !($1 == 1 && $2 > $3) { exit 1 } END { exit NR != 3 }' got || fail "embed: $(cat got)"
expect 1 'cannot open|no such' "$examples/embed" nowhere text

"$examples/cancel" run-1 0 "A dog barks." > got || fail "cancel"
holds got "texts: canceled"
holds got "one text: "

"$examples/fill_mask" run-1 "The capital of France is [MASK]." > got || fail "fill_mask"
"$program" fill-mask -m run-1 --json "The capital of France is [MASK]." | grep -o '"token": [0-9]*' | wc -l > expected
[ "$(wc -l < got)" -eq "$(cat expected)" ] || fail "fill_mask: $(cat got)"
holds got "mask 1: "

printf 'text\tlabel\n' > train.tsv
for i in 1 2 3 4 5 6 7 8; do printf 'a good book %d\tgood\na bad book %d\tbad\n' $i $i; done >> train.tsv
"$program" finetune -q -m run-1 --task cls --train train.tsv --max_steps 12 --learning_rate 1e-3 --max_length 16 -o reviews \
    --save_strategy no > log 2>&1 || fail "finetune: $(tail -3 log)"
"$examples/classify" reviews "a good book 3" "a bad book 5" > got || fail "classify"
awk '$1 != (NR == 1 ? "good" : "bad") { exit 1 } END { exit NR != 2 }' got || fail "classify: $(cat got)"
expect 1 'fine-tuned' "$examples/classify" run-1 text

for i in 1 2 3 4 5 6 7 8; do printf 'the cat sat on the mat and the dog sat on the log\n\n'; done > corpus.txt
"$examples/train" run-1 corpus.txt causal 3 > got || fail "train"
holds got "step 3 of 3: loss "
"$examples/generate" causal "the cat" > got || fail "generate"
holds got "the cat"
[ "$(wc -l < got)" -ge 1 ] || fail "generate: $(cat got)"

# Two sequences that share a prompt: the text of each is that of the command, whose prompt has the word.
"$examples/continue" causal "the cat" sat dog > got || fail "continue"
for word in sat dog; do
    "$program" generate -m causal -n 11 "the cat $word" || fail "generate $word"
done > expected
awk 'NR == FNR { text[FNR] = $0; next } index($0, text[FNR]) != 1 { exit 1 } END { exit FNR != 2 }' expected got ||
    fail "continue: $(cat got expected)"
expect 1 'is_decoder false' "$examples/continue" run-1 "the cat" sat dog

"$examples/rotate" > got || fail "rotate"
awk 'NR > 1 && ($2 - $3) ^ 2 > 1e-6 { exit 1 }' got || fail "rotate: $(cat got)"
done_testing
