#!/bin/sh
# trust.sh — faults that a run may meet in a week (docs/reliability.md), through the program: signals, limits of time,
# memory and file sizes, a removed folder, truncated data, a second run in the same folder, files that do not belong
# together.
. "$(dirname "$0")/../lib"
awk 'BEGIN { srand(5); split("river city house king dog cat tree road song book", noun); split("sees finds likes takes makes", verb);
    for (i = 0; i < 600; i++) { for (k = 0; k < 1 + i % 13; k++) printf "the %s %s the %s. ", noun[1 + int(rand() * 10)], verb[1 + int(rand() * 5)],
        noun[1 + int(rand() * 10)]; print "\n" } }' > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
small_json base/vocab.txt 2 64
shape="--text text.txt --model base --config small.json --tokens_per_batch 256 --max_length 64 --eval_documents 20 --eval_steps 0 --logging_steps 1 --threads 1"
# saved FOLDER   some checkpoint is there: one by its number lives for milliseconds where steps are fast
saved() { for c in "$1"/checkpoint-*/COMPLETE; do [ ! -e "$c" ] || return 0; done; return 1; }
endless="$shape --max_steps 1000000 --save_total_limit 2"
# shellcheck disable=SC2086
pretrain() { out=$1; shift; expect "$@" "$program" pretrain $shape -o "$out" $more; }

# ---- signals and time (T6, T7)

# The first INT finishes the step and saves.  The second ends the program at once: what was saved before is what there is.
default=
if env --default-signal=INT true 2> /dev/null; then default='env --default-signal=INT'; fi
# shellcheck disable=SC2086
[ -z "$default" ] || {
    $default "$program" pretrain $endless -o asked 2> log &
    pid=$!
    await grep -qs 'step 3/' log
    kill -s INT $pid
    wait $pid
    code=$?
    [ $code -eq 75 ] || fail "INT gives $code: $(tail -3 log)"
    expect 0 '' "$program" verify asked
}
# Frozen, so that both signals are there before a step can end.
# shellcheck disable=SC2086
"$program" pretrain $endless --save_steps 5 -o twice 2> log &
pid=$!
await saved twice
kill -s STOP $pid
kill -s TERM $pid
kill -s HUP $pid
kill -s CONT $pid
wait $pid
code=$?
case $code in 143 | 129) ;; *) fail "TERM and HUP give $code: $(tail -3 log)" ;; esac
expect 75 'saved' "$program" pretrain --resume twice --stop_after 2
expect 0 '' "$program" verify twice

# Time that is over is a checkpoint, and the run is unfinished: 75.
# shellcheck disable=SC2086
expect 75 'saved checkpoint-[0-9]+; continue with --resume' "$program" pretrain $endless -o short --max_time 0.05
expect 75 'saved' "$program" pretrain --resume short --stop_after 1 --max_time 0

# ---- the folder (T8, T12, T14)

# Taken away while the run goes on: the next save makes it again, and it resumes.
# shellcheck disable=SC2086
"$program" pretrain $endless --save_steps 5 -o moved 2> log &
pid=$!
await saved moved
mv moved away
await saved moved
kill -s TERM $pid
wait $pid
code=$?
[ $code -eq 75 ] || fail "a folder that was taken away: $code: $(tail -3 log)"
expect 0 '' "$program" verify moved
expect 75 'metrics.jsonl is shorter than the checkpoint records' "$program" pretrain --resume moved --stop_after 1

# Its token cache is cut while it is read.
# shellcheck disable=SC2086
"$program" pretrain $endless --save_steps 5 -o cut 2> log &
pid=$!
await saved cut
: > cut/tokens.cache
wait $pid
code=$?
[ $code -eq 4 ] || fail "a cut cache: $code: $(tail -3 log)"
holds log 'cut/tokens.cache: file was truncated while in use'
expect 75 'saved' "$program" pretrain --resume cut --stop_after 1

# Two fine-tunings in one folder: the second gets the process that holds it.
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 200; i++) print "the king sees the " (i % 2 ? "cat" : "dog") "\t" (i % 2 ? "a" : "b") }' > train.tsv
more='--max_steps 2' pretrain pre 0 'saved'
tune="--train train.tsv -m pre --threads 1"
# shellcheck disable=SC2086
"$program" finetune $tune -o held --max_steps 1000000 --logging_steps 1 > held.log 2>&1 &
pid=$!
await grep -qs 'step 2/' held.log
# shellcheck disable=SC2086
expect 75 "held/.lock: used by another run: process $pid " "$program" finetune $tune -o held
expect 75 'held: expected a folder that is not in use' "$program" convert pre held
expect 75 'held: expected a folder that is not in use' "$program" convert pre held --overwrite
expect 75 'held: .*training run' "$program" vocab --text train.tsv -o held --overwrite
[ ! -e held/vocab.txt ] || fail "vocab wrote into a folder that a run holds"
kill -s TERM $pid
wait $pid
[ $? -eq 75 ] || fail "TERM to finetune: $(tail -3 held.log)"

# ---- memory (T13) and sizes of files (T3)

# limited OPTION N COMMAND...   sh's own ulimit; a machine that cannot limit it says so
limited() { sh -c 'ulimit "$1" "$2" || exit 99; shift 2; exec "$@"' limited "$@"; }
if [ "$(limited -v 1000000 "$program" info --env > /dev/null 2>&1; echo $?)" -eq 0 ]; then
    # shellcheck disable=SC2086
    expect 5 'memory: .*[GM]B.*tokens_per_batch [0-9]+' limited -v 1000000 "$program" pretrain $shape -o poor --tokens_per_batch 4000000 --max_steps 1
    awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 4000; i++) { for (k = 0; k < 20; k++) printf "the king sees "; print "\t" i % 2 } }' > long.tsv
    expect 5 'memory: .*per_device_train_batch_size [0-9]+' limited -v 1000000 "$program" finetune --train long.tsv -m pre --threads 1 -o poor --per_device_train_batch_size 65536
    # Cosines of each text with all others count to the batch: a smaller one fits.
    awk 'BEGIN { print "text\tpair"; for (i = 0; i < 20000; i++) print "the king " i "\tking the " i }' > many.tsv
    expect 5 'memory: .* a batch.*per_device_train_batch_size [0-9]+' limited -v 1000000 "$program" finetune --task sim --train many.tsv -m pre --threads 1 -o poor --max_length 16 --per_device_train_batch_size 20000
    expect 5 'per_device_train_batch_size [0-9]+ .*mini_batch_size [0-9]+' limited -v 1000000 "$program" finetune --task embed --train many.tsv -m pre --threads 1 -o poor --max_length 16 --per_device_train_batch_size 20000 --mini_batch_size 64
    sed -i 's/"hidden_size": 64/"hidden_size": 65536/' small.json
    # shellcheck disable=SC2086
    expect 5 'no batch fits' "$program" pretrain $shape -o poor --max_steps 1
    sed -i 's/"hidden_size": 65536/"hidden_size": 64/' small.json
    [ ! -e poor ] || fail "a refused run left $(ls -a poor)"
else
    echo "SKIPPED: memory cannot be limited here"
fi

# Files of at most some kilobytes: no file is half there, no signal ends the program; with space it goes on to the same bytes.
# shellcheck disable=SC2086
expect 0 'step 12/12' "$program" pretrain $shape -o whole --max_steps 12 --save_steps 2
# shellcheck disable=SC2086
expect 75 'saved' "$program" pretrain $shape -o full --max_steps 12 --save_steps 2 --stop_after 4
expect 4 '3 checkpoints in a row could not be saved: .*File too large' limited -f 300 "$program" pretrain --resume full
grep -q 'no checkpoint at step 6: ' err || fail "not told: $(cat err)"
[ "$(ls -a full | grep -c '^\.tmp')" -eq 0 ] || fail "left behind: $(ls -a full)"
expect 0 '' "$program" verify full
expect 0 'step 12/12' "$program" pretrain --resume full
same whole/model.safetensors full/model.safetensors "after a full disk"
# shellcheck disable=SC2086
expect 4 'tokens.cache: .*File too large|tokens.*: cannot write' limited -f 8 "$program" pretrain $shape -o tiny --max_steps 1
# shellcheck disable=SC2086
expect 4 'cannot write' limited -f 8 "$program" prepare --text text.txt --model base -o tiny.cache
[ ! -e tiny.cache ] || fail "half a cache"

# ---- files that do not belong together

sed 's/king/zebra/g; s/dog/otter/g' text.txt > other.txt
"$program" vocab -q --text other.txt --size 50 -o other || exit 1
"$program" prepare -q --text other.txt --model other -o other.cache > /dev/null || exit 1
# shellcheck disable=SC2086
expect 3 'other.cache: created with another tokenizer' "$program" pretrain ${shape#*text.txt } --data other.cache -o mixed --max_steps 1
sed 's/roformer/bloom/' small.json > bloom.json
# shellcheck disable=SC2086
expect 3 'bloom.json: model_type: expected one of .*, got .bloom.' "$program" pretrain $shape --config bloom.json -o mixed --max_steps 1
cp -r pre bloom; cp bloom.json bloom/config.json
expect 3 'bloom/config.json: model_type: expected one of .*, got .bloom.' "$program" finetune --train train.tsv -m bloom -o mixed
expect 4 'base/config.json: cannot open' "$program" finetune --train train.tsv -m base -o mixed
: > empty.tsv
expect 3 'empty.tsv: expected a file with examples, got an empty one' "$program" finetune --train empty.tsv -m pre -o mixed
printf 'text\tlabel\n' > empty.tsv
expect 3 'empty.tsv: expected an example, got none' "$program" finetune --train train.tsv --dev empty.tsv -m pre -o mixed
sed 's/b$/a/' train.tsv > one.tsv
expect 3 'one.tsv: expected at least two labels, got only .a.' "$program" finetune --train one.tsv -m pre -o mixed
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 20; i++) print "the king\t" (i == 7 ? "nan" : i) }' > nan.tsv
expect 3 "nan.tsv:9: the label 'nan' is not a finite number" "$program" finetune --task reg --train nan.tsv -m pre -o mixed
awk '{ print } NR == 8 { print "the king\ta\tb" }' train.tsv > wide.tsv
expect 3 'wide.tsv:9: expected the 2 columns of the header, got 3' "$program" finetune --train wide.tsv -m pre -o mixed
: > empty.txt
# shellcheck disable=SC2086
expect 3 'text: expected documents to train on, got none' "$program" pretrain ${shape#*text.txt } --text empty.txt -o mixed --max_steps 1
awk 'BEGIN { for (i = 0; i < 30; i++) print "\346\235\261\344\272\254\n" }' > foreign.txt
# shellcheck disable=SC2086
expect 3 'foreign.txt: expected text with words of the vocabulary' "$program" pretrain ${shape#*text.txt } --text foreign.txt -o mixed --max_steps 1
printf '%s\n' '{"tokens": ["\u200b"], "labels": ["a"]}' '{"tokens": ["\u200b"], "labels": ["b"]}' > words.jsonl
expect 3 'words.jsonl: expected words with tokens to label' "$program" finetune --task tag --train words.jsonl -m pre -o mixed
[ ! -e mixed ] || fail "a refused run left $(ls -a mixed)"
done_testing
