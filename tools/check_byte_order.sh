#!/bin/sh
# check_byte_order.sh - on a big-endian machine the public headers, and every source that reads or writes files, are refused with one sentence.
set -eu
cd "$(dirname "$0")/.."
order='-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__'
bad=0
for file in include/roformer/roformer.h $(find src/base src/store src/text src/data src/train/checkpoint -name '*.c' | sort); do
    # shellcheck disable=SC2086
    "${CC:-cc}" -E $order -Iinclude -Isrc "$file" 2>&1 > /dev/null | grep -q '#error "big endian: ' ||
        { echo "$file: expected #error \"big endian: ...\" on a big-endian machine" >&2; bad=1; }
done
exit $bad
