#!/bin/sh
# serve_soak.sh — half a minute of mixed requests, some of whose clients leave: memory and descriptors of roformer serve
# do not grow, nothing fails (bench/serving_soak.py; `make sweep` does this for 15 minutes).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
serve_begin
if [ -n "${SANITIZED:-}" ]; then echo "SKIPPED: freed memory is not reused"; exit 0; fi
"$make_model" model
sentences 200 > lines.txt
"$python" "$repository/bench/serving_soak.py" "$(dirname "$program")" lines.txt --model model --minutes 0.4 --rate 100 \
    --every 2 --aborts 0.05 --growth 10 --drift 0 > out 2>&1 || { fail "serving_soak.py"; cat out >&2; }
holds out 'memory good, descriptors good, failures good'
done_testing
