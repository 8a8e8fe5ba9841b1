#!/bin/sh
# other_build.sh BUILD OTHER — a run that one build starts and the other resumes, in both orders, ends with the bits of
# an uninterrupted run: compiler, optimization and sanitizers make no difference.  BUILD and OTHER are folders with a
# roformer, such as build/release and build/debug.  ISA selects the rung for both (default: the best), for a build that
# cannot run it.  With --onward BUILD is an earlier version, which need not read the files of OTHER: only OTHER resumes
# the other's runs.
set -eu
back=1
[ "${1:-}" != --onward ] || { back=; shift; }
[ $# -eq 2 ] || { echo "usage: other_build.sh [--onward] BUILD OTHER" >&2; exit 2; }
one=$(cd "$1" && pwd)/roformer other=$(cd "$2" && pwd)/roformer
isa=${ISA:+--isa $ISA}
work=$(mktemp -d "${TMPDIR:-/tmp}/other-build-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"

awk 'BEGIN { srand(5); split("river city house king dog cat tree road", noun, " ");
    for (i = 0; i < 200; i++) { for (k = 0; k < 3; k++) printf "the %s sees the %s. ", noun[1 + int(rand() * 8)], noun[1 + int(rand() * 8)]; print "\n" } }' > text.txt
"$one" vocab -q --text text.txt --size 60 -o base
"$other" vocab -q --text text.txt --size 60 -o again
cmp base/vocab.txt again/vocab.txt
cat > small.json << EOC
{"model_type": "roformer", "vocab_size": $(wc -l < base/vocab.txt), "embedding_size": 32, "hidden_size": 32, "num_hidden_layers": 2,
 "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64}
EOC
hash() { sha256sum "$1/model.safetensors" | cut -c1-16; }
run() {      # run PROGRAM OPTIONS...
    program=$1
    shift
    # shellcheck disable=SC2086
    "$program" pretrain -q $isa "$@"
}
part() {     # a run that is stopped: 75
    code=0
    run "$@" || code=$?
    [ $code -eq 75 ] || { echo "exit code $code, expected 75"; exit 1; }
}
for type in '' --bf16; do
    shape="--text text.txt --model base --config small.json --tokens_per_batch 256 --max_length 32 --max_steps 8 --save_steps 4 --eval_steps 4 $type"
    runs="one other one-other"
    rm -rf one other one-other other-one
    # shellcheck disable=SC2086
    {
        run "$one" $shape -o one
        run "$other" $shape -o other
        part "$one" $shape -o one-other --stop_after 3
        run "$other" --resume one-other
        if [ "$back" ]; then
            runs="$runs other-one"
            part "$other" $shape -o other-one --stop_after 3
            run "$one" --resume other-one
        fi
    }
    for name in $runs; do echo "$(hash "$name") $name $type"; done
    [ "$(for name in $runs; do hash "$name"; done | sort -u | wc -l)" -eq 1 ] || { echo "the bits differ"; exit 1; }
done
