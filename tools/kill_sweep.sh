#!/bin/sh
# kill_sweep.sh [BUILD] — the long form of tests/train/test_faults.c and test_disk.c: 200 kills at random moments, a
# kill before every system call that changes the disk, every one of them failing once, a full disk in every write; of
# test_json.c: every allocation inside jansson failing, once and from there on; then tools/kill_loop.sh for a minute each.
# Some minutes.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
cmake --build "$build" --target train_test_faults train_test_disk train_test_json
ROFORMER_SWEEP=1 "$build/tests/train_test_json"
ROFORMER_SWEEP=1 "$build/tests/train_test_disk"
ROFORMER_KILLS=200 ROFORMER_SWEEP=1 "$build/tests/train_test_faults"
sh tools/kill_loop.sh 60 "$build"
