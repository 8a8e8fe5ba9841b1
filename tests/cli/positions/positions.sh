#!/bin/sh
# positions.sh — the list of encodings, the curves of rotary ones, and error messages.
. "$(dirname "$0")/../lib"

expect 0 '' "$program" positions
for name in none sinusoidal index unit binary concat absolute hierarchical complex_order floater recurrent convolution rotary rotary_learned xpos; do
    grep -q "^$name " out || fail "the list lacks $name"
done
expect 0 '' "$program" positions --json
[ "$(wc -l < out)" -eq 1 ] && grep -q '"name": *"rotary"' out || fail "JSON: $(head -c 200 out)"

# docs/positions.md states these figures, for every row and no other.
"$program" positions | awk 'NR > 1 && /^[a-z]/ { print $1, $2, $3, $4, $5, $6 }' > listed
sed -n '/^## What they cost/,/^## Looking/s/^| `\([a-z0-9_]*\)` | \(.*\) |$/\1 | \2/p' "$repository/docs/positions.md" | tr -d '|' | tr -s ' ' > stated
same listed stated 'what the program prints, and the table in docs/positions.md'

# RoFormer's section 3.4.3: values computed in float64 for d = 64 and 128.
expect 0 '' "$program" positions plot decay --head_size 64 --max_distance 1000000
near() { awk -v d="$1" -v expected="$2" '$1 == d { x = $2 - expected; if (x < 0) x = -x; found = x < 2e-6 * expected } END { exit !found }' out || fail "decay at $1: $(awk -v d="$1" '$1 == d' out)"; }
near 0 16.5; near 1 15.947764; near 50 5.733077; near 100 7.465277; near 1000 4.089691
[ "$(tail -n 1 out | cut -f 1)" -eq 1000000 ] || fail "the curve ends at $(tail -n 1 out)"
expect 0 '' "$program" positions plot decay --head_size 128
near 1 31.538166; near 250 6.548179

# Wavelengths: 2 pi, and the whole vocabulary of plots.
expect 0 '' "$program" positions plot wavelengths
awk '$1 == 0 && $2 > 6.283 && $2 < 6.2832 { found = 1 } END { exit !found }' out || fail "wavelengths: $(head -n 2 out)"
expect 0 '' "$program" positions plot score --max_distance 20
expect 0 '' "$program" positions plot angles --max_distance 12
[ "$(sed 1d out | awk '{ printf "%s ", $1 }')" = '1 3 5 7 9 11 ' ] || fail "positions of angles: $(cat out)"
expect 0 '' "$program" positions plot angles --max_distance 1000000
awk -F '\t' 'NR == 1 { if ($0 != "position\ttable\tfloat32\trepeated\tbf16_position\tf16_position") exit 1 }
    NR > 1 { if ($1 % 2 == 0 || ($1 <= 256) != ($5 < 1e-12) || ($6 != "?" && ($1 <= 2048) != ($6 < 1e-12))) bad = 1 }
    END { exit bad }' out || fail "odd positions are exact in bf16 to 256, in f16 to 2048, and never beyond: $(cat out)"
awk 'NR > 1 && $1 > 700000 && $2 < 1e-6 && $3 > 1e-3 && $5 > 1 { found = 1 } END { exit !found }' out || fail "angles: $(tail -n 1 out)"

# What stretches by the text's length is drawn for --length; a layer's own base by --layer.
printf '{"model_type": "roformer", "max_position_embeddings": 512, "rope_scaling": {"rope_type": "dynamic", "factor": 2}, "num_hidden_layers": 2}' > dynamic.json
"$program" positions plot wavelengths --config dynamic.json > short
"$program" positions plot wavelengths --config dynamic.json --length 1024 > long
awk 'NR == FNR { a[FNR] = $2; next } FNR == 33 { r = $2 / a[FNR] - 3; if (r > -1e-5 && r < 1e-5) found = 1 } END { exit !found }' short long ||
    fail "1024 tokens for 512: base times 3^(64/62), so that the slowest of 32 planes rotates 3 times slower: $(tail -n 1 short; tail -n 1 long)"
printf '{"model_type": "roformer", "rope_theta_per_layer": [100, 10000], "num_hidden_layers": 2}' > layers.json
expect 0 '' "$program" positions plot wavelengths --config layers.json
awk '$1 == 16 { r = $2 / (20 * atan2(0, -1)) - 1; found = r > -1e-5 && r < 1e-5 } END { exit !found }' out || fail "base 100: $(sed -n 18p out)"
expect 0 '' "$program" positions plot wavelengths --config layers.json --layer 1
awk '$1 == 16 { r = $2 / (200 * atan2(0, -1)) - 1; found = r > -1e-5 && r < 1e-5 } END { exit !found }' out || fail "base 10000: $(sed -n 18p out)"
expect 2 'expected a layer from 0 to 1, got' "$program" positions plot wavelengths --config layers.json --layer 2

expect 2 '--json: has no effect on a plot' "$program" positions plot decay --json
expect 2 'did you mean decay\?' "$program" positions plot decai
expect 2 'plot' "$program" positions draw
expect 2 '--head_size: expected an even number for rotation, got 63' "$program" positions plot decay --head_size 63
expect 2 'FILE.svg' "$program" positions plot decay -o x.jpg

# RoFormer's Figure 1: (0.8, 0.6) rotated by m theta_i, as the kernel rotates.
expect 0 '' "$program" positions plot rotation
awk 'NR > 1 { x = 0.8 * cos($4) - 0.6 * sin($4) - $5; y = 0.8 * sin($4) + 0.6 * cos($4) - $6; a = $4 - $2 * $3
    if (x * x + y * y > 1e-12 || a * a > 1e-12) bad = 1; if ($1 == 16 && ($2 < 0.00999999 || $2 > 0.01000001)) bad = 1; n++ }
    END { exit bad || n != 32 * 7 }' out || fail "rotation: $(head -n 5 out)"
expect 0 '' "$program" positions plot rotation --config layers.json --max_distance 2
awk '$1 == 16 && $2 > 0.0999999 && $2 < 0.1000001 { found++ } END { exit found != 3 }' out || fail "base 100: $(grep '^16' out)"
# <p_m, p_n> of sines and cosines is a sum of cosines of the distance, E/2 at distance 0; that of bits counts common ones.
encoding() { printf '{"model_type": "roformer", "position_embedding_type": "%s", "embedding_size": 64%s}' "$1" "${2:-}" > encoding.json; }
encoding sinusoidal ', "sinusoidal_base": 100'
expect 0 '' "$program" positions plot similarity --config encoding.json --max_distance 9
awk 'NR > 1 { sum = 0; for (t = 0; t < 32; t++) sum += cos(($1 - $2) * 100 ^ (-t / 32)); d = $3 - sum; c = $4 - sum / 32
    if (d * d > 1e-9 || c * c > 1e-9) bad = 1; n++ } END { exit bad || n != 100 }' out || fail "sinusoidal: $(head -n 4 out)"
encoding binary
expect 0 '' "$program" positions plot similarity --config encoding.json --max_distance 15
awk '$1 == 13 && $2 == 7 && $3 == 2 { found++ } $1 == 0 && $2 == 5 && $3 == 0 && $4 == "?" { found++ } END { exit found != 2 }' out ||
    fail "13 and 7 have the bits 1 and 4 in common: $(grep '^13' out)"
encoding unit
expect 0 '' "$program" positions plot similarity --config encoding.json --max_distance 4
awk '$1 == 2 && $2 == 3 && $3 == 0.375 { found = 1 } END { exit !found }' out || fail "2/4 times 3/4: $(grep '^2' out)"
# Encodings that have no such plot are named, with those that have.
encoding alibi
for plot in decay score wavelengths angles rotation; do
    expect 3 "encoding.json: $plot: expected an encoding that has this plot .rotary, rotary_learned, xpos, rerope., got alibi$" "$program" positions plot $plot --config encoding.json
done
expect 3 'similarity: .*sinusoidal, .*absolute.*alibi' "$program" positions plot similarity --config encoding.json
encoding rotary_axial
expect 3 'rotation: .*rotary_axial' "$program" positions plot rotation --config encoding.json
encoding absolute
expect 3 '--model DIR.*absolute' "$program" positions plot similarity --config encoding.json
expect 2 'did you mean rotation\?' "$program" positions plot rotatoin
expect 2 'expected at most 4095 for similarity, got 4096' "$program" positions plot similarity --max_distance 4096
expect 2 'expected at most 1000 for rotation, got 1001' "$program" positions plot rotation --max_distance 1001
expect 2 'rotation: expected --config without --model' "$program" positions plot rotation -m x

# bad_keys PATTERN KEYS   a model of 2 layers of 4 heads of 8 columns, with more keys of config.json: one sentence, exit 3.  The folder has
# no weights, which would be exit 4: so they were not looked for.
mkdir bad
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n' > bad/vocab.txt
right=bad
bad_keys() {
    shape='"num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 6'
    case $2 in *'"hidden_size"'*) ;; *) shape="$shape, \"hidden_size\": 32" ;; esac
    case $2 in *'"max_position_embeddings"'*) ;; *) shape="$shape, \"max_position_embeddings\": 64" ;; esac
    for refusing in 'positions --config broken' 'info broken' 'embed -m broken the'; do
        refused config.json "{\"model_type\": \"roformer\", $shape, $2}" "$1"
    done
    [ "$(wc -l < err)" -eq 1 ] || fail "more than a sentence about $2: $(cat err)"
    holds err broken/config.json
}
kind() { printf '"position_embedding_type": "%s"' "$1"; }
rope() { printf '"rope_scaling": {"rope_type": "%s"%s}' "$1" "${2:+, $2}"; }
bad_keys 'hidden_size / num_attention_heads: expected an even number of columns per head for' '"hidden_size": 36'
bad_keys 'num_attention_heads: expected a divisor of hidden_size, 33, got 4' '"hidden_size": 33'
bad_keys 'partial_rotary_factor: expected .* rotates 3 of a head.s 8' '"partial_rotary_factor": 0.4'
bad_keys 'partial_rotary_factor: expected .* rotates 0 of a head.s 8' '"partial_rotary_factor": 0.1'
bad_keys 'partial_rotary_factor: expected \(0, 1\], got 1.5' '"partial_rotary_factor": 1.5'
bad_keys 'partial_rotary_factor: expected \(0, 1\], got 3' '"rope_parameters": {"partial_rotary_factor": 3}'
bad_keys 'rotary_heads: expected at most num_attention_heads, 4, got 9' '"rotary_heads": 9'
bad_keys 'rope_theta: expected \(1, 1e\+18\], got 0' '"rope_theta": 0'
bad_keys 'rope_theta: expected \(1, 1e\+18\], got -3' '"rope_theta": -3'
bad_keys 'rope_theta: expected \(1, 1e\+18\], got 1' '"rope_theta": 1'
bad_keys 'sinusoidal_base: expected \(1, 1e\+18\], got 1' "$(kind sinusoidal), \"sinusoidal_base\": 1"
bad_keys 'sinusoidal_base: expected \(1, 1e\+18\], got 0.5' '"sinusoidal_base": 0.5'
bad_keys 'concat_width: expected an even number, got 7' "$(kind concat), \"concat_width\": 7"
bad_keys 'nearest is "index"' "$(kind integer)"
bad_keys 'expected a number that fits into 64 bits.*1e999' '"rope_theta": 1e999'
bad_keys 'not valid JSON' '"rope_theta": NaN'
bad_keys 'per_layer\[1\]: expected a finite number above 1, got -2' '"rope_theta_per_layer": [100, -2]'
bad_keys 'per_layer: expected 2 numbers, one for each layer, got 1' '"rope_theta_per_layer": [100]'
bad_keys 'factor: expected .* got 0.5' "$(rope linear '"factor": 0.5')"
bad_keys 'factor: expected .* got missing or 0' "$(rope linear)"
bad_keys 'factor: expected .* got -1' "$(rope dynamic '"factor": -1')"
bad_keys 'factor: expected .* got 0.99' "$(rope llama3 '"factor": 0.99, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 32')"
bad_keys 'short_factor: expected 4 numbers, .* got 0' "$(rope longrope)"
bad_keys 'max_position_embeddings: expected at least original_max_position_embeddings, 128, got 64' "$(rope yarn '"original_max_position_embeddings": 128')"
bad_keys 'short_factor: expected 4 numbers, .* got 2' "$(rope longrope '"short_factor": [1, 1], "long_factor": [1, 1], "original_max_position_embeddings": 32')"
bad_keys 'long_factor: expected 4 numbers, .* got 5' "$(rope longrope '"short_factor": [1, 1, 1, 1], "long_factor": [1, 1, 1, 1, 1], "original_max_position_embeddings": 32')"
bad_keys 'mrope_section: expected 4 planes, .* got 3' "$(rope default '"mrope_section": [1, 1, 1]')"
bad_keys 'rope_type: expected default, linear, ntk, dynamic, yarn, longrope or llama3, got' "$(rope linaer '"factor": 2')"
bad_keys 'max_position_embeddings: expected \[2, 16777216\], got 4294967296' '"max_position_embeddings": 4294967296'
bad_keys 'relative_attention_num_buckets: expected \[2, 65536\], got 1' "$(kind t5), \"relative_attention_num_buckets\": 1"
bad_keys 'expected at least 4 buckets' "$(kind tupe), \"relative_attention_num_buckets\": 2"
bad_keys 'expected at least 4 buckets' "$(kind t5), \"relative_attention_num_buckets\": 3"
bad_keys 'a distance beyond 8' "$(kind t5), \"relative_attention_max_distance\": 8"
bad_keys 'position_buckets: expected at least 4, .* got 1' "$(kind deberta), \"position_buckets\": 1"
bad_keys 'norm_rel_ebd: expected "layer_norm", got "none"' "$(kind deberta), \"norm_rel_ebd\": \"none\""
bad_keys 'pos_att_type: expected "p2c\|c2p", got a list of 1' "$(kind deberta), \"pos_att_type\": [\"c2p\"]"
bad_keys 'conv_kernel_size: expected 0, got 3' "$(kind deberta), \"conv_kernel_size\": 3"
bad_keys 'share_att_key: expected true or false, got an integer' "$(kind deberta), \"share_att_key\": 1"
bad_keys 'max_relative_position: expected \[1, 1048576\], got 0' "$(kind shaw), \"max_relative_position\": 0"
bad_keys 'sandwich_width: expected an even number, got 7' "$(kind sandwich), \"sandwich_width\": 7"
bad_keys 'clamp_len: expected \[-1, 16777216\], got -2' "$(kind xlnet), \"clamp_len\": -2"
bad_keys 'conv_kernel_size: expected an odd number, got 4' "$(kind convolution), \"conv_kernel_size\": 4"
bad_keys 'rerope_leak: expected .* got 0.5' "$(kind rerope), \"rerope_leak\": 0.5"
bad_keys 'expected a position_embedding_type that rotates, got "alibi"' "$(kind alibi), $(rope linear '"factor": 2')"
for key in '"use_logn_attn": true' '"rotary_value": true' '"rotary_heads": 2' '"partial_rotary_factor": 0.5'; do
    bad_keys "$(printf %s "$key" | cut -d '"' -f 2): expected a position_embedding_type that rotates, got \"none\"" "$(kind none), $key"
done
bad_keys 'multiplies whole queries' '"use_logn_attn": true, "partial_rotary_factor": 0.5'
bad_keys 'multiplies whole queries' '"use_logn_attn": true, "rotary_heads": 2'
bad_keys 'nearest is "rotary"' "$(kind RoPE)"
bad_keys 'nearest is "rotary"' "$(kind '')"
bad_keys 'nearest is "alibi"' "$(kind alibbi)"
bad_keys 'nearest is "rotary"' "$(kind rope)"
bad_keys 'nearest is "shaw"' "$(kind relative)"
bad_keys 'nearest is "relative_key"' "$(kind relative_keys)"
bad_keys 'position_embedding_type: expected a position encoding that .roformer positions.' "$(kind "$(printf %0100d 0)")"
bad_keys '"xpos": expected causal attention' "$(kind xpos)"
bad_keys 'position_embedding_type: expected a string, got an integer' '"position_embedding_type": 7'
expect 2 'max_distance' "$program" positions plot decay --max_distance 2147483648
if command -v gnuplot > /dev/null; then
    expect 0 'drawn' "$program" positions plot decay -o decay.svg
    holds decay.svg '<svg'
    expect 0 '' "$program" positions -q plot angles --max_distance 100000 -o angles.png
    expect 0 '' "$program" positions -q plot angles -o angles.svg
    for word in 'position m' 'm in bf16' 'base 10000'; do holds angles.svg "$word"; done
    [ "$(head -c 4 angles.png | tail -c 3)" = PNG ] || fail "not a PNG"
    expect 0 'drawn' "$program" positions plot rotation -o rotation.svg
    for word in 'm = 0' 'plane 31: theta = 0.000133' 'rotated by m theta_i for m = 0 to 6'; do holds rotation.svg "$word"; done
    expect 0 'drawn' "$program" positions plot similarity -o similarity.svg
    for word in 'vectors of positions p_m: sinusoidal, 768 columns' 'mean over all pairs' 'distance |m - n|'; do holds similarity.svg "$word"; done
fi

# Plots of a trained model.
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
awk 'NR > 1 { d = $4 - $3; if (d < 0) d = -d; r = $6 + 2 ^ (-2 * ($2 + 1)) * d; if (r < -1e-4 || r > 1e-4) bad = 1; n++ } END { exit bad || n != 256 }' out ||
    fail "its bias matrix: $(head -n 9 out)"
expect 0 '' "$program" positions plot score -m model --text long.txt --max_length 16 --pieces 2 --max_distance 3
[ "$(wc -l < out)" -eq 57 ] || fail "2 layers of 4 heads at 7 offsets: $(wc -l < out) lines"
expect 0 '' "$program" positions plot extrapolation -m model -m model --text long.txt --max_length 16 --stretches 2
[ "$(awk 'NR > 1 { print $3 }' out | sort | uniq -c | awk '$1 == 2' | wc -l)" -eq 5 ] || fail "a model is not equal to itself: $(cat out)"
expect 2 '--text' "$program" positions plot extrapolation -m model
expect 2 'expected a layer from 0 to 1, got' "$program" positions plot attention -m model --text x --layer 2
expect 2 'expected a head from 0 to 3, got 4' "$program" positions plot score -m model --text long.txt --max_length 16 --head 4
expect 2 'expected no --model' "$program" positions plot decay -m model
expect 2 'one --text' "$program" positions plot attention -m model
sed 's/"vocab_size"/"position_embedding_type": "none", "vocab_size"/' model/config.json > none.json && cp -r model none && mv none.json none/config.json
expect 3 'similarity: .*got none' "$program" positions plot similarity -m none
expect 2 'one --model, or --config' "$program" positions plot similarity -m none --config none
expect 3 'plane and distance.*got none' "$program" positions plot score -m none --text long.txt --max_length 16
if command -v gnuplot > /dev/null; then
    expect 0 'drawn' "$program" positions plot attention -m model --text "the city's river" -o map.svg
    holds map.svg 'layer 1, head 3'
    expect 0 'drawn' "$program" positions plot bias -m alibi --max_length 32 -o bias.svg
    for word in 'alibi (alibi): ' 'layer 0, head 3' query key; do holds bias.svg "$word"; done
    expect 0 'drawn' "$program" positions plot score -m model --text long.txt --max_length 16 --layer 1 --head 2 -o score.svg
    for word in 'layer 1: keys before the query' 'layer 1: keys after the query' 'head 2' 'distance (tokens)'; do holds score.svg "$word"; done
    ! grep -q 'layer 0\|head 1' score.svg || fail "--layer and --head are not honored"
    expect 0 'drawn' "$program" positions plot extrapolation -m model --text long.txt --max_length 16 --stretches 2 -o length.png
    expect 2 'FILE.svg' "$program" positions plot attention -m model --text x -o x.jpg
fi
done_testing
