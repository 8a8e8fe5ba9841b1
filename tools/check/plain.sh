#!/bin/sh
# plain.sh PLAIN OPTIONS LIBRARY.so — a binding that reads roformer_plain.h by cffi has the structs that the library has, and options.json
# says of every option what the library does (plain.py).  Ends with 77 where Python has no cffi.
set -eu
here=$(dirname "$0")
python3 -c 'import cffi' 2> /dev/null || { echo "check_plain: python3 has no cffi"; exit 77; }
exec python3 "$here/plain.py" "$@"
