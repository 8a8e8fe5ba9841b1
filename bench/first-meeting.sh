#!/bin/sh
# first-meeting.sh NAME [OPTIONS] [STEP...] — measures everything on a new kind of machine, in about 20 minutes.
#
# Writes results/machines/NAME/, one file for each step: the machine, the date, the command and its output.
#
#   --build DIR      the build folder (build/release); missing benchmarks are built
#   --out DIR        instead of results/machines/NAME
#   --python PYTHON  also measures other programs, in turns, with this interpreter (bench/peers/setup.sh prints its
#                    path); 15 minutes more
#   --threads N      worker threads (default: the processors that this process may use)
#   --under COMMAND  runs each step under COMMAND, such as one that stops other processes
#   --short          runs every step once with a small model, as a test; the figures mean nothing
#   --list           prints the steps and their durations
#
# After an interruption, run it again: it continues with the steps that have no file yet.  If STEPs are given, only those
# run.  A step that fails writes NAME.failed; the other steps still run, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."
build=build/release out= python= threads=$(nproc 2> /dev/null || getconf _NPROCESSORS_ONLN) under= short= list= name= chosen=
usage() { sed -n '2,/^set -eu/{/^#/s/^# \{0,1\}//p}' bench/first-meeting.sh >&2; exit 2; }
value() { [ $# -ge 2 ] || { echo "first-meeting.sh: $1: expected a value, got the end of the line" >&2; exit 2; }; }
while [ $# -gt 0 ]; do
    case $1 in
    --build) value "$@"; build=$2; shift ;;
    --out) value "$@"; out=$2; shift ;;
    --python) value "$@"; python=$2; shift ;;
    --threads) value "$@"; threads=$2; shift ;;
    --under) value "$@"; under=$2; shift ;;
    --short) short=yes ;;
    --list) list=yes ;;
    -*) usage ;;
    *) if [ -z "$name" ]; then name=$1; else chosen="$chosen $1"; fi ;;
    esac
    shift
done
[ -n "$name$list" ] || usage
case $name in */* | .*) echo "first-meeting.sh: $name: expected a plain name, as zen4; --out names a folder" >&2; exit 2 ;; esac
out=${out:-results/machines/$name}
[ -n "$list" ] || [ -x "$build/roformer" ] || { echo "first-meeting.sh: $build/roformer: expected the program, got none; build it: make" >&2; exit 2; }

# What is asked of the programs: full or short.
forward='--shape 8x128 --shape 4x512 --shape 1x16 --shape @bench/peers/lengths.txt' train='--shape 8x128 --shape 2x512' long='--seconds 2'
attention='--shape 8x128 --shape 4x512 --shape 1x2048' rounds=5 few=3 peers='--rounds 3 --seconds 1' texts=
if [ -n "$short" ]; then
    forward='-c models/roformer-small-en/config.json --shape 2x16' train=$forward long='--seconds 0.01'
    attention='--shape 2x16' rounds=1 few=1 peers='--rounds 1 --seconds 0.01 --shape 1x4' texts='--layers 1 --rounds 1'
fi
r=$build/roformer b=$build/bench

# name | seconds | what it needs | command
steps="
machine | 2 | - | if command -v lscpu; then lscpu; grep -E 'MemTotal|HugePages_Total' /proc/meminfo; else sysctl hw machdep.cpu; fi; uname -rsm; $r info --env
forward-f32 | 70 | - | $r bench forward $forward $long --threads $threads
forward-bf16 | 50 | - | $r bench forward $forward $long --threads $threads --dtype bf16
forward-int8 | 50 | - | $r bench forward $forward $long --threads $threads --dtype int8
train-f32 | 40 | - | $r bench train $train $long --threads $threads
train-bf16 | 30 | - | $r bench train $train $long --threads $threads --dtype bf16
attention | 30 | - | $r bench attention $attention $long --threads $threads; $r bench attention $attention $long --threads $threads --dtype bf16
tokenizer | 5 | - | $r bench tokenize $long
products-f32 | 60 | bench_gemm | $b/bench_gemm --type f32 --rounds $few --threads $threads
products-bf16 | 40 | bench_gemm | $b/bench_gemm --type bf16 --rounds $few --threads $threads
products-int8 | 40 | bench_gemm | $b/bench_gemm --type int8 --rounds $few --threads $threads
text-f32 | 20 | bench_text | $b/bench_text --type f32
text-bf16 | 20 | bench_text | $b/bench_text --type bf16
text-int8 | 20 | bench_text | $b/bench_text --type int8
kernels | 80 | bench_kernels | $b/bench_kernels --rounds $rounds
"
for case in forward forward-bf16 forward-int8 attention attention-bf16 train train-bf16; do
    steps="$steps
peers-$case | 120 | peers | python3 bench/compare.py --roformer $r --python $python --threads $threads $peers -o $out/peers-$case.jsonl $case"
done

has() {     # has WHAT: 0 when it is there, or can be built
    case $1 in
    -) return 0 ;;
    peers) [ -n "$python" ] ;;
    *) [ -e "bench/$1.c" ] || return 1
       [ -n "$short" ] || cmake --build "$build" --target "$1" > "$out/build.log" 2>&1 || { tail -3 "$out/build.log" >&2; return 1; }
       [ -x "$b/$1" ] ;;
    esac
}
processor() {
    { sed -n 's/^model name[^:]*: //p' /proc/cpuinfo || sysctl -n machdep.cpu.brand_string; } 2> /dev/null | head -1
}
header() {
    printf '%s, %s threads, %s\n' "$(processor)" "$threads" "$(date -u '+%Y-%m-%d %H:%M')"
    printf 'roformer %s, commit %s\n' "$("$r" --version | sed 's/^roformer //')" "$(git rev-parse --short HEAD 2> /dev/null || echo unknown)"
    [ -z "$short" ] || echo 'short: these figures mean nothing'
    printf 'load before: %s\n\n$ %s\n' "$(uptime | sed 's/.*load average[s]*: //')" "$1"
}
each() { printf '%s\n' "$steps" | while IFS='|' read -r step seconds needs command; do
    [ -z "$step" ] || "$1" "$(echo $step)" "$(echo $seconds)" "$(echo $needs)" "${command# }"
done; }
wanted() { case " ${chosen:-$1} " in *" $1 "*) ;; *) return 1 ;; esac; }
say() { wanted "$1" && printf '%-18s %4d s  %s\n' "$1" "$2" "$3"; true; }
cost() { [ -e "$out/$1.txt" ] || ! wanted "$1" || { [ "$3" = peers ] && [ -z "$python" ]; } || echo "$2"; }
left() { each cost | awk '{ s += $1 } END { print s + 0 }'; }

if [ -n "$list" ]; then each say; exit 0; fi
for step in $chosen; do
    printf '%s\n' "$steps" | grep -q "^$step |" || { echo "first-meeting.sh: $step: expected a step of --list" >&2; exit 2; }
done
mkdir -p "$out"
do_step() {     # do_step NAME SECONDS NEEDS COMMAND
    wanted "$1" && [ ! -e "$out/$1.txt" ] || return 0
    has "$3" || { echo "first-meeting.sh: $1 is left out: no $3"; return 0; }
    rest=$(left)
    echo "first-meeting.sh: $1, about $2 s; all of it in about $(((rest + 59) / 60)) minutes"
    rm -f "$out/$1.failed"
    # shellcheck disable=SC2086
    if { header "$4"; $under sh -ec "$4"; } > "$out/$1.part" 2>&1 < /dev/null; then
        mv "$out/$1.part" "$out/$1.txt"
    else
        mv "$out/$1.part" "$out/$1.failed"
        echo "first-meeting.sh: $1 failed: $(tail -1 "$out/$1.failed")" >&2
    fi
}
each do_step
rm -f "$out/build.log"
! ls "$out"/*.failed > /dev/null 2>&1 || exit 1
