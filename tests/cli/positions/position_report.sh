#!/bin/sh
# position_report.sh — how a model uses positions: the table, JSON, plots, and error messages.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
awk 'BEGIN { split("the old city of paris is in france , red house river water town london green sky was new", w, " ");
    for (i = 0; i < 700; i++) printf "%s%s", w[1 + (i * i + int(i / 7)) % 18], i % 20 == 19 ? "\n" : " " }' > long.txt
echo "the red house" > short.txt

expect 0 '' "$program" position-report -m model --text long.txt --max_length 16 --stretches 2 --pieces 2
holds out 'rotary: score(m,n)'
holds out 'by 1000'
holds out 'planes: mean norm'
[ "$(grep -c '^ *[0-9]* tokens ' out)" -eq 5 ] || fail "not five lengths: $(grep tokens out)"
# A model that rotates does not see where its text begins: 1000 places on, the same but for rounding.
awk '$1 == "by" && ($3 > 1e-3 || $5 < 0.1) { bad = 1 } END { exit bad }' out || fail "shifts: $(grep '^  by' out)"

expect 0 '' "$program" position-report -m model --text long.txt --max_length 64 --stretches 2 --json
[ "$(wc -l < out)" -eq 1 ] && grep -q '"position_embedding_type": "rotary"' out && grep -q '"query_planes"' out || fail "JSON: $(head -c 200 out)"
cp out again
expect 0 '' "$program" --threads 1 position-report -m model --text long.txt --max_length 64 --stretches 2 --json
same again out "other threads, other numbers"

# Rotation adds nothing to words; learned positions have a subspace of their own; random ones for comparison.
grep -q '"subspaces": *null' again || fail "rotary has subspaces: $(grep -o '"subspaces.\{40\}' again)"
sed 's/"vocab_size"/"position_embedding_type": "sinusoidal", "vocab_size"/' model/config.json > fixed.json && cp -r model fixed && mv fixed.json fixed/config.json
expect 0 '' "$program" position-report -m fixed --text long.txt --max_length 16 --stretches 1 --pieces 1
holds out '16 positions in '
awk '$1 == "model" && $2 >= 0 && $2 <= 1 && $3 < 90 { model = 1 } $1 == "random" && $2 > 0 && $2 <= 1 { random = 1 } END { exit !(model && random) }' out ||
    fail "subspaces: $(grep -A 5 subspaces out)"
expect 0 '' "$program" position-report -m fixed --text long.txt --max_length 16 --stretches 1 --pieces 1 --json
grep -q '"random_overlap"' out && grep -q '"cosines"' out || fail "JSON: no subspaces"

# Few tokens, of which few are predicted; one stretch has no standard error: strokes, not numbers that are none.
expect 0 '' "$program" position-report -m model --text long.txt --max_length 16 --stretches 1 --pieces 1 --mlm_probability 0.02
! grep -qi 'nan\|inf' out || fail "no number: $(grep -i 'nan\|inf' out)"
grep -q '16 tokens .* - ' out || fail "an error of one stretch: $(grep tokens out)"
expect 2 'expected --text' "$program" position-report -m model
expect 4 'long.txt: expected a folder' "$program" position-report -m model --text long.txt --max_length 16 --stretches 1 --pieces 1 -o long.txt
[ ! -s out ] || fail "measured before it is known where it goes: $(head -2 out)"
expect 3 'text: expected .* 14 tokens' "$program" position-report -m model --text short.txt --max_length 16
expect 4 'nowhere.txt' "$program" position-report -m model --text nowhere.txt
expect 2 'max_length' "$program" position-report -m model --text long.txt --max_length 3
if command -v gnuplot > /dev/null; then
    expect 0 'report.json' "$program" position-report -m model --text long.txt --max_length 16 --stretches 2 --pieces 1 -o plots
    for name in length place distance planes; do
        holds plots/$name.svg '<svg'
        [ "$(head -c 4 plots/$name.png | tail -c 3)" = PNG ] || fail "$name.png is not a PNG"
        (cd plots && rm $name.svg && gnuplot $name.gp && [ -s $name.svg ]) || fail "$name.gp does not run alone"
    done
    grep -q '"uniform_distance"' plots/report.json || fail "report.json: $(head -c 200 plots/report.json)"
    # Attention to all that is seen alike: 1/16 at every distance; in a causal model (1 + 1/2 + ... + 1/16) / 16 at distance 0.
    [ "$(sed -n '/^\$a0 /,/^EOD/p' plots/distance.gp | awk 'NF > 2 && !/EOD/ { print $NF }' | sort -u)" = 0.0625 ] || fail "even attention: $(grep -A 3 '^\$a0' plots/distance.gp)"
    sed 's/"vocab_size"/"is_decoder": true, "vocab_size"/' model/config.json > causal.json && cp -r model causal && mv causal.json causal/config.json
    expect 0 'report.json' "$program" position-report -m causal --text long.txt --max_length 16 --stretches 1 --pieces 1 -o behind
    [ "$(sed -n '/^\$a0 /,/^EOD/p' behind/distance.gp | sed -n 2p | awk '{ print $NF }')" = 0.211296 ] || fail "even causal attention: $(grep -A 2 '^\$a0' behind/distance.gp)"
    expect 0 'report.json' "$program" position-report -m model --text long.txt --max_length 16 --stretches 2 --pieces 1 -o plots
    expect 4 'cannot create' "$program" position-report -m model --text long.txt --max_length 16 --stretches 1 --pieces 1 -o none/plots
fi
# What somebody else wrote stays, and that is known before anything is measured.
for name in report.json place.gp distance.svg length.png; do
    mkdir mine
    echo mine > mine/$name
    expect 2 "mine/$name: " "$program" position-report -m model --text long.txt --max_length 16 --stretches 2 --pieces 1 -o mine
    [ "$(cat mine/$name)" = mine ] && [ "$(ls mine)" = $name ] || fail "$name was overwritten: $(ls mine)"
    rm -r mine
done
[ "$(find . -name '*.tmp-*' | wc -l)" -eq 0 ] || fail "temporary files are left"
done_testing
