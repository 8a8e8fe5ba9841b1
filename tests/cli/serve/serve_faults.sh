#!/bin/sh
# serve_faults.sh — failures around roformer serve: clients disconnect, send signals, overload it, replace its files,
# fill its disk (serve_faults.py).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_script serve_faults
done_testing
