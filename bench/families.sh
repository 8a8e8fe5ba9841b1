#!/bin/sh
# families.sh PROGRAM — the share of the peak that each family of models has, beside RoFormer, with random weights of a base model's
# widths and 6 layers, in turns: forward passes of 8 texts of 128 tokens and 4 of 512, in f32, bf16, int8; and, of ModernBERT, one
# text of 1,024 and of 8,192 tokens whose layers but the first are local.
#
#     nice -n -5 sh bench/families.sh build/release/roformer > results/machines/NAME/families.txt
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
list=$(dirname "$0")/families.json
families=$(sed -n 's/^"\([a-z0-9_]*\)": .*/\1/p' "$list")
# put NAME MORE FILE: the row of the list, of 6 layers
put() { sed -n "s/^\"$1\": {\(.*\)},\{0,1\}\$/{\"num_hidden_layers\": 6, \"vocab_size\": 30528, $2\1}/p" "$list" > "$folder/$3.json"; }
for family in $families; do put "$family" '' "$family"; done
put modernbert '"global_attn_every_n_layers": 64, ' local
echo "# $("$program" --version), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(date +%F), $(nproc) threads; random weights, 6 layers"
for round in 1 2; do
    for dtype in f32 bf16 int8; do
        for family in $families; do
            echo "== round $round, $dtype, $family"
            "$program" bench -q forward --config "$folder/$family.json" --dtype $dtype --seconds "${SECONDS_EACH:-1}" --shape 8x128 --shape 4x512
        done
    done
    echo "== round $round, f32, ModernBERT with local layers"
    "$program" bench -q forward --config "$folder/local.json" --seconds "${SECONDS_EACH:-1}" --shape 1x1024 --shape 1x8192
done
