#!/bin/sh
# run.sh WORK [--hub DIR] [OPTIONS of experiment and glue] — the position encodings of the papers on RTE, MRPC, STS-B and SST-2:
# with models of one size that are trained here (pretraining.json, glue.json), and with --hub with the published weights of
# each encoding below DIR (published.json).  The same command again continues.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n '2,4s/^# *//p' experiments/encodings-published/run.sh >&2; exit 2; }
work=$1 hub='' here=experiments/encodings-published build=${BUILD:-build/release}
shift
if [ "${1:-}" = --hub ]; then
    [ $# -ge 2 ] || { echo "run.sh: --hub: expected a folder of published models, got nothing" >&2; exit 2; }
    hub=$2
    shift 2
fi
cmake --build "$build" --target roformer-program experiment glue > /dev/null
if [ -n "$hub" ]; then
    exec nice -n 19 "$build/experiments/glue" $here/published.json "$work" --hub "$hub" --program "$build/roformer" "$@"
fi
nice -n 19 "$build/experiments/experiment" $here/pretraining.json "$work" --program "$build/roformer" "$@"
exec nice -n 19 "$build/experiments/glue" $here/glue.json "$work" --program "$build/roformer" "$@"
