#!/bin/sh
# run.sh — planes and reach of attention over a training; writes OUT/table.txt and OUT/planes.svg.
#
#     experiments/planes/run.sh OUT MODEL...    folders in the order of their steps, for example a run's checkpoint-*, kept with
#                                               pretrain --save_total_limit 0; ROFORMER_DATA holds wikitext-2/wiki.test.raw
set -eu
[ $# -ge 2 ] || { sed -n '2,5s/^# *//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
data=${ROFORMER_DATA:-$root/../shared/data}
build=${BUILD:-$root/build/release}
out=$1
shift
cmake --build "$build" --target planes > /dev/null
mkdir -p "$out"
{
    echo "Planes of rotary positions and reach of attention.  Command:"
    echo "    experiments/planes/run.sh OUT MODEL..."
    echo "commit $(git -C "$root" rev-parse --short HEAD); $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(date -u +%Y-%m-%d)"
    echo
    "$build/experiments/planes" "$out" "$data/wikitext-2/wiki.test.raw" "$@"
} > "$out/table.tmp"
mv "$out/table.tmp" "$out/table.txt"
(cd "$out" && gnuplot planes.gp)
cat "$out/table.txt"
