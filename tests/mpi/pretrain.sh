#!/bin/sh
# pretrain.sh ROFORMER ROFORMER-MPI MPIRUN — the same training by one process and by several: the same bytes; stopped,
# resumed by another number of processes, rejected.
. "$(dirname "$0")/lib"

whole() { "$program" pretrain -q $shape -o "$@" || fail "one process: $*"; }
alike() {
    same one/model.safetensors "$1/model.safetensors" "$1"
    same one/checkpoint-12/optimizer.safetensors "$1/checkpoint-12/optimizer.safetensors" "$1"
    for d in one "$1"; do sed 's/,"tokens_per_second".*//; s/,"eval_seconds".*//' $d/metrics.jsonl > $d.lines; done
    same one.lines "$1.lines" "metrics of $1"
}

# Six micro-batches: 1 x 6, 2 x 3, 3 x 2.
whole one --gradient_accumulation_steps 6
expect 0 'step 12/12' mpi 2 pretrain $shape -o two --gradient_accumulation_steps 3
[ "$(grep -c 'saved two$' err)" -eq 1 ] || fail "not one voice: $(cat err)"
alike two
expect 0 'step 12/12' mpi 3 pretrain $shape -o three --gradient_accumulation_steps 2
alike three

# Begun by three, gone on by one, ended by two: the options are the checkpoint's.
expect 75 'continue with --resume .*parts/checkpoint-4' mpi 3 pretrain $shape -o parts --gradient_accumulation_steps 2 --stop_after 4
expect 75 'continue with --resume .*parts/checkpoint-9' "$program" pretrain --resume parts --stop_after 5
expect 0 'step 12/12' mpi 2 pretrain --resume parts
alike parts

# Every refusal is said once, and is everybody's.
expect 2 'choose another output_dir' mpi 2 pretrain $shape -o two
[ "$(grep -c 'choose another output_dir' err)" -eq 1 ] || fail "said by several: $(cat err)"
expect 2 'expected a divisor of the' mpi 4 pretrain --resume three/checkpoint-6
expect 2 'unknown option' mpi 2 pretrain --no_such_option
expect 2 'only pretrain uses several' mpi 2 tokenize hello
expect 2 'other options' mpi 1 pretrain $shape -o four : -n 1 "$mpi_program" pretrain $shape -o four --learning_rate 2e-3

# Alone it is the plain program.
expect 0 'step 12/12' mpi 1 pretrain $shape -o alone --gradient_accumulation_steps 6
alike alone
done_testing
