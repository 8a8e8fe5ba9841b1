#!/bin/sh
# serve_chat.sh — /v1/chat/completions: the text of the messages by the folder's chat template, answers and streams in OpenAI's
# form, and what is refused; tokens with their log-probabilities, as OpenAI and text-generation-inference have them
# (serve_chat.py).  The templates themselves: tests/text/test_template.c.
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_begin
serve_models "$make_model" "$repository/tests/golden" && chat_model "$repository/tests/golden" || exit 1
serve_run serve_chat
done_testing
