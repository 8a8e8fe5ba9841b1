#!/bin/sh
# opens.sh PROGRAM [REPOSITORY] — how often a command opens the files of a model folder, counted by strace.
#
# Each row is a command with a folder of this tree: the opens of each file of the folder, and the calls with a path in
# it (paths) and all calls with a path (all). It fails if a file is opened more than once.
# Skips (77) where strace is missing or may not trace.
set -eu
program=$(realpath "$1")
root=${2:-$(dirname "$0")/../..}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v strace > "$work/found" || { echo "skipped: strace is not installed"; exit 77; }
strace -o "$work/try" true 2> "$work/try.err" || { echo "skipped: strace may not trace here"; exit 77; }

failed=0
# count NAME FOLDER ARGUMENT...: runs the program in a copy of the folder, whose path is then short and its own
count()
{
    name=$1
    rm -rf "$work/model"
    cp -RL "$2" "$work/model"
    shift 2
    (cd "$work" && strace -f -o trace -e trace=%file "$program" "$@" < /dev/null > out 2> err) ||
        { echo "opens: $name: $(tail -n 3 "$work/err")"; exit 1; }
    grep -v 'execve(\|+++\|---\|([0-9]*, ""' "$work/trace" > "$work/calls"
    sed -n 's/^[0-9]* *open\(at\)\{0,1\}(\([^"]*\)"\([^"]*\)".* = [0-9]*$/\3/p' "$work/calls" |
        sed 's,^model/,,' > "$work/opened"
    (cd "$work/model" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) > "$work/files"
    line=
    while read -r file; do
        times=$(grep -cxF "$file" "$work/opened" || true)
        [ "$times" = 0 ] || line="$line $file:$times"
        [ "$times" -le 1 ] || failed=1
    done < "$work/files"
    paths=$(grep -c '"model[/"]\|^[0-9]* *[a-z]*at[0-9a-z]*([0-9]' "$work/calls" || true)
    printf '%-11s paths %3d, all %3d; opens:%s\n' "$name" "$paths" "$(wc -l < "$work/calls")" "$line"
}

# A translation model, trained for one step.
printf '%s\n' '{"model_type": "transformer", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,' \
    '"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}' \
    > "$work/tiny.json"
seq 1 60 | sed 's/.*/day & is a good day, and night & is a good night/' > "$work/text"
(cd "$work" && "$program" train-translation --source text --target text -c tiny.json --vocab_size 60 --max_steps 1 \
    -o translator > out 2>&1) || { echo "opens: train-translation: $(tail -n 3 "$work/out")"; exit 1; }
echo '{"text": "a day", "label": "LABEL_0"}' > "$work/examples.jsonl"
# A causal model with settings of generation.
cp -RL "$root/tests/golden/gpt" "$work/causal"
echo '{"max_new_tokens": 2}' > "$work/causal/generation_config.json"

small=$root/models/roformer-small-en
count fill-mask "$small" fill-mask -m model 'a [MASK] day'
count embed "$root/models/roformer-small-en-sentences" embed -m model text
count generate "$work/causal" generate -m model 'a day'
count translate "$work/translator" translate -m model text
count tokenize "$small" tokenize -m model 'a day'
count info "$small" info model
count classify "$root/tests/golden/classify/models/three" classify -m model 'a day'
count predict "$root/tests/golden/classify/models/three" predict -m model --input examples.jsonl
count similarity "$root/models/roformer-small-en-sentences" similarity -m model text text
count score "$small" score -m model 'a day'
[ $failed = 0 ] || { echo "opens: expected each file to be opened once at most"; exit 1; }
