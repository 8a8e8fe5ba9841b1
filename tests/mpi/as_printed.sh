#!/bin/sh
# as_printed.sh ROFORMER ROFORMER-MPI MPIRUN — the command line of docs/scaling.md as printed there for this MPI:
# without settings in the environment, on the available cores, as the user who runs the tests.
. "$(dirname "$0")/lib"
unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
case $mpirun in
    *openmpi*) options=--oversubscribe ;;
    *) options=build/ ;;
esac
line=$(sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$here_mpi/../../docs/scaling.md" | grep "^mpirun -n 2 $options")
[ "$(printf '%s\n' "$line" | grep -c .)" -eq 1 ] || fail "docs/scaling.md does not print one such line: $line"
cp -r base my-model
cp small.json my-model/config.json
cp text.txt corpus.txt
gzip corpus.txt && mv corpus.txt.gz corpus.txt.zst || exit 1              # known by its first bytes
arguments=$(printf '%s\n' "$line" | sed "s#^mpirun#$mpirun#; s#build/release/roformer-mpi#$mpi_program#")
# shellcheck disable=SC2086
expect 0 'step 4/4' $arguments --max_steps 4 --tokens_per_batch 256 --max_length 64 --eval_steps 0 --threads 1
[ -s run/model.safetensors ] || fail "no model: $(ls run)"
done_testing
