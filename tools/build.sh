#!/bin/sh
# build.sh PRESET [TARGET] — configures and builds.  On a terminal it shows progress on one line, elsewhere one line for
# every tenth of the build.  Compiler errors are printed in full.  The complete output is in build/build-PRESET.log.
set -eu
cd "$(dirname "$0")/.."
preset=$1 target=${2:-all}
mkdir -p build
log=build/build-$preset.log
sh tools/configure.sh "$preset" "build/$preset" > "build/configure-$preset.log" 2>&1 || { cat "build/configure-$preset.log"; exit 1; }
terminal=0
[ ! -t 1 ] || terminal=1
{
    NINJA_STATUS='[%f/%t] ' cmake --build "build/$preset" --target "$target" ${J:+-j "$J"} 2>&1 &&
        echo "build: done" || echo "build: failed"
} |
    tee "$log" | awk -v preset="$preset" -v terminal=$terminal '
        { last = $0 }
        match($0, /^\[[0-9]+\/[0-9]+\]/) && !failed {
            split(substr($0, 2, RLENGTH - 2), n, "/")
            tenth = int(10 * n[1] / n[2])
            if (terminal) printf "\rbuilding %s: %d of %d   ", preset, n[1], n[2]
            else if (tenth > shown) printf "building %s: %d of %d\n", preset, n[1], n[2]
            if (tenth > shown) shown = tenth
            fflush()
            next
        }
        /^FAILED:/ { if (!failed && terminal) print ""; failed = 1 }
        failed && !/^build: failed/
        END {
            if (terminal && shown && !failed) print ""
            if (last != "build: done") { print "build: failed; the whole log is " "build/build-" preset ".log"; exit 1 }
        }'
