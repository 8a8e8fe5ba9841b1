#!/bin/sh
# run.sh PROGRAM [ENGINE...] — the Python package inside engines that others have written, each in local mode: a test
# tools/engines/engine_*.py in a virtual environment of its own with the packages of tools/engines/requirements. Vectors
# are those of one process, bit for bit, also after a worker of Spark or Ray is killed. The library is that next to
# PROGRAM. Writes what ran, with its version. Environments stay in ${ENGINES:-build/engines} for the next time;
# ENGINES_PYTHON names a Python that has all packages already.
set -eu
cd "$(dirname "$0")/../.."
program=$(realpath "$1")
shift
build=$(dirname "$program")
python=${PYTHON:-python3}
kept=${ENGINES:-build/engines}
mkdir -p "$kept"
kept=$(realpath "$kept")
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-engines-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failures=0

# The package as a wheel would install it.
package=$work/package/roformer_c
mkdir -p "$package/native"
cp python/src/roformer_c/*.* "$package"
cp -L "$build/libroformer.so" "$package/native/libroformer.so"
"$python" python/abi.py "$build/roformer_plain.h" python/src/roformer_c "$package/_abi.py" "$work/abi.c"
export PYTHONPATH="$work/package:$PWD/tools/engines" PYTHONDONTWRITEBYTECODE=1 ROFORMER_PROGRAM="$program" RAY_USAGE_STATS_ENABLED=0

# environment NAME: in $kept/NAME, with what requirements/NAME.txt says
environment() {
    [ -z "${ENGINES_PYTHON:-}" ] || return 0
    wanted=tools/engines/requirements/$1.txt
    ! cmp -s "$wanted" "$kept/$1/whole" || return 0
    rm -rf "${kept:?}/$1"
    "$python" -m venv "$kept/$1"
    "$kept/$1/bin/pip" install -q --disable-pip-version-check -r "$wanted" > "$work/log" 2>&1 || { tail -20 "$work/log" >&2; return 1; }
    cp "$wanted" "$kept/$1/whole"
}

versions() { sed 's/==/ /' "tools/engines/requirements/$1.txt" | paste -s -d , - | sed 's/,/, /g'; }

engine() {              # NAME SCRIPT
    environment "$1"
    rm -rf "$work/run" && mkdir "$work/run"
    code=0
    WORK="$work/run" "${ENGINES_PYTHON:-$kept/$1/bin/python}" -B "$2" > "$work/log" 2>&1 || code=$?
    case $code in
        0) result=ok ;;
        77) result=skipped; tail -1 "$work/log" ;;
        *) result=FAILED failures=$((failures + 1)); tail -${LINES_OF_LOG:-25} "$work/log" >&2 ;;
    esac
    printf '%-12s %-8s %s\n' "$1" "$result" "$(versions "$1")"
}

[ $# -gt 0 ] || set -- duckdb polars pandas dask ray spark approximate
for name; do
    case $name in
        approximate) engine approximate examples/engines/approximate.py ;;
        *) engine "$name" "tools/engines/engine_$name.py" ;;
    esac
done
[ "$failures" -eq 0 ] || { echo "engines: $failures failed" >&2; exit 1; }
