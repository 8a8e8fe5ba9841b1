#!/bin/sh
# bench.sh — every case runs and reports; the numbers themselves are nobody's test.
. "$(dirname "$0")/lib"
"$make_model" model || exit 1
expect 0 '' "$program" bench forward train attention rope gemm kernels -c model/config.json --shape 2x16 --seconds 0.01
for what in encoder step attention pairs halves product softmax adamw; do holds out "$what"; done
expect 0 '' "$program" bench tokenize -m model --seconds 0.01
holds out tokenize
expect 0 '' "$program" bench forward -m model --shape 4x5-20 --seconds 0.01 --json
for key in share_of_fma_peak tokens_per_second ms p95_ms threads rung; do holds out "\"$key\""; done
done_testing
