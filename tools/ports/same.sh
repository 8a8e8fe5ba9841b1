#!/bin/sh
# same.sh PROGRAM OTHER — OTHER, roformer for another system, gives the same bytes as PROGRAM: standard output and files,
# for each kind of command that reads and writes: names that are not ASCII, training and resuming, an index, conversion,
# generation.  Exit codes are equal, too.  Numbers are compared on one rung, avx2, that both have.
set -eu
[ $# = 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$1")" && pwd)/${1##*/}
other=$(cd "$(dirname "$2")" && pwd)/${2##*/}
models=$(cd "$(dirname "$0")/../../models" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-same-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir here other
ROFORMER_ISA=avx2
export ROFORMER_ISA
bad=0
n=0

# same NAME ARGUMENT...   with the file `in` as standard input
same() {
    name=$1 n=$((n + 1))
    shift
    for side in here other; do
        eval "program=\$$side"
        code=0
        (cd "$side" && "$program" "$@" < ../in > "../$side.out" 2> "../$side.err") || code=$?
        echo "exit $code" >> "$side.out"
    done
    cmp -s here.out other.out || { echo "same: $name differs: roformer $*"; diff here.out other.out | head -6; tail -3 other.err; bad=1; }
}
# files NAME...   written by the last command
files() {
    for name; do
        cmp "here/$name" "other/$name" || { echo "same: $name differs"; bad=1; }
    done
}

printf 'A dog runs in the park.\nThe river flows into the sea.\n\nÜber den Flüssen \360\237\216\211 東京\r\nShe won the gold medal.\n' > in
same tokenize tokenize -m "$models/roformer-small-en" --json
same embed embed -m "$models/roformer-small-en-sentences" --format jsonl
for side in here other; do mkdir "$side/Ü 文"; done
same npy embed -m "$models/roformer-small-en-sentences" -o "Ü 文/vectors.npy"
files "Ü 文/vectors.npy"
same fill fill-mask -m "$models/roformer-small-en" --json "the capital of france is [MASK] ."
same score score -m "$models/roformer-small-en" --json
same index index -m "$models/roformer-small-en-sentences" -q -o "Ü 文/index"
files "Ü 文/index/codes.npy" "Ü 文/index/lines.txt"
same search search "Ü 文/index" --json "a puppy outside"
same convert convert "$models/roformer-small-en-sentences" eight --dtype int8 -q
files eight/model.safetensors eight/config.json
same int8 embed -m eight --format jsonl
same missing embed -m "not there" --format jsonl
same usage embed --no-such-option

for i in 1 2 3 4 5 6 7 8; do sed "s/\$/ $i/" in; done > text
for side in here other; do cp text "$side/text.txt"; done
: > in
for side in here other; do
    sed 's/"hidden_size": [0-9]*/"hidden_size": 32/; s/"embedding_size": [0-9]*/"embedding_size": 32/
         s/"num_hidden_layers": [0-9]*/"num_hidden_layers": 2/; s/"num_attention_heads": [0-9]*/"num_attention_heads": 2/
         s/"intermediate_size": [0-9]*/"intermediate_size": 64/' "$models/roformer-small-en/config.json" > "$side/config.json"
done
train="pretrain -m $models/roformer-small-en -c config.json --text text.txt -o run --max_seq_length 32 --save_steps 4
    --tokens_per_batch 64 --seed 1 -q"
# shellcheck disable=SC2086
same train $train --max_steps 12 --stop_after 8
files run/checkpoint-8/model.safetensors
same resume pretrain -o run --resume latest -q
files run/model.safetensors run/config.json
[ $bad = 0 ] && echo "same: $n commands, the same bytes"
exit $bad
