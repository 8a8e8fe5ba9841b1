#!/bin/sh
# shared.sh ROFORMER ROFORMER-MPI MPIRUN — an ALBERT, whose layers share their tensors: one process and two end with the
# same bytes, also if layers are computed again in the backward pass.
. "$(dirname "$0")/lib"
cat > albert.json << EOC
{"model_type": "albert", "vocab_size": $(wc -l < base/vocab.txt), "embedding_size": 16, "hidden_size": 32, "num_hidden_layers": 4,
 "num_hidden_groups": 2, "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64}
EOC
shape="$(echo "$shape" | sed 's/small.json/albert.json/')"
"$program" pretrain -q $shape -o one --gradient_accumulation_steps 4 || fail "one process"
expect 0 'step 12/12' mpi 2 pretrain $shape -o two --gradient_accumulation_steps 2
same one/model.safetensors two/model.safetensors "two processes"
expect 0 'step 12/12' mpi 2 pretrain $shape -o again --gradient_accumulation_steps 2 --gradient_checkpointing
same one/model.safetensors again/model.safetensors "two processes, computed again"
done_testing
