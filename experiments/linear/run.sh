#!/bin/sh
# run.sh WORK [OPTIONS of experiment] — linear attention on bytes of Wikipedia, divided as in Enwik8's protocol: 90 % for
# training, 5 % held out, 5 % for testing.  First linear.json (rotations, three seeds), then features.json (feature maps,
# and softmax attention).  WORK keeps the text and the models; the same command again continues.  --data DIR as in
# experiments/README.md.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n '2,5s/^# *//p' experiments/linear/run.sh >&2; exit 2; }
work=$1
shift
data=../shared/data
build=${BUILD:-build/release}
for word; do
    shift
    case ${before:-} in --data) data=$word ;; *) [ "$word" = --data ] || set -- "$@" "$word" ;; esac
    before=$word
done
cmake --build "$build" --target roformer-program experiment > /dev/null
mkdir -p "$work"
sh experiments/linear/text.sh "$(cd "$data" && pwd)" "$work"
for file in linear features; do
    "$build/experiments/experiment" experiments/linear/$file.json "$work" --data "$work" --program "$build/roformer" "$@"
done
