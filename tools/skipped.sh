#!/bin/sh
# skipped.sh BUILD [FILE] — what the last run of the suite in BUILD (build/release) left out, and why: a line for each.
# With FILE, a list of "BUILD-NAME TEST" that may leave something out there (# begins a comment): exit code 1 when
# another did.
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
