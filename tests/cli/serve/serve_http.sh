#!/bin/sh
# serve_http.sh — requests that are slow, large or ambiguous get the right answer from roformer serve, or none, and do not
# affect other requests (serve_http.py).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_script serve_http
done_testing
