#!/bin/sh
# serve_bodies.sh — bodies that are invalid, or that a model cannot answer, are refused by name; answers have the contents
# that they are documented to have (serve_bodies.py).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_begin
serve_models "$make_model" "$repository/tests/golden" || exit 1
# A causal model of bytes, whose texts may end within a character.
"$program" vocab -q --type bytes -o letters || exit 1
seq 261 > ids && small_json ids 1 32 '"max_position_embeddings": 128'
awk 'BEGIN { for (i = 0; i < 300; i++) print "日本語。日本語日本語。\n" }' > letters.txt
"$program" pretrain -q --text letters.txt --model letters --config small.json --objective clm --tokens_per_batch 512 --max_length 64 --eval_documents 5 --max_steps 60 --learning_rate 1e-2 --warmup_steps 5 2> err || fail "letters: $(cat err)"
serve_run serve_bodies
done_testing
