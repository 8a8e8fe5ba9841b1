#!/bin/sh
# demo.sh — the demonstration shows its commands and their answers.
. "$(dirname "$0")/lib"
"$make_model" model || exit 1
expect 0 '' "$program" demo -m model
for command in fill-mask tokenize embed; do holds out "\$ roformer $command"; done
grep -qE '^ +1 +The orchestra.* 1\.00' out || fail "no table of cosines"
[ "$(grep -c ' %' out)" -ge 30 ] || fail "few predictions"
done_testing
