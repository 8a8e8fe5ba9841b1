#!/bin/sh
# serve_tasks.sh — labels of tokens and answers to questions are those of transformers' pipelines (tests/golden/serving,
# by tools/golden/golden_serving.py), sparse vectors those of its masked models (tests/golden/sparse, by golden_sparse.py).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_begin
golden=$repository/tests/golden
# answers MODEL VOCABULARY CASES [FILES]
answers() {
    mkdir served
    cp "$golden/$1/config.json" "$golden/$1/model.safetensors" "$golden/$2/vocab.txt" \
        "$golden/$2/tokenizer_config.json" served
    [ -z "${4:-}" ] || cp -r "$golden/$4/." served
    serve_run serve_tasks served "$golden/$3.jsonl"
    rm -r served
}
answers bert/token serving serving/token
answers bert/span serving serving/span
# Labels that a request names, and functions of the outputs, by a model of natural language inference.
answers bert/sequence serving serving/nli serving/nli
answers bert/masked serving sparse/bert
answers models/plain sparse sparse/roformer
# SpladePooling of sentence-transformers: the sum over the tokens, two logarithms, and its limit of tokens.
answers bert/masked serving sparse/sum sparse/sum
answers bert/masked serving sparse/twice sparse/twice
done_testing
