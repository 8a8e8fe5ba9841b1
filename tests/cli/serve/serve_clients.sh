#!/bin/sh
# serve_clients.sh — what clients of text-embeddings-inference, Vertex AI, SageMaker and Hugging Face's hub send
# (serve_clients.py).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_begin
serve_models "$make_model" "$repository/tests/golden" && chat_model "$repository/tests/golden" || exit 1
printf 'the old river\na red house\nparis\n' > lines.txt
"$program" index -q -m model -o lines lines.txt 2> err || { cat err; exit 1; }
serve_run serve_clients
done_testing
