#!/bin/sh
# plain.sh PLAIN OPTIONS LIBRARY.so — a binding that reads roformer_plain.h with cffi gets the structs of the library,
# and options.json describes the library's defaults of every option (plain.py).  Exits with 77 if Python has no cffi.
set -eu
here=$(dirname "$0")
python3 -c 'import cffi' 2> /dev/null || { echo "check_plain: python3 has no cffi"; exit 77; }
exec python3 "$here/plain.py" "$@"
