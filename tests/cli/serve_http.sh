#!/bin/sh
# serve_http.sh — requests that are slow, large, unclear or wrong get the right answer from roformer serve, or none, and
# harm nobody else (serve_http.py).
. "$(dirname "$0")/lib"
. "$here/serve_models"
serve_script serve_http
done_testing
