#!/bin/sh
# killed.sh ROFORMER ROFORMER-MPI MPIRUN — one process of three is killed: the others end with a message, and the run
# continues from its last checkpoint to the same bytes.
. "$(dirname "$0")/lib"

"$program" pretrain -q $shape -o one --gradient_accumulation_steps 3 --max_steps 40 || fail "one process"
long="$shape --max_steps 40 --save_steps 5 --logging_steps 1"
for victim in 0 2; do
    rm -f log
    mpi 3 pretrain $long -o "killed$victim" --stop_after 1 2> /dev/null
    [ $? -eq 75 ] || fail "begin"
    # --max_steps 40 goes on from step 1, in the background
    mpi 3 pretrain --resume "killed$victim" > log 2>&1 &
    pid=$!
    await grep -qs 'saved .*checkpoint-5' log
    rank=$(process_of "$victim" "pretrain --resume killed$victim")
    [ -n "$rank" ] && kill -9 "$rank" 2> /dev/null
    begun=$(date +%s)
    wait $pid                                                       # for ever, where the others do not end: CTest's limit
    code=$?
    echo "rank $victim of 3 was killed; the job ended $(($(date +%s) - begun)) s later with $code"
    if [ "$(grep -c 'step 40/40' log)" -gt 0 ]; then
        echo "killed.sh: rank $victim had ended before it could be killed" >&2
        continue
    fi
    [ "$code" -ne 0 ] || fail "rank $victim killed, and all is well: $(cat log)"
    # MPICH's transport (UCX) ends a rank itself when the other dies while its memory is read: "process_vm_readv: No such process"
    grep -qiE "rank $victim .*(gone|signal 9|exited)|KILLED BY SIGNAL: 9|EXIT CODE: 9|No such process" log || fail "rank $victim killed, no word of it: $(cat log)"
    if [ $victim = 2 ]; then expect 0 'step 40/40' mpi 3 pretrain --resume "killed$victim"
    else expect 0 'step 40/40' "$program" pretrain --resume "killed$victim"; fi
    same one/model.safetensors "killed$victim/model.safetensors" "killed and resumed"
done

# One signal to one process is heard by all: a checkpoint, and the end with 75.
mpi 2 pretrain $shape -o asked --max_steps 1000000 --logging_steps 1 --save_steps 0 > log 2>&1 &
pid=$!
await grep -qs 'step 3/' log
kill -TERM "$(process_of 1 'pretrain .*-o asked')"
wait $pid
code=$?
[ $code -eq 75 ] || fail "TERM to rank 1 gives $code: $(tail -5 log)"
grep -qs 'saved checkpoint-[0-9]*; continue with --resume' log || fail "words: $(tail -3 log)"
expect 75 'continue with --resume' mpi 2 pretrain --resume asked --stop_after 2
done_testing
