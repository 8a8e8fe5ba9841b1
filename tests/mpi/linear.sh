#!/bin/sh
# linear.sh ROFORMER ROFORMER-MPI MPIRUN — linear attention with redrawn features: one process and several, killed and
# resumed by others, all end with the same bytes.
. "$(dirname "$0")/lib"
sed 's/{/{"attention_type": ["linear", "softmax"], "num_random_features": 24, "feature_seed": 3, "feature_redraw_interval": 5, /' small.json > linear.json
shape="$(echo "$shape" | sed 's/small.json/linear.json/')"

for objective in mlm clm; do
    "$program" pretrain -q $shape --objective $objective -o one-$objective --gradient_accumulation_steps 6 || fail "one process"
    holds one-$objective/config.json '"feature_draw": 2'
    expect 0 'step 12/12' mpi 2 pretrain $shape --objective $objective -o two-$objective --gradient_accumulation_steps 3
    same one-$objective/model.safetensors two-$objective/model.safetensors "two processes, $objective"
    same one-$objective/config.json two-$objective/config.json "the draw of two processes, $objective"
done

# One of three is killed in the middle of a draw, and two go on.
long="$shape --max_steps 60 --save_steps 4 --logging_steps 1"
"$program" pretrain -q $long -o long --gradient_accumulation_steps 6 || fail "one process"
mpi 3 pretrain $long -o killed --gradient_accumulation_steps 2 > log 2>&1 &
pid=$!
await grep -qs 'saved .*checkpoint-8' log
rank=$(process_of 1 'pretrain .*-o killed')
[ -n "$rank" ] && kill -9 "$rank" 2> /dev/null
wait $pid && fail "rank 1 killed, and all is well"
expect 0 'step 60/60' mpi 2 pretrain --resume killed
same long/model.safetensors killed/model.safetensors "killed and resumed"
same long/config.json killed/config.json "the draw of a killed run"
done_testing
