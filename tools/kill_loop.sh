#!/bin/sh
# kill_loop.sh [SECONDS [BUILD [WHAT...]]] — kill -9 in a loop: `pretrain`, `finetune`, returning to an earlier checkpoint
# (going_back), two runs that use the same folder (one_folder), `index` and `convert`; each for SECONDS (600).
#
#     run -> killed at a random moment -> the same command, resumed -> ... -> done: same bytes as an undisturbed run?
#     and again from the beginning, until the time is over
#
# Each run trains a tiny model on one or two threads, chosen at random for each piece.  A piece lasts up to 1.2 s, and
# longer while no new checkpoint appears (on a busy machine).  The script prints counts.  It exits with 1 if bytes
# differ or if a piece fails for a reason other than the kill.  A killed `index` or `convert` leaves nothing that opens as
# whole, and once it has run to its end, nothing but its files.  ROFORMER_SEED selects the moments.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
build=${2:-build/release}
[ $# -le 2 ] && set -- || shift 2
[ $# -gt 0 ] || set -- pretrain finetune going_back one_folder index convert
program=$PWD/$build/roformer
[ -x "$program" ] || { echo "kill_loop.sh: no $program"; exit 2; }
work=$(mktemp -d "${TMPDIR:-/tmp}/kill-loop-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"

awk 'BEGIN { srand(3); split("good great fine happy lovely", p); split("bad awful sad poor ugly", n); split("film book day cat town", w); print "text\tlabel";
    for (i = 0; i < 1200; i++) { y = int(rand() * 2); print i " the " w[1 + int(rand() * 5)] " is " (y ? p[1 + int(rand() * 5)] : n[1 + int(rand() * 5)]) " .\t" (y ? "pos" : "neg") } }' > train.tsv
head -201 train.tsv > dev.tsv
cut -f1 train.tsv | sed '1d; G' > text.txt
"$program" vocab -q --text text.txt --size 80 -o base
cat > base/config.json << EOC
{"model_type": "roformer", "vocab_size": $(wc -l < base/vocab.txt), "embedding_size": 48, "hidden_size": 48, "num_hidden_layers": 3,
 "num_attention_heads": 4, "intermediate_size": 96, "max_position_embeddings": 64, "hidden_dropout_prob": 0.1}
EOC
"$program" pretrain -q --text text.txt --model base --config base/config.json -o pre --max_steps 2 --tokens_per_batch 256 --max_length 64 --eval_steps 0

pretrain() {
    "$@" pretrain -q --text text.txt --model base --config base/config.json -o "$out" --max_steps 1500 --tokens_per_batch 512 --max_length 64 \
        --eval_steps 20 --save_steps 20 --save_total_limit 2 --load_best_model_at_end --threads "$threads" $resume
}
finetune() {
    "$@" finetune -q --train train.tsv --dev dev.tsv -m pre -o "$out" --num_train_epochs 20 --per_device_train_batch_size 16 --max_length 32 \
        --learning_rate 1e-3 --eval_strategy steps --eval_steps 20 --save_strategy steps --save_steps 20 --save_total_limit 2 \
        --load_best_model_at_end --threads "$threads" $resume > /dev/null
}
hash() { sha256sum "$1/model.safetensors" | cut -c1-16; }
number=${ROFORMER_SEED:-1}
draw() { number=$((number + 1)); awk -v seed="$number" -v from="$1" -v to="$2" 'BEGIN { srand(seed); rand(); printf "%.3f\n", from + (to - from) * rand() }'; }
intact() { ls "$out"/checkpoint-*/COMPLETE > /dev/null 2>&1; }

loop() {     # loop WHAT
    what=$1 out=whole-$1 threads=1 resume=
    "$what" "$program"
    expected=$(hash "$out")
    begun=$(date +%s) runs=0 kills=0 saves=0
    while [ $(($(date +%s) - begun)) -lt "$seconds" ]; do
        out=parts-$what
        rm -rf "$out"
        stuck=0 newest=
        while :; do
            resume= threads=$(awk -v x="$(draw 1 3)" 'BEGIN { print int(x) }')
            if intact; then resume='--resume latest'; fi
            code=0
            "$what" timeout --foreground -s KILL "$(draw 0.02 $((1 + stuck)).2)" "$program" 2> err || code=$?
            [ "$code" -ne 0 ] || break
            [ "$code" -eq 137 ] || { echo "$what: exit code $code after $kills kills: $(cat err)"; exit 1; }
            kills=$((kills + 1))
            now=$(ls "$out" 2> /dev/null || true)
            if [ "$now" = "$newest" ]; then stuck=$((stuck + 1)); else stuck=0; fi
            newest=$now
            if find "$out" -maxdepth 1 -name '*.tmp-*' | grep -q .; then saves=$((saves + 1)); fi
        done
        runs=$((runs + 1))
        got=$(hash "$out")
        [ "$got" = "$expected" ] || { echo "$what: run $runs, killed on the way, ended with $got, not $expected"; exit 1; }
        "$program" verify -q "$out" > /dev/null
    done
    echo "$what: $runs runs, $kills kills ($saves in the middle of a save), in $(($(date +%s) - begun)) s; every run ended with $expected, the hash of the uninterrupted one"
}

# What happened to a folder that two runs expected, or that was gone back in.
step() {     # step CODES COMMAND...   one piece; its exit code is one of CODES
    codes=$1
    shift
    code=0
    "$@" 2> err || code=$?
    case " $codes " in *" $code "*) ;; *) echo "$what: exit code $code after $kills kills: $(cat err)"; exit 1 ;; esac
    [ "$code" -ne 137 ] || kills=$((kills + 1))
}
short() {
    "$@" pretrain -q --text text.txt --model base --config base/config.json -o "$out" --max_steps 300 \
        --tokens_per_batch 512 --max_length 64 --eval_steps 0 --save_steps 20 --save_total_limit 0 --threads 1 $resume
}
killed() { short timeout --foreground -s KILL "$(draw 0.02 "$1")" "$program"; }
end_of() {   # end_of WANT NOTE   the run that has ended
    runs=$((runs + 1))
    got=$(hash "$out")
    [ "$got" = "$1" ] || { echo "$what: run $runs ended with $got, not $1"; exit 1; }
    "$program" verify -q "$out" > /dev/null
}

# From step 100 of 300 once more, at another rate: killed, then resumed from the latest as soon as the new future has a
# checkpoint.
going_back() {
    what="going back" out=first resume=
    short "$program"
    old=$(hash first/checkpoint-300) back="--learning_rate 2e-3"
    cp -r first back && out=back resume="--resume back/checkpoint-100 $back"
    short "$program"
    expected=$(hash back) begun=$(date +%s) runs=0 kills=0
    while [ $(($(date +%s) - begun)) -lt "$seconds" ]; do
        out=parts-back code=1 limit=1.2
        rm -rf "$out" && cp -r first "$out"
        while [ "$code" -ne 0 ]; do
            resume="--resume $out/checkpoint-100 $back"
            if [ -d "$out/abandoned-checkpoint-300" ] && [ -d "$out/checkpoint-120" ]; then resume='--resume latest'; fi
            step '0 137' killed "$limit"
            limit=$(awk -v x="$limit" 'BEGIN { print x + 0.3 }')
        done
        end_of "$expected"
        [ "$(hash "$out/abandoned-checkpoint-300")" = "$old" ] || { echo "$what: the old future is not whole"; exit 1; }
    done
    echo "$what: $runs runs, $kills kills, in $(($(date +%s) - begun)) s; every run ended with $expected, the old is whole"
}

contents() { find "$out" -type f ! -name .lock -exec sha256sum {} + | sort | sha256sum; }

# Two runs begin in one folder at once: one has it, the other is refused, whichever is killed; then others are refused.
one_folder() {
    what="two runs, one folder" out=alone resume=
    short "$program"
    expected=$(hash alone) begun=$(date +%s) runs=0 kills=0 refused=0
    while [ $(($(date +%s) - begun)) -lt "$seconds" ]; do
        out=parts-folder limit=1.2
        rm -rf "$out"
        while [ ! -s "$out/checksums.json" ]; do
            resume=
            if intact; then resume='--resume latest'; fi
            (number=$((number + 7)); code=0; killed "$limit" 2> other.err || code=$?; echo "$code" > other) &
            step '0 2 75 137' killed "$limit"
            wait
            case $(cat other) in
                0 | 137) ;;
                2 | 75) refused=$((refused + 1)) ;;
                *) echo "$what: exit code $(cat other): $(cat other.err)"; exit 1 ;;
            esac
            [ "$code" -ne 75 ] && [ "$code" -ne 2 ] || refused=$((refused + 1))
            limit=$(awk -v x="$limit" 'BEGIN { print x + 0.3 }')
        done
        end_of "$expected"
        before=$(contents)
        resume='--seed 99'
        step 2 short "$program"
        resume="--resume first/checkpoint-100"
        step 2 short "$program"
        [ "$before" = "$(contents)" ] || { echo "$what: a refused run changed $out"; exit 1; }
    done
    echo "$what: $runs runs, $kills kills, $refused refused, in $(($(date +%s) - begun)) s; every run ended with $expected"
}

index() { "$@" index -q -m pre --pooling mean -o "$out" lines.txt; }
convert() { "$@" convert -q pre "$out" --dtype int8 --overwrite > /dev/null; }
all_of() { (cd "$1" && find . -type f ! -name .lock -exec sha256sum {} + | LC_ALL=C sort -k 2); }
whole() {    # whether the folder says that it is
    case $what in index) [ -e "$out" ] ;; *) [ -e "$out/checksums.json" ] ;; esac
}
files() {    # files WHAT   killed before its end, then run to its end
    what=$1 out=whole-$1
    awk '{ for (i = 0; i < 3; i++) print $0, i }' text.txt | grep . > lines.txt
    started=$(date +%s.%N)
    "$what" "$program"
    needs=$(date +%s.%N | awk -v from="$started" '{ print $1 - from }')
    all_of "$out" > expected
    begun=$(date +%s) runs=0 kills=0 left=0
    while [ $(($(date +%s) - begun)) -lt "$seconds" ]; do
        out=$PWD/parts/$what code=137 limit=$needs
        rm -rf parts && mkdir parts
        while [ "$code" -ne 0 ]; do
            ! whole || { all_of "$out" | cmp -s - expected || { echo "$what: $kills kills: not whole: $(ls "$out")"; exit 1; }; break; }
            step '0 124 137' "$what" timeout --foreground -s KILL "$(draw 0.001 "$limit")" "$program"
            ! find parts -name '*.tmp-*' | grep -q . || left=$((left + 1))
            limit=$(awk -v x="$limit" 'BEGIN { print 1.2 * x }')
        done
        all_of "$out" | cmp -s - expected || { echo "$what: run $runs ended with $(ls "$out"), not $(ls "whole-$what")"; exit 1; }
        [ "$(ls parts)" = "$what" ] || { echo "$what: run $runs leaves $(ls parts)"; exit 1; }
        runs=$((runs + 1))
    done
    echo "$what: $runs runs, $kills kills ($left left something temporary), in $(($(date +%s) - begun)) s; every run ended with the files of the uninterrupted one"
}
for name; do
    case $name in
        pretrain | finetune) loop "$name" ;;
        index | convert) files "$name" ;;
        *) "$name" ;;
    esac
done
