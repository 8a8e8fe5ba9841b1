#!/bin/sh
# serve_bodies.sh — bodies that are invalid, or that a model cannot answer, are refused by name; answers have the contents
# that they are documented to have (serve_bodies.py).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_begin
serve_models "$make_model" "$repository/tests/golden" || exit 1
serve_run serve_bodies
done_testing
