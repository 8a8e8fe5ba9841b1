#!/bin/sh
# serve_bounds.sh — no request of roformer serve computes for longer, or gives more, than its limits say, and the server
# ends when it has to, whatever is computed (serve_bounds.py).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_script serve_bounds
done_testing
