#!/bin/sh
# prepare.sh — text to a cache, caches to a run; wrong arguments are reported before anything is created.
. "$(dirname "$0")/../lib"
tales 600 > a.txt
sed 's/sees/hears/' a.txt > b.txt
"$program" vocab -q --text a.txt b.txt --size 100 -o base || exit 1
small_json base/vocab.txt 1 32
expect 0 '' "$program" prepare -q --text a.txt --model base -o a.cache --tokens_per_batch 512 --max_length 64
holds out 'packing'
holds out '600 documents'
expect 0 '' "$program" prepare -q --text b.txt --model base -o b.cache --json
holds out '"held_out": '
shape="--config small.json --tokens_per_batch 512 --max_length 64 --eval_documents 20 --max_steps 6 --logging_steps 2"
# shellcheck disable=SC2086
expect 0 'packing: 9[89]|packing: 100' "$program" pretrain --mix a.cache:0.7 b.cache:0.3 --model base -o run $shape
holds run/metrics.jsonl '"input_wait":'
holds run/metrics.jsonl '"packing":'
# shellcheck disable=SC2086
expect 0 'step 6/6' "$program" pretrain --data a.cache b.cache --model base -o run2 $shape --optim lion --lr_scheduler_type one_cycle
# shellcheck disable=SC2086
expect 2 '--data, --mix: expected one of them, got both' "$program" pretrain --data a.cache --mix b.cache:1 --model base -o run3 $shape
# shellcheck disable=SC2086
expect 2 '--mix: expected FILE:WEIGHT, got' "$program" pretrain --mix a.cache --model base -o run3 $shape
# shellcheck disable=SC2086
expect 2 '--mix: expected FILE:WEIGHT, got' "$program" pretrain --mix a.cache:x --model base -o run3 $shape
# shellcheck disable=SC2086
expect 2 '--mix a.cache:0: weight: expected 1e-9 to 1e9, got another number' "$program" pretrain --mix a.cache:0 --model base -o run3 $shape
# shellcheck disable=SC2086
expect 3 'a.txt: not a token cache' "$program" pretrain --data a.txt --model base -o run3 $shape
expect 2 'prepare: expected -o' "$program" prepare --text a.txt --model base
expect 4 'none: cannot write there' "$program" prepare --text a.txt --model base -o none/x.cache
expect 4 'nowhere' "$program" prepare --text nowhere --model base -o x.cache
[ ! -e x.cache ] && [ "$(ls -a | grep -c '\.tmp-')" -eq 0 ] || fail "left behind: $(ls -a)"
done_testing
