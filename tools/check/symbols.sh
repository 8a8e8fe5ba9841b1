#!/bin/sh
# symbols.sh LIBRARY.a — each kernel rung exports only its table, and a rung with tiles also its products
# (rf__RUNG_tiles), so that compiling it for a newer instruction set is safe.  Every other global symbol begins with rf_
# or rfk_, except weak copies of C++'s library and compiler-generated tables in the one C++ file.
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
