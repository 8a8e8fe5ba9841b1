#!/bin/sh
# sources.sh [FOLDER...] — prints the C sources below these folders (default: src) that Linux compiles: those of other
# operating systems (os_windows.c ...) and of MPI are left out.
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- src
find "$@" -name '*.c' ! -path '*/mpi/*' ! -name '*_macos.c' ! -name '*_windows*.c' ! -name '*_wasm.c' ! -name '*_others.c' | sort
