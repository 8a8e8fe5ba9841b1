#!/bin/sh
# skipped.sh BUILD [FILE] — lists the tests that the last run of the suite in BUILD (build/release) skipped, with the
# reason.  FILE is a list of lines "BUILD-NAME TEST" with tests that may be skipped (# begins a comment); with it, the
# script exits with 1 if another test was skipped.
set -eu
build=$1 list=${2:-}
log=$build/Testing/Temporary/LastTest.log
[ -f "$log" ] || { echo "skipped.sh: no $log: run the suite first" >&2; exit 2; }
[ -z "$list" ] || [ -f "$list" ] || { echo "skipped.sh: no $list" >&2; exit 2; }

awk -v build="$(basename "$build")" -v list="$list" '
BEGIN {
    while (list && (getline line < list) > 0) {
        sub(/#.*/, "", line)
        if (split(line, f, " ") == 2) may[f[1] " " f[2]] = 1
    }
}
/^[0-9]+\/[0-9]+ Testing: / { test = $3; next }
/test\(s\), listed below/ { next }
/^ *\[  SKIPPED \] / { why = $0; sub(/^ *\[  SKIPPED \] /, "", why); tell(); next }
/SKIPPED: / { why = $0; sub(/.*SKIPPED: /, "", why); tell(); next }
/^ +skipped: / { why = $0; sub(/^ +skipped: /, "", why); tell() }
function tell(   key) {
    key = test ": " why
    if (key in told) return
    told[key] = 1
    n++
    bad = bad || (list && !((build " " test) in may))
    print "skipped: " key (list && !((build " " test) in may) ? "   (not in " list ")" : "")
}
END { print "skipped: " n + 0 " in all"; exit bad }
' "$log"
