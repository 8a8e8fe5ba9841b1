#!/bin/sh
# run.sh WORK [OPTIONS of experiment] — four recipes of encoders at equal parameters and tokens: RoFormer, BERT, NomicBERT
# and ModernBERT.  modernbert.json trains each with three seeds, glue.json fine-tunes them on two of GLUE's tasks, and
# speed.txt gets the tokens per second of a forward pass and of a training step.  The same command again continues.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n '2,4s/^# *//p' experiments/modernbert/run.sh >&2; exit 2; }
work=$1
shift
build=${BUILD:-build/release} results=results/modernbert
cmake --build "$build" --target roformer-program experiment glue > /dev/null
mkdir -p "$work" $results results/modernbert-glue
"$build/experiments/experiment" experiments/modernbert/modernbert.json "$work" --program "$build/roformer" "$@"
"$build/experiments/glue" experiments/modernbert/glue.json "$work" --program "$build/roformer" "$@"
sh experiments/modernbert/speed.sh "$build/roformer" "$work" > $results/speed.txt
