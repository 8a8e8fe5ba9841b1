#!/bin/sh
# python.sh WHEELS — the wheels in this folder (tools/wheel.sh) install without a compiler on python3 and on every other
# CPython from 3.9 on that is on PATH or among pyenv's, and pass their tests there; mypy --strict and pyright find
# nothing.  Missing versions of Python are listed.
set -eu
wheels=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-python-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() { echo "check_python: $*" >&2; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { tail -40 "$work/log" >&2; fail "failed: $*"; }; }

find_python() {         # VERSION: a path, or nothing
    for python in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        [ -x "$python" ] && "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2> /dev/null || continue
        echo "$python"
        return
    done
}

install() {             # NAME PYTHON: a virtual environment with the wheels, made where no compiler is found
    quietly "$2" -m venv "$work/$1"
    quietly env CC=/bin/false CXX=/bin/false "$work/$1/bin/pip" install -q --only-binary :all: "$wheels"/*.whl
}

own=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
install own "$(command -v python3)"
size=$(stat -c %s "$wheels"/roformer_c-*.whl)
[ "$size" -le 8388608 ] || fail "$wheels/roformer_c-*.whl: expected at most 8 MB, got $size bytes"
echo "check_python: $own: all tests"
(cd python/tests && "$work/own/bin/python" -W error::ResourceWarning -m unittest -q 2>&1) || fail "$own: a test failed"
# basedpyright is pyright with all that it runs on in one wheel; "standard" is pyright's own mode.
quietly "$work/own/bin/pip" install -q --only-binary :all: mypy basedpyright pyarrow
for system in linux darwin win32; do         # which have other functions
    quietly "$work/own/bin/mypy" --strict --platform $system -p roformer_c
done
quietly "$work/own/bin/mypy" --strict python/tests/results_types.py
package=$("$work/own/bin/python" -c 'import os, roformer_c; print(os.path.dirname(roformer_c.__file__))')
printf '{"include": ["%s"], "typeCheckingMode": "standard"}' "$package" > "$work/pyrightconfig.json"
quietly "$work/own/bin/basedpyright" -p "$work" --level error --pythonpath "$work/own/bin/python"
(cd python/tests && "$work/own/bin/python" -m unittest -q test_arrow 2>&1) || fail "$own: a test with pyarrow failed"
for version in 3.9 3.10 3.11 3.12 3.13; do
    [ "$version" != "$own" ] || continue
    python=$(find_python "$version")
    [ -n "$python" ] || { echo "check_python: $version: not here, skipped"; continue; }
    install "$version" "$python"
    (cd python/tests && "$work/$version/bin/python" -m unittest -q test_sentence test_pipelines test_tokenizer test_index test_numbers test_training test_docs 2>&1) ||
        fail "$version: a test failed"
    echo "check_python: $version: ok"
done
