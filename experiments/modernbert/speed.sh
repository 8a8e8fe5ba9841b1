#!/bin/sh
# speed.sh ROFORMER WORK — tokens per second of a forward pass and of a training step for the four models of
# modernbert.json, alternately in three rounds: one thread, bf16, 8 texts of 256 tokens.  WORK has the configs that
# `experiment` wrote.
set -eu
program=$1 work=$2
echo "# $("$program" --version), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(date +%F), 1 thread, bf16, 8 x 256; tokens per second of three rounds"
for what in forward train; do
    for model in roformer bert nomic_bert modernbert; do eval "row_$model="; done
    for round in 1 2 3; do
        for model in roformer bert nomic_bert modernbert; do
            speed=$("$program" bench -q $what --threads 1 --config "$work/$model-1.config.json" --dtype bf16 --seconds "${SECONDS_EACH:-0.5}" --shape 8x256 --json |
                sed -n 's/ *"tokens_per_second": *\([0-9]*\).*/\1/p' | head -1)
            eval "row_$model=\"\$row_$model $speed\""
        done
    done
    for model in roformer bert nomic_bert modernbert; do eval "printf '%-8s %-12s %8s %8s %8s\n' $what $model \$row_$model"; done
done
