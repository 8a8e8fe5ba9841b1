#!/bin/sh
# gradients.sh FOLDER PROGRAM... — every row of src/graph/ops.def had a gradient case in the last run of one of these
# test programs: t_gradient writes the operations that passed into FOLDER/<program>.
set -eu
seen=$1
shift
cd "$(dirname "$0")/../.."
for program; do
    record=$seen/$(basename "$program" .exe)
    [ -e "$record" ] && [ ! "$record" -ot "$program" ] && tr -d '\r' < "$record"         # of Windows' lines
done | sort -u > "$seen/all"
bad=0
rows=$(sed -n 's/^RFO(\([a-z_0-9]*\),.*/\1/p' src/graph/ops.def)
[ -n "$rows" ] || { echo "src/graph/ops.def: no row of the form RFO(name, equation)"; exit 1; }
for op in $rows; do
    grep -qx "$op" "$seen/all" && continue
    echo "src/graph/ops.def: $op has no gradient case that passed: add one to tests/graph/test_ops.c (see tests/support/gradient.h)"
    bad=1
done
exit $bad
