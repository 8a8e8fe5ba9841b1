#!/bin/sh
# package.sh PLAIN LIBRARY.so PROGRAM — the Python package (python/) matches the headers: its calls have the right
# arguments, its structs the right layout.  Its quick tests pass with this library if python3 has NumPy;
# tools/check/python.sh runs all of them with the wheel.
set -eu
cd "$(dirname "$0")/../.."
plain=$1 library=$2
ROFORMER_PROGRAM=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-package-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/roformer_c/native"
cp python/src/roformer_c/*.* "$work/roformer_c/"
cp "$library" "$work/roformer_c/native/libroformer.so"
python3 python/abi.py "$plain" python/src/roformer_c "$work/roformer_c/_abi.py" "$work/abi.c"
${CC:-cc} -std=c11 -fsyntax-only -Iinclude "$work/abi.c"
python3 -c 'import numpy' 2> /dev/null || { echo "check_package: python3 has no NumPy: its tests are left out"; exit 0; }
export ROFORMER_PROGRAM PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1
cd python/tests
python3 -m unittest -q test_sentence test_pipelines test_tokenizer test_index test_numbers test_docs
