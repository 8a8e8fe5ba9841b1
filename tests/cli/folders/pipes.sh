#!/bin/sh
# pipes.sh — files in a folder must be regular files: a pipe, a device or a folder is rejected and not waited for.  A
# path given by the user may be a pipe, such as <(zcat text.gz); if it is needed more than once, the command reports
# that first.
. "$(dirname "$0")/../lib"
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 60; i++) print "the king sees the " (i % 2 ? "cat" : "dog") "\t" (i % 2 ? "a" : "b") }' > train.tsv
sentences 40 > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
small_json base/vocab.txt 1 16 '"max_position_embeddings": 64'
few='--tokens_per_batch 128 --max_length 32 --max_steps 4 --save_steps 2 --threads 1'
# shellcheck disable=SC2086
"$program" pretrain -q --text text.txt --model base --config small.json $few -o run || exit 1
tune='--per_device_train_batch_size 8 --max_length 16 --max_steps 2 --threads 1'

# within COMMAND...   in 60 seconds; 124: it waited for somebody
within() { timeout 60 "$@"; }
refused='expected a file, got a pipe, a socket or a device'

# instead FOLDER FILE CODE COMMAND...   with each kind of thing in the place of FILE
instead() {
    place=$1/$2 name=$2 exit_code=$3
    shift 3
    mv "$place" aside
    mkfifo "$place"
    expect "$exit_code" "$name.*$refused" within "$@"
    rm "$place" && ln -s /dev/zero "$place"
    expect "$exit_code" "$name.*$refused" within "$@"
    rm "$place" && mkdir "$place"
    expect "$exit_code" "$name.*(expected a file, got a directory|holds neither)" within "$@"
    rmdir "$place" && mv aside "$place"
}

# ---- a model's files, a checkpoint's, a run's
for file in config.json model.safetensors vocab.txt tokenizer_config.json; do
    instead run $file 4 "$program" fill-mask -m run 'the [MASK]'
done
instead run/checkpoint-4 COMPLETE 4 "$program" verify run/checkpoint-4
instead run checksums.json 4 "$program" verify run
instead run metrics.jsonl 4 "$program" pretrain --resume run --stop_after 1
instead run metrics.jsonl 4 "$program" watch --once run
instead run metrics.jsonl 4 "$program" plot run -o curves.svg
mkdir data && cp train.tsv data
# shellcheck disable=SC2086
instead data train.tsv 4 "$program" finetune -m run --train data $tune -o tuned
[ ! -e tuned ] || fail "a refused run left $(ls -a tuned)"
mv run/.lock aside; mkfifo run/.lock
expect 0 '' within "$program" watch --once run
rm run/.lock && mv aside run/.lock

# A checkpoint with a pipe in it is a damaged one.
for file in COMPLETE trainer_state.json model.safetensors vocab.txt; do
    rm -rf copy && cp -r run copy && rm copy/checkpoint-4/$file && mkfifo copy/checkpoint-4/$file
    expect 3 "a damaged one \\((.*/)?$file: (expected a file, got a pipe|cannot be read)" within "$program" pretrain --resume copy/checkpoint-4 --stop_after 1
    expect 75 "checkpoint-4 damaged \\((.*/)?$file: .*using checkpoint-2" within "$program" pretrain --resume copy --stop_after 1
done

# ---- what the user names
# fed FILE COMMAND...   the command; the FIFO "pipe" gives it FILE
mkfifo pipe
fed() {
    cat "$1" > pipe & feeder=$!
    shift
    within "$@"
    fed_code=$?
    kill $feeder 2> /dev/null
    wait $feeder
    return $fed_code
}
expect 0 '' fed text.txt "$program" vocab -q --text pipe --size 60 -o from-pipe
same base/vocab.txt from-pipe/vocab.txt 'vocabulary of a pipe'
# shellcheck disable=SC2086
expect 0 '' fed text.txt "$program" pretrain -q --text pipe --model base --config small.json $few -o piped
same run/model.safetensors piped/model.safetensors 'pretrain from a pipe'
# shellcheck disable=SC2086
expect 0 '' fed small.json "$program" pretrain -q --text text.txt --model base --config pipe $few -o configured
same run/model.safetensors configured/model.safetensors 'a configuration from a pipe'
# shellcheck disable=SC2086
expect 0 '' "$program" finetune -q --train train.tsv --dev train.tsv -m run $tune -o tuned
# shellcheck disable=SC2086
expect 0 '' fed train.tsv "$program" finetune -q --train pipe --dev train.tsv -m run $tune -o piped-tune
same tuned/model.safetensors piped-tune/model.safetensors 'finetune from a pipe'
expect 0 '' "$program" predict -m tuned --input train.tsv
mv out expected
expect 0 '' fed train.tsv "$program" predict -m tuned --input pipe
same expected out 'predictions of a pipe'
input=train.tsv expect 0 '' "$program" predict -m tuned --input -
same expected out 'predictions of standard input'
expect 4 'run: expected a file, got a directory' "$program" predict -m tuned --input run
if command -v bash > /dev/null 2>&1; then
    expect 0 '' bash -c '"$0" predict -m tuned --input <(cat train.tsv)' "$program"
    same expected out 'predictions of <(...)'
    expect 0 '' bash -c '"$0" evaluate -q -m run --text <(cat text.txt) --max_length 32' "$program"
fi

# Nobody writes it, and it is not opened: needed several times.
for more in '--k_fold 3' '--learning_rates 1e-3,1e-4 --dev train.tsv'; do
    # shellcheck disable=SC2086
    expect 2 'train: expected a file, got pipe, which can be read only once, and each run of' within "$program" finetune --train pipe -m run $tune $more -o many
    # shellcheck disable=SC2086
    expect 2 'train: expected a file, got standard input, which can be read only once, and each' within "$program" finetune --train - -m run $tune $more -o many
done
# shellcheck disable=SC2086
expect 2 'dev: expected a file, got pipe, which can be read only once, and each run of' within "$program" finetune --train train.tsv --dev pipe -m run $tune --learning_rates 1e-3 -o many
[ ! -e many ] || fail "a refused run left $(ls -a many)"
done_testing
