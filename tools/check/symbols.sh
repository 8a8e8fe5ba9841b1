#!/bin/sh
# symbols.sh LIBRARY.a — each kernel rung exports its table, and a rung of tiles its products (rf__RUNG_tiles), and nothing else
# (which is what makes compiling it for a newer instruction set safe); everything else that is global starts with rf_ or rfk_, but for the weak copies of C++'s
# library and of its own tables that a compiler leaves in the one file of C++.
set -eu
nm -g --defined-only "$1" 2> /dev/null | awk '
/^[A-Za-z_0-9.]*\.o:$/ || /\.o:$/ { object = $1; sub(/:$/, "", object); next }
object == "spm_learn.cc.o" && $2 ~ /[WV]/ { next }
NF == 3 && $2 ~ /[A-Z]/ && $3 !~ /^(__asan|__odr_asan|__ubsan|__tsan|\.)/ {
    if ($3 !~ /^rf(k)?_/) { print object ": global symbol without prefix: " $3; bad = 1 }
    if (object ~ /^isa_/) { count[object]++; name = object; gsub(/^isa_|\.c\.o$|\.o$/, "", name); if ($3 == "rf__" name "_tiles" && name ~ /^amx/) { count[object]--; next }
        if ($3 != "rfk_" name) { print object ": exports " $3; bad = 1 } }
}
END { for (o in count) if (count[o] != 1) { print o ": " count[o] " symbols"; bad = 1 }
      exit bad }'
