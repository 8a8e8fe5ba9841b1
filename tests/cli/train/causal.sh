#!/bin/sh
# causal.sh — a causal language model from text to perplexity: trained, resumed, measured, rejected where it does not
# apply.
. "$(dirname "$0")/../lib"
sentences 600 > text.txt
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
small_json base/vocab.txt 2 32 '"max_position_embeddings": 64'
shape="--config small.json --tokens_per_batch 512 --max_length 64 --eval_documents 20 --objective clm"

cp -r base whole
# shellcheck disable=SC2086
expect 0 'held-out loss .*perplexity' "$program" pretrain --text text.txt --model whole $shape --max_steps 30 --save_steps 15 --eval_steps 15 --logging-steps 10 --learning-rate 5e-3
grep -qE 'step 30/30  loss [0-9.]+ \(perplexity [0-9.]+\)' err || fail "progress: $(cat err)"
grep -q '"is_decoder": true' whole/config.json && grep -q RoFormerForCausalLM whole/config.json || fail "config: $(cat whole/config.json)"
grep -q '"eval_perplexity":' whole/metrics.jsonl || fail "metrics: $(tail -1 whole/metrics.jsonl)"

# Stopped and resumed: the same bytes.
cp -r base parts
# shellcheck disable=SC2086
expect 75 'continue with --resume' "$program" pretrain --text text.txt --model parts $shape --max_steps 30 --save_steps 15 --eval_steps 15 --logging-steps 10 --learning-rate 5e-3 --stop_after 11
expect 0 'step 30/30' "$program" pretrain --resume parts/checkpoint-11
same whole/model.safetensors parts/model.safetensors "resumed"

# Measured, at one length and at several.
expect 0 '' "$program" evaluate -m whole --text text.txt --eval_documents 20 --max_length 64
holds out 'perplexity'
expect 0 '' "$program" evaluate -m whole --text text.txt --eval_documents 20 --max_lengths 16,32,64
[ "$(wc -l < out)" -eq 4 ] || fail "a line for each length: $(cat out)"
expect 0 '' "$program" evaluate -m whole --text text.txt --eval_documents 20 --max_lengths 16,32 --json
holds out '"max_length": 32'
expect 2 'mlm_probability: .*whole.*causal' "$program" evaluate -m whole --text text.txt --mlm_probability 0.4
expect 2 '--max_lengths: .* 8 to 1048576.*16,x' "$program" evaluate -m whole --text text.txt --max_lengths 16,x

# In windows that overlap: with a stride below a document's length tokens see more than without; a document that a window holds is the same.
expect 0 '' "$program" evaluate -m whole --text text.txt --eval_documents 20 --max_length 64 --stride 32 --json
cp out wide
expect 0 '' "$program" evaluate -m whole --text text.txt --eval_documents 20 --max_length 16 --stride 4
holds out 'in windows of 16 (--max_length) that begin every 4'
expect 2 'less than the 16 tokens' "$program" evaluate -m whole --text text.txt --max_length 16 --stride 16
expect 2 'expected one of them, got ' "$program" evaluate -m whole --text text.txt --max_lengths 16,32 --stride 8

# A text does not end before its minimum.
ids() { sed 's/.*"ids": \[\([^]]*\)\].*/\1/' "$1" | tr ',' '\n'; }
"$program" generate -q -m whole --json -n 8 'the old river' > free.json || fail generate
cp -r whole ends && echo "{\"eos_token_id\": $(ids free.json | sed -n 4p)}" > ends/generation_config.json
"$program" generate -q -m ends --json -n 40 'the old river' > free.json || fail generate
[ "$(ids free.json | wc -l)" -lt 8 ] || fail "a text that does not end: $(cat free.json)"
"$program" generate -q -m ends --json -n 40 --min_new_tokens 33 'the old river' > least.json || fail "min_new_tokens"
[ "$(ids least.json | wc -l)" -ge 33 ] || fail "shorter than its minimum: $(cat least.json)"

# What lines are worth: the sum of their tokens' log-probabilities, also after a context.
expect 0 '' "$program" score -m whole --json 'the old river'
holds out '"tokens": 3'
expect 0 '' "$program" score -m whole 'the old river'
cut -f 1 out > sum
expect 0 '' "$program" score -m whole 'the'
cut -f 1 out > pair
expect 0 '' "$program" score -m whole --context 'the' 'old river'
cut -f 1 out >> pair
awk 'NR == FNR { s += $1; next } { d = s - $1; exit d > 2e-4 || d < -2e-4 }' pair sum || fail "score: $(cat pair sum)"
[ -z "$posix" ] || expect 3 'context: expected UTF-8, got byte 0xFF at byte 5' "$program" score -m whole --context "$(printf 'the \377')" 'old river'
expect 2 'stride: expected less than max_length, 50, got 100' "$program" score -m whole --max_length 50 --stride 100 'the'
printf 'the old river\nriver old the\n' > lines
input=lines expect 0 '' "$program" score -m whole --end
awk -F '\t' 'NR == 1 { first = $1 } END { exit !(NR == 2 && first > $1 && $4 == "river old the") }' out || fail "order of words: $(cat out)"

# In int8 and bf16, too: near the same numbers.
for type in bf16 int8; do
    expect 0 '' "$program" score -q -m whole --dtype $type 'the old river'
    awk 'NR == FNR { s = $1; next } { d = s - $1; exit !(d && d < 0.1 && d > -0.1) }' out sum || fail "score in $type: $(cat out sum)"
    expect 0 '' "$program" evaluate -q -m whole --dtype $type --text text.txt --eval_documents 20 --max_length 16 --stride 4
    holds out 'in windows of 16'
done

# What a causal model cannot do.
expect 3 'fill-mask: expected a model with bidirectional attention' "$program" fill-mask -m whole 'the [MASK].'
expect 3 'pooling: expected mean, max or last, got cls' "$program" embed -m whole --pooling cls -o v.npy text.txt
expect 2 'objective mlm: .*bidirectional.*config.json' "$program" pretrain --text text.txt --model whole -o other --objective mlm --max_steps 1

# It writes: the prompt as it is, then what follows; the same seed the same text; prompts from everywhere.
expect 0 '' "$program" generate -m whole -n 12 'the Old river'
case $(cat out) in 'the Old river'?*) ;; *) fail "generate: $(cat out)" ;; esac
grep -q '\[' out && fail "special tokens in a text: $(cat out)"
expect 0 '' "$program" generate -m whole -n 30 --top_p 0.9 --seed 3 --threads 1 'the old river'
mv out first
expect 0 '' "$program" generate -m whole -n 30 --top_p 0.9 --seed 3 'the old river'
same first out "same seed"
expect 0 '' "$program" generate -m whole -n 30 --top_p 0.9 --seed 4 'the old river'
cmp -s first out && fail "another seed, the same text"
printf 'the old river' > prompt
expect 0 '' "$program" generate -m whole -n 30 --top_p 0.9 --seed 3 --prompt_file prompt
same first out "prompt_file"
gzip -c prompt > prompt.gz
expect 0 '' "$program" generate -m whole -n 30 --top_p 0.9 --seed 3 --prompt_file prompt.gz
same first out "a compressed prompt_file"
printf 'the old river\nthe red house\n\n' > lines
input=lines expect 0 '' "$program" generate -m whole -n 5
[ "$(wc -l < out)" -eq 3 ] || fail "a line for each prompt: $(cat out)"
expect 0 '' "$program" generate -m whole -n 5 --json --return_full_text=false 'the old river'
for key in generated_text finish_reason prompt_tokens ids logprobs; do holds out "\"$key\": "; done
expect 0 '' "$program" generate -m whole -n 0 'the old river'
[ "$(cat out)" = 'the old river' ] || fail "no new token: $(cat out)"
# As generation_config.json says, unless the command line says otherwise; training on keeps the file.
expect 0 '' "$program" generate -m whole -n 7 'the old river' && mv out seven
expect 0 '' "$program" generate -m whole --num_beams 3 -n 7 --repetition_penalty 2 'the old river' && mv out beams
expect 0 '' "$program" generate -m whole --top_k 50 --seed 4 -n 7 'the old river' && mv out drawn
printf '{"max_new_tokens": 7}' > whole/generation_config.json
expect 0 '' "$program" generate -m whole 'the old river' && same seven out "max_new_tokens"
expect 0 '' "$program" generate -m whole -n 0 'the old river' && holds out 'the old river'
printf '{"max_length": 11}' > whole/generation_config.json
expect 0 '' "$program" generate -m whole 'the old river' && same seven out "max_length, prompt included"
expect 3 'prompt: expected .* max_length, 11, got 12' "$program" generate -m whole 'the the the the the the the the the the the'
expect 0 '' "$program" generate -m whole -n 2 'the the the the the the the the the the the'
printf '{"num_beams": 3, "max_new_tokens": 7, "repetition_penalty": 2.0}' > whole/generation_config.json
expect 0 '' "$program" generate -m whole 'the old river' && same beams out "num_beams"
expect 0 '' "$program" generate -m whole --num_beams 1 --repetition_penalty 1 'the old river' && same seven out "the command line first"
expect 0 '' "$program" generate -m whole --length_penalty 0.5 'the old river'
printf '{"do_sample": true, "max_new_tokens": 7}' > whole/generation_config.json
expect 0 '' "$program" generate -m whole --seed 4 'the old river' && same drawn out "do_sample draws among 50"
expect 0 '' "$program" generate -m whole --do_sample=false 'the old river' && same seven out "--do_sample=false"
expect 0 '' "$program" generate -m whole --num_beams 3 --repetition_penalty 2 'the old river' && same beams out "--num_beams draws nothing"
printf '{"stop_strings": ["the"], "num_beam_groups": 2}' > whole/generation_config.json
expect 3 'whole/generation_config.json: (num_beam_groups|stop_strings)' "$program" generate -m whole 'the old river'
expect 0 '' "$program" score -m whole 'the old river'
printf '{"max_new_tokens": 5}' > whole/generation_config.json
# shellcheck disable=SC2086
expect 0 'step 1/1' "$program" pretrain --text text.txt -m whole --tokens_per_batch 512 --max_length 64 --objective clm --max_steps 1 -o further
same whole/generation_config.json further/generation_config.json "training on"
same whole/generation_config.json further/checkpoint-1/generation_config.json "a checkpoint"
expect 0 '' "$program" pretrain -q --resume further/checkpoint-1 --max_steps 2 -o resumed
same whole/generation_config.json resumed/generation_config.json "resumed elsewhere"
rm whole/generation_config.json

# Special tokens are never written, unless they may be: a model that has learned nothing writes them, too.
ids_of() { tr -d '\n' < out | grep -oE '"ids": \[[^]]*\]' | tr -dc '0-9,\n' | tr ',' '\n' | sort -n | sed -n 1p; }
expect 0 '' "$program" generate -m whole --temperature 1000 -n 400 --json --seed 2 'the'
[ "$(ids_of)" -ge 5 ] || fail "a special token: $(cat out)"
expect 0 '' "$program" generate -m whole --temperature 1000 -n 400 --json --seed 2 --special_tokens 'the'
[ "$(ids_of)" -lt 5 ] || fail "no special token: $(cat out)"
grep -q '\[MASK\]' out && fail "special tokens in a text: $(cat out)"
expect 2 'temperature' "$program" generate -m whole --temperature 0 'the'
expect 2 '--prompt_file, TEXT: expected one of them, got both' "$program" generate -m whole --prompt_file prompt 'the'
expect 4 'nowhere' "$program" generate -m whole --prompt_file nowhere
printf 'fine\n\377\n' > bad
input=bad expect 3 'standard input:2: ' "$program" generate -m whole -n 2

# A prompt that comes again gets another sample; the first is the one it has alone, whatever else is in the batch.
expect 0 '' "$program" generate -m whole -n 30 --temperature 5 --seed 3 'the old river'
cp out alone
expect 0 '' "$program" generate -m whole -n 30 --temperature 5 --seed 3 'the red house' 'the old river' 'the cat' \
    'the old river' 'the old river'
sed -n 2p out > second && same alone second 'beside others'
[ "$(sed -n '2p;4p;5p' out | sort -u | wc -l)" -eq 3 ] || fail "equal prompts, equal samples: $(cat out)"
cp out five
sed -n '1p;2p;4p' five > expected3
printf '%s\n' 'the red house' 'the old river' 'the old river' > lines
input=lines expect 0 '' "$program" generate -m whole -n 30 --temperature 5 --seed 3
same expected3 out 'lines are drawn as arguments are'

# A prompt that ends in a blank has one, not two, and is continued alike.
expect 0 '' "$program" generate -m whole -n 12 'the old'
cp out none
expect 0 '' "$program" generate -m whole -n 12 'the old '
same none out 'the text behind a blank'
expect 0 '' "$program" generate -m whole -n 12 --json 'the old '
holds out "\"generated_text\": \"$(cat none)\""
expect 0 '' "$program" generate -m whole -n 12 --json --return_full_text=false 'the old '
holds out "\"generated_text\": \"$(sed 's/the old //' none)\""
for limit in temperature=1e-7 temperature=1e7 top_p=1e-7 repetition_penalty=1e-7 max_new_tokens=1048577; do
    expect 2 "${limit%=*}: expected .* to " "$program" generate -m whole --$limit 'the'
done
# Many prompts at once: the texts that each has alone, in their order, whatever the size of batches, their keys and the memory for them.
sort -u text.txt | grep . | head -40 | sed 's/^/the old river the red house the old river the red house the old river the red house the /' > prompts
many="generate -m whole -n 15 --top_p 0.9 --seed 5"
# shellcheck disable=SC2086
{
    while IFS= read -r line; do "$program" $many "$line" || fail "alone: $line"; done < prompts > alone
    for more in '' '--batch_size 1' '--batch_size 3 --threads 1' '--cache_memory 1'; do
        input=prompts expect 0 '' "$program" $many $more
        same alone out "40 prompts $more"
    done
    input=prompts expect 0 '' "$program" $many --json
    [ "$(wc -l < out)" -eq 40 ] || fail "JSON of 40 prompts"
    input=prompts expect 0 '' "$program" $many --cache_dtype bf16
    mv out rounded
    input=prompts expect 0 '' "$program" $many --cache_dtype bf16 --batch_size 5
    same rounded out 'keys in bf16'
    input=prompts expect 0 '' "$program" $many --num_return_sequences 3
    awk 'NR % 3 == 1' out > firsts
    same alone firsts 'the first of three samples'
    [ "$(sort -u out | wc -l)" -gt 100 ] || fail "samples are alike"
}
expect 2 'num_return_sequences: expected 1 without do_sample' "$program" generate -m whole --do_sample=false --num_return_sequences 2 'the'

# Beam search: the best of its texts is the one it writes alone, whatever else is searched; no wider than the vocabulary.
head -5 prompts > some
for line in 1 2 3 4 5; do
    expect 0 '' "$program" generate -m whole -n 9 --num_beams 4 --length_penalty 0.8 "$(sed -n ${line}p some)"
    cat out
done > alone
expect 2 '--length_penalty: has no effect without --num_beams above 1' "$program" generate -m whole -n 9 --length_penalty 0.8 the
expect 2 '--early_stopping: has no effect without --num_beams above 1' "$program" generate -m whole -n 9 --early_stopping true the
input=some expect 0 '' "$program" generate -m whole -n 9 --num_beams 4 --length_penalty 0.8
same alone out 'beams of five prompts'
input=some expect 0 '' "$program" generate -m whole -n 9 --num_beams 4 --length_penalty 0.8 --num_return_sequences 3 --batch_size 1
awk 'NR % 3 == 1' out > firsts
same alone firsts 'the best of three'
expect 2 'num_beams: expected at most .* for 200 beams' "$program" generate -m whole --num_beams 200 'the'
expect 2 'num_beams: expected 1 with do_sample, got 3' "$program" generate -m whole --num_beams 3 --top_p 0.5 'the'
expect 2 'num_return_sequences: expected at most num_beams, 3, got 5' "$program" generate -m whole --num_beams 3 --num_return_sequences 5 'the'
expect 2 '--min_p: expected 0 to 1, got 2' "$program" generate -m whole --min_p 2 'the'
expect 2 'empty' "$program" generate -m whole --stop '' 'the'

# A string ends a text where it first comes; one that never comes does not.
expect 0 '' "$program" generate -m whole -n 30 --return_full_text=false 'the old river'
cp out free
word=$(awk '{ print $2 }' free)
expect 0 '' "$program" generate -m whole -n 30 --return_full_text=false --stop "$word" --stop 'comes never' 'the old river'
[ "$(cat out)" = "$(awk -v w="$word" '{ print substr($0, 1, index($0, w) + length(w) - 1) }' free)" ] || fail "stop: $(cat out free)"
expect 0 '' "$program" generate -m whole -n 30 --json --stop "$word" 'the old river'
holds out '"finish_reason": "stop"'
expect 0 '' "$program" generate -m whole -n 30 --return_full_text=false --stop 'comes never' 'the old river'
same free out 'a string that never comes'
expect 0 '' "$program" generate -m whole -n 40 --no_repeat_ngram_size 2 'the old river'

# More than memory allows says the limit; the texts before it are there.
{ head -1 prompts; for i in 1 2 3 4 5 6 7 8 9; do tr '\n' ' ' < prompts; done; echo; } > long
input=long expect 3 ':2: prompt: expected at most 1048576 bytes' "$program" generate -m whole -n 2 --cache_memory 1
[ "$(wc -l < out)" -ge 1 ] || fail "the text before one that does not fit"

# Nothing is printed of a prompt that is refused; without a limit the system's memory is one.
sed -n 2p long > long2
expect 3 'long2: prompt: expected .* linear attention' "$program" generate -m whole -n 2 --cache_memory 1 --prompt_file long2
[ ! -s out ] || fail "a prompt that was refused is printed: $(head -c 100 out)"
for i in 1 2 3 4 5 6 7; do cat long2 long2 > more && mv more long2; done
if [ "$posix" ] && (ulimit -v 300000 && "$program" --version) > /dev/null 2>&1; then
    expect 3 'long2: prompt: expected .*what the machine has.* linear attention' sh -c "ulimit -v 300000; '$program' generate -m whole -n 2 --prompt_file long2"
fi

# A line for each new token, and the same numbers in JSON.
expect 0 '' "$program" generate -m whole -n 4 --logprobs 'the old river' 'the red house'
[ "$(awk -F '\t' 'NF == 3 && $1 < 0 && $3 ~ /^".*"$/' out | wc -l)" -eq 8 ] && [ "$(grep -c '^$' out)" -eq 2 ] || fail "--logprobs: $(cat out)"
awk -F '\t' 'NF == 3 { printf "%s%d", n++ ? ", " : "", $2 } !NF { exit }' out > ids
expect 0 '' "$program" generate -m whole -n 4 --logprobs --json 'the old river'
holds out "\"ids\": [$(cat ids)]"

"$make_model" encoder || exit 1
expect 3 'causal.*is_decoder false' "$program" generate -m encoder 'the'
expect 2 'end: expected 0' "$program" score -m encoder --end 'the'
done_testing
