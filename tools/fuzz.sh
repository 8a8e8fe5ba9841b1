#!/bin/sh
# fuzz.sh BUILD SECONDS — runs every libFuzzer harness for SECONDS on a copy of its seed corpus.
set -eu
build=$1
seconds=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
for program in "$build"/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    name=$(basename "$program" | sed 's/^fuzz_//')
    mkdir -p "$work/$name"
    cp tests/fuzz/corpus/"$name"/* "$work/$name"/ 2> /dev/null || true
    echo "fuzz $name: $seconds s"
    "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$work/$name-" "$work/$name" > "$work/$name.log" 2>&1 || {
        tail -40 "$work/$name.log"
        mkdir -p build/crashes && cp "$work/$name"-* build/crashes/ 2> /dev/null || true
        echo "fuzz $name: failed; the input is in build/crashes" >&2
        exit 1
    }
    grep -E 'number_of_executed_units|new_units_added' "$work/$name.log" | sed 's/^/    /'
done
