#!/bin/sh
# serve_soak.sh — half a minute of mixed requests, some of whose clients leave: memory and descriptors of roformer serve
# do not grow, nothing fails (bench/serving_soak.py; `make sweep` does this for 15 minutes).
. "$(dirname "$0")/../lib"
. "$here/serve_models"
"$program" serve --port 0 -m nowhere 2> err
if grep -q 'got one without' err; then echo "SKIPPED: a program without libmicrohttpd"; exit 0; fi
python=$(command -v python3) || { echo "SKIPPED: no python3"; exit 0; }
if grep -q __asan_init "$program"; then echo "SKIPPED: freed memory is not reused"; exit 0; fi
"$make_model" model
sentences 200 > lines.txt
"$python" "$repository/bench/serving_soak.py" "$(dirname "$program")" lines.txt --model model --minutes 0.4 --rate 100 \
    --every 2 --aborts 0.05 --growth 10 --drift 0 > out 2>&1 || { fail "serving_soak.py"; cat out >&2; }
holds out 'memory good, descriptors good, failures good'
done_testing
