#!/bin/sh
# byte_order.sh — a big-endian machine is rejected with a message: by every source when it is compiled, and by CMake
# when it configures for one, if gcc-s390x-linux-gnu is installed (tools/setup.sh rungs).
set -eu
cd "$(dirname "$0")/../.."
order='-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__'
export order
bad=0
# Not src/cli/mpi, which begins with MPI's header: what it includes next is checked with the others.
{ sh tools/check/sources.sh; find include/roformer/roformer.h src -name '*.cc' -o -name roformer.h; } | xargs -P "$(nproc)" -I{} sh -c '
    # shellcheck disable=SC2086
    "${CC:-cc}" -E $order -Iinclude -Isrc "{}" 2>&1 > /dev/null | grep -q "#error \"big endian: " ||
        { echo "{}: expected #error \"big endian: ...\" on a big-endian machine" >&2; exit 1; }' || bad=1

if command -v s390x-linux-gnu-gcc > /dev/null; then
    folder=$(mktemp -d "${TMPDIR:-/tmp}/roformer-s390x-XXXXXX")
    trap 'rm -rf "$folder"' EXIT
    if env -u CFLAGS -u LDFLAGS cmake -S . -B "$folder" -DCMAKE_C_COMPILER=s390x-linux-gnu-gcc -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=s390x > "$folder/log" 2>&1; then
        echo "CMake configures for s390x: expected \"big endian: ...\"" >&2
        bad=1
    else
        grep -q 'big endian: roformer' "$folder/log" || { tail -5 "$folder/log" >&2; bad=1; }
    fi
fi
exit $bad
