#!/bin/sh
# serve_faults.sh — what clients and machines do to roformer serve: they leave, send signals, overload it, replace its
# files, fill its disk (serve_faults.py).
. "$(dirname "$0")/lib"
. "$here/serve_models"
serve_script serve_faults
done_testing
