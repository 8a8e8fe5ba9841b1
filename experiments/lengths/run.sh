#!/bin/sh
# run.sh WORK [OPTIONS of lengths] — the scaling methods: models are trained at 128 tokens and evaluated up to 4,096.
# Writes results/lengths/.  WORK keeps the models, and the same command again continues.  Models that
# experiments/pretraining.json or encodings.json left in WORK are used.
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
