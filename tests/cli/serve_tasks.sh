#!/bin/sh
# serve_tasks.sh — labels of tokens and answers to questions are those of transformers' pipelines (tests/golden/serving,
# by tools/golden/golden_serving.py).
. "$(dirname "$0")/lib"
"$program" serve --port 0 -m nowhere 2> err
if grep -q 'got one without' err; then echo "SKIPPED: a program without libmicrohttpd"; exit 0; fi
python=$(command -v python3) || { echo "SKIPPED: no python3"; exit 0; }
golden=$here/../golden
for model in token span; do
    mkdir $model
    cp "$golden/bert/$model/config.json" "$golden/bert/$model/model.safetensors" "$golden/serving/vocab.txt" \
        "$golden/serving/tokenizer_config.json" $model
    PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 "$python" "$here/serve_tasks.py" "$program" $model \
        "$golden/serving/$model.jsonl" || fail "$model"
done
done_testing
