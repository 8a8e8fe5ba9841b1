#!/bin/sh
# kill_sweep.sh [BUILD] — the long form of tests/train/test_faults.c and test_disk.c: 200 kills at random moments, a
# kill before every system call that changes the disk, a failure of each of these calls, and a full disk in every write,
# also of an index and of a conversion (test_index_disk.c, test_convert_disk.c).
# In test_json.c every allocation of jansson fails, once and permanently.  Then tools/kill_loop.sh runs for a minute
# each.  This takes some minutes.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
cmake --build "$build" --target train_test_faults train_test_disk train_test_json pipeline_test_index_disk \
    convert_test_convert_disk
ROFORMER_SWEEP=1 "$build/tests/train_test_json"
ROFORMER_SWEEP=1 "$build/tests/train_test_disk"
ROFORMER_SWEEP=1 "$build/tests/pipeline_test_index_disk"
ROFORMER_SWEEP=1 "$build/tests/convert_test_convert_disk"
ROFORMER_KILLS=200 ROFORMER_SWEEP=1 "$build/tests/train_test_faults"
sh tools/kill_loop.sh 60 "$build"
