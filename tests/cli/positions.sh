#!/bin/sh
# positions.sh — the list of encodings, the curves of rotary ones, and plain words about what is wrong.
. "$(dirname "$0")/lib"

expect 0 '' "$program" positions
for name in none sinusoidal absolute hierarchical complex_order floater recurrent convolution rotary rotary_learned xpos; do
    grep -q "^$name " out || fail "the list lacks $name"
done
expect 0 '' "$program" positions --json
[ "$(wc -l < out)" -eq 1 ] && grep -q '"name": *"rotary"' out || fail "JSON: $(head -c 200 out)"

# RoFormer's section 3.4.3: values computed in float64 for d = 64 and 128.
expect 0 '' "$program" positions plot decay --head_size 64 --max_distance 1000000
near() { awk -v d="$1" -v want="$2" '$1 == d { x = $2 - want; if (x < 0) x = -x; found = x < 2e-6 * want } END { exit !found }' out || fail "decay at $1: $(awk -v d="$1" '$1 == d' out)"; }
near 0 16.5; near 1 15.947764; near 50 5.733077; near 100 7.465277; near 1000 4.089691
[ "$(tail -n 1 out | cut -f 1)" -eq 1000000 ] || fail "the curve ends at $(tail -n 1 out)"
expect 0 '' "$program" positions plot decay --head_size 128
near 1 31.538166; near 250 6.548179

# Wavelengths: 2 pi, and the whole vocabulary of pictures.
expect 0 '' "$program" positions plot wavelengths
awk '$1 == 0 && $2 > 6.283 && $2 < 6.2832 { found = 1 } END { exit !found }' out || fail "wavelengths: $(head -n 2 out)"
expect 0 '' "$program" positions plot score --max_distance 20
expect 0 '' "$program" positions plot angles --max_distance 1000000
awk 'NR > 1 && $1 > 700000 && $2 < 1e-6 && $3 > 1e-3 && $5 > 1 { found = 1 } END { exit !found }' out || fail "angles: $(tail -n 1 out)"

expect 2 'did you mean decay\?' "$program" positions plot decai
expect 2 'plot' "$program" positions draw
expect 2 'is odd' "$program" positions plot decay --head_size 63
expect 2 'FILE.svg' "$program" positions plot decay -o x.jpg
printf '{"rope_scaling": {"rope_type": "linear", "factor": 0.5}}' > config.json
expect 3 'factor is 0.5' "$program" positions plot decay --config config.json
if command -v gnuplot > /dev/null; then
    expect 0 'drawn' "$program" positions plot decay -o decay.svg
    holds decay.svg '<svg'
    expect 0 '' "$program" positions -q plot angles --max_distance 100000 -o angles.png
    [ "$(head -c 4 angles.png | tail -c 3)" = PNG ] || fail "not a PNG"
fi
done_testing
