#!/bin/sh
# check_floors.sh — a file includes its own folder and those on lower floors, never up, nor across to another folder on the
# same floor.  Only cli reads the environment, prints or exits.
set -eu
cd "$(dirname "$0")/.."

awk '
BEGIN {
    split("base:0 kernel:1 graph:2 text:3 store:3 model:4 data:5 dist:5 optim:6 train:7 task:8 analysis:8 cli:9", pair, " ")
    for (i in pair) { split(pair[i], f, ":"); floor[f[1]] = f[2] }
    # public headers and the folder they belong to
    split("status:base context:base kernels:kernel rope:kernel gemm:kernel tensor:graph tokenizer:text checkpoint:store comm:dist reader:data model:model generate:model train:data finetune:data", pub, " ")
    for (i in pub) { split(pub[i], f, ":"); home[f[1]] = f[2] }
}
function folder(path,   part) { split(path, part, "/"); return part[2] }
/^#include "/ {
    split($0, q, "\""); name = q[2]; from = folder(FILENAME)
    if (name ~ /^roformer\//) { h = name; sub(/^roformer\//, "", h); sub(/\.(h|def)$/, "", h); to = home[h] }
    else { to = name; sub(/\/.*/, "", to); if (!(to in floor)) to = from }
    if (to == "") next
    if (floor[to] > floor[from]) { print FILENAME ":" FNR ": floor " floor[from] " (" from ") includes floor " floor[to] ": " name; bad = 1 }
    else if (floor[to] == floor[from] && to != from) { print FILENAME ":" FNR ": " from " includes " to ": " name; bad = 1 }
}
/dnnl\.h/ && FILENAME !~ /gemm_dnnl\.c$/ && /#include/ { print FILENAME ":" FNR ": only gemm_dnnl.c includes oneDNN"; bad = 1 }
/(^|[^a-z_])(printf|puts|exit|abort|getenv|alloca|strcpy|sprintf|atoi)\(/ && folder(FILENAME) != "cli" {
    print FILENAME ":" FNR ": only the program prints, exits or reads the environment; alloca, strcpy, sprintf, atoi never: " $0; bad = 1
}
END { exit bad }
' $(find src -name '*.[ch]' -o -name '*.inc' | grep '^src/' | sort)
