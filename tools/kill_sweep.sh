#!/bin/sh
# kill_sweep.sh [BUILD] — the long form of tests/train/test_faults.c: 200 kills at random moments, a kill before every
# system call that changes the disk, and every one of them failing once.  Some minutes.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
cmake --build "$build" --target train_test_faults
ROFORMER_KILLS=200 ROFORMER_SWEEP=1 "$build/tests/train_test_faults"
