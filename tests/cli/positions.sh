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

# Pictures of a trained model.
"$make_model" model || exit 1
awk 'BEGIN { split("the old city of paris is in france , red house river water town london green sky was new", w, " ");
    for (i = 0; i < 700; i++) printf "%s%s", w[1 + (i * i + int(i / 7)) % 18], i % 20 == 19 ? "\n" : " " }' > long.txt
expect 0 '' "$program" positions plot attention -m model --text "the city of paris ."
awk -F '\t' 'NR > 1 { sum[$1 "/" $2 "/" $3] += $5; n++ } END { for (i in sum) { rows++; if (sum[i] < 0.99999 || sum[i] > 1.00001) bad = 1 }
    exit bad || n != 2 * 4 * 7 * 7 || rows != 2 * 4 * 7 }' out || fail "attention does not add up: $(head -n 3 out)"
[ "$(cut -f 7 out | sed -n 2,8p | tr '\n' ' ')" = "[CLS] the city of paris . [SEP] " ] || fail "tokens: $(cut -f 7 out | sed -n 2,8p)"
expect 0 '' "$program" positions plot attention -m model --text "the city" --layer 1 --head 2
[ "$(wc -l < out)" -eq 17 ] || fail "one head of four tokens: $(wc -l < out) lines"
# From position alone: rotated zeros are alike; four heads of ALiBi lose 2^-2, 2^-4, 2^-6, 2^-8 nats a token.
expect 0 '' "$program" positions plot bias -m model --max_length 8
awk 'NR > 1 && ($5 < 0.12499 || $5 > 0.12501) { bad = 1 } END { exit bad || NR != 513 }' out || fail "rotary from position alone: $(head -n 2 out)"
sed 's/"vocab_size"/"position_embedding_type": "alibi", "vocab_size"/' model/config.json > alibi.json && cp -r model alibi && mv alibi.json alibi/config.json
expect 0 '' "$program" positions plot bias -m alibi --max_length 8 --layer 1
awk 'NR > 1 && $3 == 0 { p[$2 "," $4] = $5 } END { for (h = 0; h < 4; h++) for (n = 1; n < 8; n++) {
    r = log(p[h "," n - 1] / p[h "," n]) - 2 ^ (-2 * (h + 1)); if (r < -1e-4 || r > 1e-4) bad = 1 } exit bad }' out || fail "ALiBi: $(head -n 9 out)"
expect 0 '' "$program" positions plot score -m model --text long.txt --max_length 16 --pieces 2 --max_distance 3
[ "$(wc -l < out)" -eq 57 ] || fail "2 layers of 4 heads at 7 offsets: $(wc -l < out) lines"
expect 0 '' "$program" positions plot extrapolation -m model -m model --text long.txt --max_length 16 --stretches 2
[ "$(awk 'NR > 1 { print $3 }' out | sort | uniq -c | awk '$1 == 2' | wc -l)" -eq 5 ] || fail "a model is not equal to itself: $(cat out)"
expect 2 '--text' "$program" positions plot extrapolation -m model
expect 2 'layers 0 to 1' "$program" positions plot attention -m model --text x --layer 2
expect 2 'without --model' "$program" positions plot decay -m model
expect 2 'one --text' "$program" positions plot attention -m model
sed 's/"vocab_size"/"position_embedding_type": "none", "vocab_size"/' model/config.json > none.json && cp -r model none && mv none.json none/config.json
expect 3 'none does not turn' "$program" positions plot score -m none --text long.txt --max_length 16
if command -v gnuplot > /dev/null; then
    expect 0 'drawn' "$program" positions plot attention -m model --text "the city's river" -o map.svg
    holds map.svg 'layer 1, head 3'
    expect 0 'drawn' "$program" positions plot bias -m alibi --max_length 32 -o bias.svg
    expect 0 'drawn' "$program" positions plot score -m model --text long.txt --max_length 16 -o score.svg
    expect 0 'drawn' "$program" positions plot extrapolation -m model --text long.txt --max_length 16 --stretches 2 -o length.png
    expect 2 'FILE.svg' "$program" positions plot attention -m model --text x -o x.jpg
fi
done_testing
