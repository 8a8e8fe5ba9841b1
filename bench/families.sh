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
small='"num_hidden_layers": 6, "vocab_size": 30528'
put() { echo "{\"model_type\": \"$2\", $small$3}" > "$folder/$1.json"; }
put roformer roformer ''
put nomic_bert nomic_bert ''
put gte gte ', "pad_token_id": 0'
put modernbert modernbert ', "pad_token_id": 0'
put mpnet mpnet ', "max_position_embeddings": 514'
put esm esm ', "position_embedding_type": "rotary", "token_dropout": true, "mask_token_id": 32, "hidden_size": 640, "num_attention_heads": 20, "intermediate_size": 2560'
put local modernbert ', "pad_token_id": 0, "global_attn_every_n_layers": 64'
echo "# $("$program" --version), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(date +%F), $(nproc) threads; random weights, 6 layers"
for round in 1 2; do
    for dtype in f32 bf16 int8; do
        for family in roformer nomic_bert gte modernbert mpnet esm; do
            echo "== round $round, $dtype, $family"
            "$program" bench -q forward --config "$folder/$family.json" --dtype $dtype --seconds "${SECONDS_EACH:-1}" --shape 8x128 --shape 4x512
        done
    done
    echo "== round $round, f32, ModernBERT with local layers"
    "$program" bench -q forward --config "$folder/local.json" --seconds "${SECONDS_EACH:-1}" --shape 1x1024 --shape 1x8192
done
