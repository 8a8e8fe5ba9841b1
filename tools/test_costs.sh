#!/bin/sh
# test_costs.sh [BUILD] — updates tests/costs.txt with the times of CTest's last run of the suite in BUILD
# (build/release).
set -eu
cd "$(dirname "$0")/.."
measured=${1:-build/release}/Testing/Temporary/CTestCostData.txt
[ -s "$measured" ] || { echo "test_costs: $measured: not there; run the suite first (make test)" >&2; exit 1; }
{
    grep '^#' tests/costs.txt
    awk '/^---/ { exit } $2 > 0 && $3 >= 1 { printf "%s %d\n", $1, $3 + 0.5 }' "$measured" | sort -k2,2nr -k1,1
} > build/costs.txt
mv build/costs.txt tests/costs.txt
