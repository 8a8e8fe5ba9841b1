#!/bin/sh
# serve_tasks.sh — labels of tokens and answers to questions are those of transformers' pipelines (tests/golden/serving,
# by tools/golden/golden_serving.py), sparse vectors those of its masked models (tests/golden/sparse, by golden_sparse.py).
. "$(dirname "$0")/../lib"
"$program" serve --port 0 -m nowhere 2> err
if grep -q 'got one without' err; then echo "SKIPPED: a program without libmicrohttpd"; exit 0; fi
python=$(command -v python3) || { echo "SKIPPED: no python3"; exit 0; }
golden=$repository/tests/golden
# answers MODEL VOCABULARY CASES
answers() {
    mkdir served
    cp "$golden/$1/config.json" "$golden/$1/model.safetensors" "$golden/$2/vocab.txt" \
        "$golden/$2/tokenizer_config.json" served
    PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 "$python" "$here/serve_tasks.py" "$program" served "$golden/$3.jsonl" || fail "$1"
    rm -r served
}
answers bert/token serving serving/token
answers bert/span serving serving/span
answers bert/masked serving sparse/bert
answers models/plain sparse sparse/roformer
done_testing
