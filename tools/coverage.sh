#!/bin/sh
# coverage.sh [CTEST OPTION...] — builds with coverage counters, runs the suite, and prints the fraction of covered
# lines for each folder of src/.  build/coverage/index.html shows the lines.
set -eu
cd "$(dirname "$0")/.."
command -v gcovr > /dev/null || { echo "coverage: gcovr is not installed (sh tools/setup.sh ci)" >&2; exit 1; }
sh tools/build.sh coverage
find build/coverage -name '*.gcda' -delete
ctest --test-dir build/coverage -j "${J:-$(nproc)}" --output-on-failure "$@" || failed=yes
mkdir -p build/coverage/report
# a counter that was raised by two threads at once may be wrong, and is no error of the tests
gcovr -r . --filter 'src/' --gcov-ignore-parse-errors -j "${J:-$(nproc)}" --exclude-unreachable-branches \
    --html-details build/coverage/report/index.html --csv build/coverage/report/lines.csv build/coverage > build/coverage/report/gcovr.txt 2>&1 ||
    { tail -20 build/coverage/report/gcovr.txt; exit 1; }
awk -F, 'NR > 1 { split($1, part, "/"); lines[part[2]] += $2; ran[part[2]] += $3; all += $2; allran += $3 }
    END { for (f in lines) printf "src/%-10s %6d of %6d lines, %5.1f %%\n", f, ran[f], lines[f], 100 * ran[f] / lines[f] | "sort"
          close("sort"); printf "src            %6d of %6d lines, %5.1f %%\n", allran, all, 100 * allran / all }' build/coverage/report/lines.csv
[ -z "${failed:-}" ] || { echo "coverage: tests failed" >&2; exit 1; }
