#!/bin/sh
# serve_page.sh — the page for people: its files, its headers, and the routes that only it uses (serve_page.py). What a browser
# shows: tools/page/check.py.
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_begin
serve_models "$make_model" "$repository/tests/golden" || exit 1
for model in token span; do
    mkdir $model
    cp "$repository/tests/golden/bert/$model/config.json" "$repository/tests/golden/bert/$model/model.safetensors" \
        "$repository/tests/golden/serving/vocab.txt" "$repository/tests/golden/serving/tokenizer_config.json" $model
done
mkdir -p alone/models && cp "$program" alone/roformer                # a program that finds no dictionary of Chinese words
for name in roformer-small-en roformer-small-en-sentences; do cp -r model alone/models/$name; done
ln -s "$repository/models/roformer-small-zh" alone/models
serve_run serve_page

expect 2 '--demo: expected neither --model .or ROFORMER_MODEL. nor --index' "$program" serve --port 0 --demo -m model
done_testing
