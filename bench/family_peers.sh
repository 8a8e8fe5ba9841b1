#!/bin/sh
# family_peers.sh PROGRAM PYTHON NAME — every family of models beside PyTorch, ONNX Runtime and OpenVINO, which run the same model (6
# layers, random weights; bench/families.json), in turns: 8 texts of 128 tokens and 4 of 512, in f32 and bf16.  PYTHON has torch,
# transformers 5.24, onnx, onnxscript, onnxruntime and openvino.  Prints the tables; goes on where it was stopped.
#
#     nice -n -5 sh bench/family_peers.sh build/release/roformer build/peers/v/bin/python zen4 > results/machines/zen4/family-peers.txt
set -eu
program=$1 python=$2 here=$(dirname "$0")
PEERS=${PEERS:-build/peers}
export PEERS
mkdir -p "$PEERS"
echo "# $("$program" --version), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1) ($3), $(date +%F), $(nproc) threads; random weights, 6 layers; time of the peer / ours"
for family in $(sed -n 's/^"\([a-z0-9_]*\)": .*/\1/p' "$here/families.json"); do
    [ -f "$PEERS/$family.onnx" ] || PEER_FAMILY=$family "$python" "$here/peers/export_onnx.py" > "$PEERS/$family.log" 2>&1 ||
        echo "# $family: no ONNX file: $(tail -1 "$PEERS/$family.log" | cut -c1-200)"
    for case in forward forward-bf16; do
        echo "== $family, $case"
        "$here/compare.py" "$case" --family "$family" --roformer "$program" --python "$python" --rounds "${ROUNDS:-3}" --seconds "${SECONDS_EACH:-1}" \
            --shape 8x128 --shape 4x512 --without compile --only torch_forward --only onnxruntime --only openvino -o "$PEERS/$family.jsonl" 2> "$PEERS/$family.err" |
            awk '/^forward/ && !/round/'
    done
done
