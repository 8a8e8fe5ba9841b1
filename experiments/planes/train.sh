#!/bin/sh
# train.sh — does RoPE learn faster, and why: trains with rotary and with learned positions, keeps checkpoints, writes results/planes/.
#
#     experiments/planes/train.sh WORK [OPTIONS of experiment]      the same command again goes on
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n '2,4s/^# *//p' experiments/planes/train.sh >&2; exit 2; }
work=$1
shift
build=${BUILD:-build/release}
cmake --build "$build" --target roformer experiment > /dev/null
mkdir -p "$work" results/planes
"$build/experiments/experiment" experiments/planes/planes.json "$work" --results "$work/trained-planes" --program "$build/roformer" "$@"
for row in rotary learned; do
    [ -e "$work/$row-kept-1/model.safetensors" ] || { echo "train.sh: $work/$row-kept-1 goes on another time" >&2; exit 75; }
    experiments/planes/run.sh "results/planes/$row" $(ls -d "$work/$row-kept-1"/checkpoint-* | sort -V)
done
