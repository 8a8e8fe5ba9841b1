#!/bin/sh
# run.sh — long-term decay: the bound to distance 10^6, and mean scores of the shipped model; writes results/decay/.
#
#     experiments/decay/run.sh [DATA]           DATA holds wikitext-2/wiki.test.raw; ../shared/data without it
set -eu
cd "$(dirname "$0")/../.."
data=${1:-${ROFORMER_DATA:-../shared/data}}
build=${BUILD:-build/release}
out=results/decay
cmake --build "$build" --target decay > /dev/null
mkdir -p "$out"
{
    echo "Long-term decay of rotary positions.  Command:"
    echo "    experiments/decay/run.sh"
    echo "model roformer-small-en, sha256 of model.safetensors $(sha256sum models/roformer-small-en/model.safetensors | cut -c1-16)"
    echo "commit $(git rev-parse --short HEAD); $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(date -u +%Y-%m-%d)"
    echo
    "$build/experiments/decay" "$out" models/roformer-small-en "$data/wikitext-2/wiki.test.raw"
} > "$out/table.tmp"
mv "$out/table.tmp" "$out/table.txt"
(cd "$out" && gnuplot bound.gp scores.gp)
echo "$out/table.txt, bound.svg, scores.svg"
