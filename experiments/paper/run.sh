#!/bin/sh
# run.sh mlm|glue|enwik8|chinese|scm|baselines|clue WORK [OPTIONS of experiment and glue] — repeats an experiment of the
# paper at the paper's size.  The data are below --data DIR, under the names in experiments/paper/PRESET.json ("data");
# missing data are reported before anything is computed.  glue starts from the models of mlm; scm and clue start from
# those of chinese, in the same WORK; baselines (Table 5) uses published models below --hub DIR.  The same command again
# continues.
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
