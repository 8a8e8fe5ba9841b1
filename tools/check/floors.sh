#!/bin/sh
# floors.sh NM OBJECT... — a file includes its own folder and those on lower floors, never up, nor across to another
# folder on the same floor.  Where a public header belongs, to the lowest folder that needs it, is in the table `home`
# below.  The same holds for symbols of the objects, which NM (nm of the target) reads: an object uses no symbol that an
# object of a higher floor, or of another folder on the same floor, defines, and no header of src/ declares one.
# Only cli reads the environment, prints or exits; of the library it, bench/ and experiments/ include public headers alone,
# and base/os/os.h.  Headers of one system are included in src/base/os and src/cli/os alone, and where `system` below says why.
set -eu
cd "$(dirname "$0")/../.."
floors="base:0 kernel:1 graph:2 text:3 store:3 model:4 score:4 decode:5 data:5 dist:5 optim:6 train:7 task:8 measure:8 analysis:8 convert:9 pipeline:9 serve:10 cli:11"

# Symbols that a lower floor uses, with the reason.
exceptions='rf__config_families: store reads and writes the keys of every family; the list of families is that of model'

# Other files that include headers of a system, which are built on that system alone.
system='src/serve/http/sockets_: sockets (sockets.h)
src/serve/http/loop_linux.c: eventfd
src/cli/mpi/: MPI, on Linux
src/text/subword/spm_child.c: fork; only with the SentencePiece library
src/kernel/isa/tiles.c: the permission for AMX that Linux grants'

awk -v floors="$floors" -v system_="$system" '
BEGIN {
    split(floors, pair, " ")
    for (i in pair) { split(pair[i], f, ":"); floor[f[1]] = f[2] }
    systems = split(system_, row, "\n")
    for (i = 1; i <= systems; i++) { of_system[i] = row[i]; sub(/:.*/, "", of_system[i]) }
    belongs("base", "context.h inspect/files.h")
    belongs("kernel", "kernel/acts.def kernel/attention.h kernel/gemm.h kernel/kernels.def kernel/kernels.h kernel/rope.h kernel/rungs.def")
    belongs("text", "tokenizer.h inspect/tokenizers.def")
    belongs("store", "checkpoint.h")
    belongs("score", "inspect/metrics.h")
    belongs("model", "model.h inspect/folder.h inspect/positions.h")
    belongs("decode", "generate.h")
    belongs("data", "train.h inspect/records.h inspect/finetune_options.def inspect/train_options.def")
    belongs("dist", "inspect/comm.h")
    belongs("task", "inspect/metrics.def inspect/tasks.def")
    belongs("measure", "inspect/steps.h")
    belongs("pipeline", "engine.h index.h pipeline.h")
    belongs("cli", "roformer.h")
}
function belongs(folder, headers,   name, i) { split(headers, name, " "); for (i in name) home[name[i]] = folder }
function folder(path,   part) { split(path, part, "/"); return part[2] }
function header(path) { sub(/.*roformer\//, "", path); return path }
FILENAME ~ /^include\// {
    public[header(FILENAME)] = 1
    next
}
!checked {
    checked = 1
    for (h in public) if (!(h in home) || !(home[h] in floor)) {
        print "include/roformer/" h ": has no home: name it in the table of tools/check/floors.sh"
        bad = 1
    }
    for (h in home) if (!(h in public)) { print "tools/check/floors.sh: include/roformer/" h " is not there"; bad = 1 }
}
/^#include "/ {
    split($0, q, "\""); name = q[2]; from = folder(FILENAME)
    if (name ~ /^roformer\//) to = home[header(name)]
    else { to = name; sub(/\/.*/, "", to); if (!(to in floor)) to = from }
    if (to == "") next
    if (floor[to] > floor[from]) { print FILENAME ":" FNR ": floor " floor[from] " (" from ") includes floor " floor[to] ": " name; bad = 1 }
    else if (floor[to] == floor[from] && to != from) { print FILENAME ":" FNR ": " from " includes " to ": " name; bad = 1 }
}
/^ *# *include <(unistd|fcntl|dirent|ftw|poll|signal|spawn|sched|semaphore|fnmatch|langinfo|termios|pwd|netdb|dlfcn|link|io|direct|process|windows|winsock2|ws2tcpip|(sys|arpa|netinet|linux|mach)\/[a-z_]+)\.h>/ && FILENAME !~ /^src\/(base|cli)\/os\// {
    known = 0
    for (i = 1; i <= systems; i++) if (index(FILENAME, of_system[i]) == 1) { known = 1; of_use[i] = 1 }
    if (!known) { print FILENAME ":" FNR ": a header of one system: ask src/base/os/os.h: " $0; bad = 1 }
}
/(^|[^a-z_])(printf|puts|exit|abort|getenv|alloca|strcpy|sprintf|atoi)\(/ && folder(FILENAME) != "cli" {
    print FILENAME ":" FNR ": only the program prints, exits or reads the environment; alloca, strcpy, sprintf, atoi never: " $0; bad = 1
}
END {
    for (i = 1; i <= systems; i++) if (!of_use[i]) { print "tools/check/floors.sh: " of_system[i] " includes no header of a system: remove its row"; bad = 1 }
    exit bad
}
' $(find include/roformer -name '*.h' -o -name '*.def' | sort) $(find src -name '*.[ch]' -o -name '*.inc' | grep '^src/' | sort)

[ $# -gt 1 ] || { echo "floors.sh: expected nm and the objects of the library, got none"; exit 1; }
nm=$1
shift
{
    find src -name '*.h' -o -name '*.inc' | sort | xargs awk '
        { gsub(/"([^"\\]|\\.)*"/, "") }
        !inside { gsub(/\/\*.*\*\//, "") }
        /\/\*/ { inside = 1; sub(/\/\*.*/, "") }
        !inside || /\*\// { while (match($0, /rfk?__[a-z0-9_]+\(/)) { print "declares", FILENAME, substr($0, RSTART, RLENGTH - 1); $0 = substr($0, RSTART + RLENGTH) } }
        /\*\// { inside = 0 }'
    "$nm" -A -P "$@" | awk '{ sub(/.*\.dir\/(\.\/)?/, ""); sub(/\.o:?$/, "", $1) } $1 ~ /^src\// && $2 ~ /^rf/ { print ($3 == "U" ? "uses" : "defines"), $1, $2, $3 }'
} > "${TMPDIR:-/tmp}/floors.$$"
trap 'rm -f "${TMPDIR:-/tmp}/floors.$$"' EXIT
awk -v floors="$floors" -v exceptions="$exceptions" '
BEGIN {
    split(floors, pair, " ")
    for (i in pair) { split(pair[i], f, ":"); floor[f[1]] = f[2] }
    split(exceptions, line, "\n")
    for (i in line) { split(line[i], f, ":"); excepted[f[1]] = 1 }
}
function folder(path,   part) { split(path, part, "/"); return part[2] }
$1 == "defines" && $4 ~ /[A-Z]/ { where[$3] = $2; defined++ }
$1 != "defines" { n++; what[n] = $1; from[n] = $2; name[n] = $3 }
END {
    if (defined < 1000) { print "floors.sh: expected a thousand symbols or more, got " defined + 0 " (nm)"; exit 1 }
    for (i = 1; i <= n; i++) {
        if (!(name[i] in where)) continue
        a = folder(from[i]); b = folder(where[name[i]])
        if (a == b || floor[b] < floor[a]) continue
        if (name[i] in excepted) { met[name[i]] = 1; continue }
        print from[i] " (" a ", floor " floor[a] ") " what[i] " " name[i] " of floor " floor[b] ": " where[name[i]]; bad = 1
    }
    for (s in excepted) if (!(s in met)) { print "floors.sh: the exception " s " is of no use: remove it"; bad = 1 }
    exit bad
}' "${TMPDIR:-/tmp}/floors.$$"

# The programs: "roformer/...", "cli/...", files next to their own, and the header of the server, which is not in the library.
bad=0
for file in $(find src/cli bench experiments -name '*.[ch]' -o -name '*.def' | sort); do
    for name in $(sed -n 's/^ *# *include "\([^"]*\)".*/\1/p' "$file"); do
        case $name in *src/*) there=/nowhere ;; roformer/*) there=include/$name ;; base/os/os.h|base/os/os_windows.h|cli/*|serve/serve.h|serve/limits.def) there=src/$name ;; *) there=$(dirname "$file")/$name ;; esac
        [ -f "$there" ] || { echo "$file: includes $name, which is neither public (roformer/...) nor the programs' own"; bad=1; }
    done
done
exit $bad
