#!/bin/sh
# run.sh — the scaling methods: models are trained at 128 tokens and read up to 4096; writes results/lengths/.
#
#     experiments/lengths/run.sh WORK [OPTIONS of lengths]      WORK keeps models: the same command again goes on; models that
#                                                               experiments/pretraining.json or encodings.json left there are taken
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n '2,5s/^# *//p' experiments/lengths/run.sh >&2; exit 2; }
work=$1
shift
build=${BUILD:-build/release}
cmake --build "$build" --target roformer experiment lengths > /dev/null
mkdir -p "$work"
"$build/experiments/experiment" experiments/lengths/lengths.json "$work" --results "$work/trained" --program "$build/roformer" "$@"
"$build/experiments/lengths" experiments/lengths/lengths.json "$work" --program "$build/roformer" "$@"
