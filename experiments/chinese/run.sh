#!/bin/sh
# run.sh WORK [OPTIONS of experiment] — Chinese: words against characters, kinds of positions, length (paper, section 4.5, Tables 3 to 5).  Texts and triples
# are made below WORK first; then words.json and characters.json are trained, every model guesses the same hidden words, and
# match.json and match-characters.json fine-tune on triples.  --data DIR as in experiments/README.md.  The same command again goes on.
#
#   tables and pictures: results/chinese/
#   TRIPLES  (environment) 2000 triples to train on, of those that there are
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n '2,7s/^# *//p' experiments/chinese/run.sh >&2; exit 2; }
work=$1
shift
data=../shared/data
build=${BUILD:-build/release}
for word; do
    shift
    case ${before:-} in --data) data=$word ;; *) [ "$word" = --data ] || set -- "$@" "$word" ;; esac
    before=$word
done
here=experiments/chinese results=results/chinese programs=$build/experiments
mkdir -p "$work/text/triples/all"

hold_out() {     # hold_out FILE.gz N NAME: NAME.txt without the N documents of held-NAME.txt
    [ -f "$work/text/$3.txt" ] && return
    gzip -dc "$1" | "$programs/hold_out" -n "$2" -o "$work/text/held-$3.txt" > "$work/text/$3.part"
    mv "$work/text/$3.part" "$work/text/$3.txt"
}

hold_out "$data/zhwiki/zhwiki_AA_00-59.txt.gz" 600 wiki
hold_out "$data/niutrans-modern/modern_12books.txt.gz" 40 books
if [ ! -f "$work/text/triples/train.json" ]; then
    "$programs/triples" --each 2 --test 0.5 -o "$work/text/triples/all" "$work/text/wiki.txt" "$work/text/books.txt" > "$work/text/triples/guess.txt"
    mv "$work/text/triples/all/dev.json" "$work/text/triples/all/test.json" "$work/text/triples/"
    head -n "${TRIPLES:-2000}" "$work/text/triples/all/train.json" > "$work/text/triples/train.json"
fi

experiment() {   # experiment FOLDER FILE [OPTIONS]: words and characters have a vocabulary, and so a folder, each
    folder=$work/$1 name=$2
    shift 2
    mkdir -p "$folder" "$results/$name"
    "$programs/experiment" "$here/$name.json" "$folder" --data "$work/text" --program "$build/roformer" --results "$results/$name" "$@"
}

experiment words words "$@"
experiment characters characters "$@"
"$programs/characters" -d "$build/dictionary/jieba.words" -n "${LINES_ASKED:-1500}" "$work/words/roformer-1" "$work/words/wobert-1" "$work/words/nezha-1" "$work/characters/bert_characters-1" \
    "$work/characters/roformer_characters-1" -- \
    "$work/text/wiki.txt" "$work/text/books.txt" -- "$work/text/held-wiki.txt" "$work/text/held-books.txt" > "$results/by-character.txt"
experiment words match "$@"
experiment characters match-characters "$@"

# The models that were fine-tuned, on triples of another kind that none of them has seen
scm=$work/text/scm.jsonl
[ -f "$scm" ] || python3 "$here/scm.py" "$data/cail2019-scm/input.txt.gz" > "$scm"
for model in "$work"/words/*_[0-9]*-[0-9] "$work"/characters/*_[0-9]*-[0-9]; do
    [ -f "$model/model.safetensors" ] || continue
    name=$(basename "$model") length=${model##*_}
    echo "$name $("$build/roformer" evaluate -q -m "$model" --dev "$scm" --json --max_length "${length%-*}" --dtype bf16)"
done > "$results/scm.txt"
