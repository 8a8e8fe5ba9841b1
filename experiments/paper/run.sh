#!/bin/sh
# run.sh mlm|glue|enwik8|chinese|scm|baselines|clue WORK [OPTIONS of experiment and glue] — an experiment of the paper at the paper's own size.  The data
# lie below --data DIR under the names in experiments/paper/PRESET.json ("data"); what is not there is named before anything is made.
# glue begins with the models of mlm, scm and clue with those of chinese, below the same WORK; baselines (Table 5) with published models
# below --hub DIR.  The same command again goes on.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build/release}
case ${1:-} in
    mlm|glue) folder=english ;;
    enwik8) folder=enwik8 ;;
    chinese|scm|baselines|clue) folder=chinese ;;
    *) sed -n '2,5s/^# *//p' experiments/paper/run.sh >&2; exit 2 ;;
esac
[ $# -ge 2 ] || { sed -n '2,5s/^# *//p' experiments/paper/run.sh >&2; exit 2; }
preset=$1 work=$2/$folder runner=experiment
shift 2
case $preset in glue|clue) runner=glue ;; esac
mkdir -p "$work"
exec "$build/experiments/$runner" "experiments/paper/$preset.json" "$work" --program "$build/roformer" "$@"
