#!/bin/sh
# configure.sh PRESET FOLDER [OPTION...] — cmake --preset PRESET -B FOLDER.  CMake before 3.20 cannot read CMakePresets.json: the
# variables of the preset are given to it.
set -eu
cd "$(dirname "$0")/.."
preset=$1 folder=$2
shift 2
if cmake --version | awk '/^cmake version/ { split($3, v, "."); exit !(v[1] > 3 || v[2] >= 20) }'; then
    exec cmake --preset "$preset" -B "$folder" "$@"
fi
variables() {           # -D VARIABLE=VALUE of the preset $1, one a line
    awk -v preset="$1" '
        /"name": / { inside = index($0, "\"name\": \"" preset "\"") }
        /"buildPresets"/ { exit }
        inside { while (match($0, /"[A-Z_]+": "[^"]*"/)) {
            pair = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
            gsub(/"/, "", pair); sub(/: /, "=", pair); print "-D" pair } }' CMakePresets.json
}
[ -n "$(variables "$preset")" ] || { echo "configure: no preset $preset in CMakePresets.json" >&2; exit 1; }
while read -r variable; do set -- "$variable" "$@"; done << END
$(variables "$preset"; variables base)
END
exec cmake -S . -B "$folder" -G Ninja "$@"
