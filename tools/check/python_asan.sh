#!/bin/sh
# python_asan.sh — the tests of the Python package with a library built with AddressSanitizer: what Python reads of the
# library's memory is inside of it.  Needs gcc and python3 with NumPy (PYTHON: another one).
#
#     tools/check/python_asan.sh [test_NAME...]
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
build=build/asan
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-python-asan-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cmake --preset asan > "$work/log" && cmake --build "$build" -j "$(nproc)" --target roformer-shared roformer-bindings >> "$work/log" ||
    { tail -20 "$work/log" >&2; echo "python_asan: the library does not build" >&2; exit 1; }
mkdir -p "$work/roformer_c/native"
cp python/src/roformer_c/*.* "$work/roformer_c/"
cp -L "$build/libroformer.so" "$work/roformer_c/native/libroformer.so"
"$python" python/abi.py "$build/roformer_plain.h" python/src/roformer_c "$work/roformer_c/_abi.py" "$work/abi.c"
# The program, with which some tests compare, is not built for the sanitizer and does not end with it.
printf '#!/bin/sh\nunset LD_PRELOAD\nexec "%s/build/release/roformer" "$@"\n' "$PWD" > "$work/roformer"
chmod +x "$work/roformer"
export PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc ROFORMER_PROGRAM="$work/roformer"
# Python's own memory is not freed at its end; a test lets an allocation fail.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
asan=$(gcc -print-file-name=libasan.so)
# What this is for: three numbers are taken from a block of two.
if LD_PRELOAD="$asan" "$python" -c 'import ctypes, roformer_c._model as m
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
m.floats(malloc(8), 3)' 2> "$work/log"; then
    echo "python_asan: a read behind a block of memory is not seen" >&2; exit 1
fi
grep -q heap-buffer-overflow "$work/log" || { cat "$work/log" >&2; exit 1; }
cd python/tests
[ $# -gt 0 ] || set -- test_dense test_sentence test_inputs test_bad_input test_api test_cross test_pipelines test_tokenizer test_index test_numbers test_arrow
LD_PRELOAD="$asan" "$python" -m unittest -q "$@"
