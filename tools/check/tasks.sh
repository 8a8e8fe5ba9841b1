#!/bin/sh
# tasks.sh — no code depends on which task it handles: a task is named only in its row of tasks.def, in its own file, in
# the presets of tasks.c and in tests, nowhere else in src or include.  An option of a command may have the same name.
# The training loop depends on no job: objectives, translation and tasks are in files of their own.
set -eu
cd "$(dirname "$0")/../.."
bad=0
fail() { echo "$1"; bad=1; }
names=$(sed -n 's/^RFT(\([a-z_]*\),.*/\1/p' include/roformer/inspect/tasks.def)
[ -n "$names" ] || fail "tasks.def has no row"
files=$(find src include -name '*.[ch]' -o -name '*.inc' -o -name '*.def')
for name in $names; do
    [ -f "src/task/tasks/$name.c" ] || fail "src/task/tasks/$name.c is not there"
    # shellcheck disable=SC2086
    if grep -nE "rf__task_$name\b|[^A-Za-z0-9_ ]\"$name\"|\(\"$name\"" $files |
        grep -vE "^[^:]*:[0-9]*: *(/\*| \*)|^src/task/tasks/$name\.c:|\.text = |^src/task/tasks\.c:[0-9]*:    \{\"[a-z0-9]+\", \"$name\"|^src/cli/cmd/cmd_[a-z_]*\.c:[0-9]*:    \{\"$name\", 0, CLI_"; then
        fail "task $name is named outside of its file"
    fi
done
# shellcheck disable=SC2086
if grep -n 'RF_TASK_' $files | grep -vE 'define RF_TASK_[A-Z]*_?H$|ifndef RF_TASK_[A-Z]*_?H$'; then fail "tasks are no enumeration"; fi
shared="src/train/run.h $(ls src/train/loop.c src/train/save.[ch] src/train/start.c src/train/start_[cfm]*.c src/train/evaluate.[ch] src/train/memory.[ch])"
# shellcheck disable=SC2086
if grep -nE 'RF_OBJECTIVE_(CLM|RTD)|rf__(rtd|pretrain|translation|finetune)_|r->job[^-]' $shared; then fail "the training loop names a job"; fi
exit $bad
