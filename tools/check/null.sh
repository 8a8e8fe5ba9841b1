#!/bin/sh
# null.sh LIBRARY.so — every function of include/roformer that returns a status returns RF_EARG if all arguments are
# NULL, and every function that frees accepts NULL.  Each is called in a separate process, with zeros in all registers
# that its arguments may use.
set -eu
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
find include/roformer -name '*.h' | sed 's,include/\(.*\),#include "\1",' | sort > "$out/all.h"
${CC:-cc} -E -P -x c -Iinclude "$out/all.h" | tr '\n' ' ' | tr ';{}' '\n\n\n' | grep -v typedef |
    sed -n 's/^ *rf_status \(rfk\{0,1\}_[a-z0-9_]*\)(.*/DOOR(\1)/p; s/^ *void \(rf_[a-z0-9_]*_\(free\|close\|clear\)\)(.*/END(\1)/p' |
    grep -v 'DOOR(rf_fail)' | sort -u > "$out/functions.inc"
[ "$(wc -l < "$out/functions.inc")" -gt 50 ] || { echo "include/roformer: hardly a function"; exit 1; }
cat > "$out/null.c" <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "all.h"
typedef rf_status door(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);
static const struct { const char *name; door *call; int frees; } all[] = {
#define DOOR(f) {#f, (door *)(void (*)(void))f, 0},
#define END(f) {#f, (door *)(void (*)(void))f, 1},
#include "functions.inc"
};
int main(void)
{
    int bad = 0, status = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        const pid_t child = fork();
        if (!child) _exit((int)all[i].call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) != RF_EARG && !all[i].frees);
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        if (!status) continue;
        printf("%s: NULL %s\n", all[i].name, WIFSIGNALED(status) ? "ends the process" : "is not refused with RF_EARG");
        bad = 1;
    }
    return bad;
}
C
${CC:-cc} -std=c11 -D_GNU_SOURCE -w -Iinclude -I"$out" "$out/null.c" -o "$out/null" "$1" -Wl,-rpath,"$(dirname "$1")"
"$out/null"
