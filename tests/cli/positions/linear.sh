#!/bin/sh
# linear.sh — linear attention on the command line: trained, killed and resumed while features are redrawn, every
# command with the result, and errors in a config.
. "$(dirname "$0")/../lib"
sentences 400 > text.txt
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
config() { small_json base/vocab.txt 2 32 "\"max_position_embeddings\": 64, \"attention_type\": \"linear\"${1:+, $1}"; }
shape="--text text.txt --config small.json --tokens_per_batch 512 --max_length 64 --eval_documents 20"

# Killed twice in the middle of a draw, whatever was being written: the bits of a run that nobody killed.
config '"feature_seed": 5, "num_random_features": 16, "feature_redraw_interval": 4'
long="--max_steps 200 --save_steps 3 --eval_steps 100 --logging_steps 1 --learning_rate 2e-3"
# shellcheck disable=SC2086
expect 0 'step 200/200' "$program" pretrain --model base -o whole $shape $long
holds whole/config.json '"feature_draw": 49'
# shellcheck disable=SC2086
"$program" pretrain --model base -o parts $shape $long 2> log &
pid=$!
for time in 1 2 3; do
    await grep -qs "step .*: saved .*checkpoint" log
    kill -9 $pid 2> /dev/null
    wait $pid 2> /dev/null
    "$program" pretrain --resume parts 2> log &
    pid=$!
done
wait $pid || fail "resumed: $(cat log)"
same whole/model.safetensors parts/model.safetensors "killed and resumed"
same whole/config.json parts/config.json "killed and resumed"
for m in whole parts; do sed 's/,"tokens_per_second".*//; s/,"eval_seconds".*//' $m/metrics.jsonl > $m.lines; done
same whole.lines parts.lines "metrics"
expect 0 '' "$program" evaluate -q -m whole --text text.txt --eval_documents 20 --max_length 64
expect 0 '' "$program" embed -m whole -o vectors.npy --quiet text.txt
expect 0 '' "$program" fill-mask -m whole 'the [MASK] river'
expect 3 'expected softmax attention for its probabilities' "$program" position-report -m whole --text text.txt --max_length 16 -q

# A causal one: what it says of a text is the same in windows and whole, token by token and at once.
config '"feature_map": "elu", "is_decoder": true'
# shellcheck disable=SC2086
expect 0 'step 20/20' "$program" pretrain --model base -o causal $shape --max_steps 20 --learning_rate 5e-3
expect 0 '' "$program" generate -m causal -n 100 --do_sample=false 'the old river'
expect 0 '' "$program" score -m causal 'the old river'

# Encodings that act on scores, and what does not go with features, by name.
mkdir right
right=right refusing="pretrain --model base -o refused $(echo "$shape" | sed 's|small.json|broken/small.json|') --max_steps 1"
bad_keys() {    # bad_keys KEYS PATTERN   and no model is written
    config "$1"
    refused small.json "$(cat small.json)" "$2"
    [ ! -e refused/model.safetensors ] || fail "a model was written: $1"
    rm -rf refused
}
seed='"feature_seed": 5'
for name in alibi t5 shaw transformer_xl deberta kerple_log tupe rerope; do
    bad_keys "$seed, \"position_embedding_type\": \"$name\"" "got \"$name\", which acts on scores"
done
bad_keys "$seed, \"is_decoder\": true, \"position_embedding_type\": \"sandwich\"" 'got "sandwich", which acts on scores'
bad_keys "$seed, \"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 2}" 'rope_scaling: expected angles .* got "dynamic"'
bad_keys "$seed, \"is_decoder\": true, \"position_embedding_type\": \"xpos\", \"rotation_order\": \"before\"" 'rotation_order: expected "eq19" .*"xpos"'
bad_keys '"feature_map": "favor"' 'feature_seed: expected the seed'
bad_keys "$seed, \"num_random_features\": 0" 'small.json: num_random_features: expected \[1, 16777216\], got 0'
bad_keys "$seed, \"num_random_features\": -4" 'small.json: num_random_features: expected \[1, 16777216\], got -4'
bad_keys "$seed, \"num_random_features\": 15" 'num_random_features: expected an even number'
config "$seed, \"num_random_features\": 16777216"
# shellcheck disable=SC2086
expect 5 '16777216 features.*needs [0-9.]* GB' "$program" pretrain --model base -o refused $shape --max_steps 1
config "$seed, \"num_random_features\": 4000"
# shellcheck disable=SC2086
expect 0 '4000 features of linear attention take far longer than softmax' "$program" pretrain --model base -o slow $shape --max_steps 1
bad_keys "$seed, \"feature_map\": \"gelu\"" 'feature_map: expected one of .* got "gelu"'

# Features that no memory holds are refused before the first of them is made.
mkdir vast && cp causal/* vast 2> /dev/null
sed 's/"feature_map": "elu"/"feature_map": "favor", "feature_seed": 1, "num_random_features": 16777216/' causal/config.json > vast/config.json
beyond() { (ulimit -v 4000000 && exec "$program" "$@"); }
for command in "score -m vast river" "generate -m vast river" "evaluate -q -m vast --text text.txt"; do
    beyond --version > /dev/null 2>&1 || break                          # under a sanitizer, whose shadow needs more
    # shellcheck disable=SC2086
    expect 5 '16777216 features .num_random_features. needs [0-9.]* GB.* GB available' beyond $command
done

# So many that a command would run long without a word.
mkdir many && cp causal/* many 2> /dev/null
sed 's/16777216/20000/' vast/config.json > many/config.json
expect 0 'num_random_features is 20000, which is slow' "$program" score -m many river

# A trained folder that lost its seed is of no use, and says so.
sed '/feature_seed/d' whole/config.json > lost && cp lost whole/config.json
expect 3 'feature_seed: expected the seed' "$program" evaluate -q -m whole --text text.txt --eval_documents 20 --max_length 64

# Queries without a denominator: zeros, and training says how many.
config '"feature_map": "squared_relu", "initializer_range": 1e-9'
# shellcheck disable=SC2086
expect 0 'denominator' "$program" pretrain --model base -o none $shape --max_steps 2 --learning_rate 1e-9
done_testing
