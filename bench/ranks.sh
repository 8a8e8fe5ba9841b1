#!/bin/sh
# ranks.sh BUILD TEXT [ROUNDS] — 2 ranks of one thread against 1 process of 2 threads, the same tokens in a step, in turns.
# The vocabulary is examples/tiny's; the model has base's width and 4 layers.  Printed are tokens a second of each turn, and the median of the ratios.
set -eu
build=$(cd "$1" && pwd)
text=$(readlink -f "$2")
rounds=${3:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
zstd -dcq "$text" 2> zstd.log | awk '{ print } /^<\/doc>/ && ++n == 1500 { exit }' > text.txt          # WikiExtractor's documents
cat > config.json <<'JSON'
{"model_type": "roformer", "hidden_size": 768, "embedding_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12,
 "intermediate_size": 3072, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "max_position_embeddings": 512}
JSON
"$build/roformer" vocab -q --text text.txt --vocab_size 30522 -o vocab
options="-q --text text.txt --model vocab --config config.json --max_steps 9 --max_length 128 --save_steps 1000 --logging_steps 1"

turn() {     # turn NAME COMMAND...: tokens a second from the third step on
    name=$1
    shift
    rm -rf "$name"
    # shellcheck disable=SC2086
    "$@" $options -o "$name" > "$name.log" 2>&1 || { cat "$name.log" >&2; exit 1; }
    awk -F'"tokens":' '{ if ($1 !~ /"step":/) next; split($2, t, ","); split($0, s, "\"seconds\":"); split(s[2], u, "[,}]")
                         n++; if (n == 2) { t0 = t[1]; s0 = u[1] } t1 = t[1]; s1 = u[1] }
                       END { printf "%.0f\n", (t1 - t0) / (s1 - s0) }' "$name/metrics.jsonl"
}
round=0
while [ "$round" -lt "$rounds" ]; do
    threads=$(turn threads "$build/roformer" pretrain --threads 2 --tokens_per_batch 2048)
    ranks=$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 turn ranks mpirun --oversubscribe --mca btl vader,self -n 2 \
            "$build/roformer-mpi" pretrain --threads 1 --tokens_per_batch 1024)
    awk -v t="$threads" -v r="$ranks" \
        'BEGIN { printf "1 process of 2 threads %6d tokens/s   2 ranks of 1 thread %6d tokens/s   %.3f\n", t, r, r / t }' | tee -a turns
    round=$((round + 1))
done
awk '{ print $NF }' turns | sort -n | awk '{ x[NR] = $1 } END { printf "median of %d: 2 ranks at %.1f %% of 2 threads\n", NR, 100 * x[int((NR + 1) / 2)] }'
