#!/bin/sh
# serve_faults.sh — what clients and machines do to roformer serve: slow, large, broken and hostile requests, clients
# that leave, signals, full disks (serve_faults.py).
. "$(dirname "$0")/lib"
"$program" serve --port 0 -m nowhere 2> err
if grep -q 'a build without\|got one without' err; then echo "SKIPPED: a program without libmicrohttpd"; exit 0; fi
python=$(command -v python3) || { echo "SKIPPED: no python3"; exit 0; }

golden=$here/../golden
"$make_model" model && "$make_model" other 9 || exit 1
cp -r "$golden/gpt" causal
cp -r "$golden/mpnet/whole/pairs" pairs
cp -r "$golden/mpnet/sequence" labels
for model in pairs labels; do cp "$golden/mpnet/whole/tokenizer.json" "$golden/mpnet/whole/tokenizer_config.json" $model; done
cp -r "$golden/marian/trained" translate
{
    printf '%s\n' '</s>' x1 x2 one two three four five six seven eight nine ten eleven twelve
    i=15
    while [ $i -lt 35 ]; do echo "y$i"; i=$((i + 1)); done
    printf '%s\n' '[UNK]' '[CLS]' '[SEP]' '[MASK]' '[PAD]' '<pad>'
} > translate/vocab.txt
chmod -R u+w causal pairs labels translate

# Models whose requests take long enough to be in the way of others.
sentences 40 > text.txt
"$program" index -q -m other -o other-index text.txt 2> err || { cat err; exit 1; }
for objective in mlm clm; do
    case $objective in mlm) positions=512 ;; *) positions=8192 ;; esac
    small_json model/vocab.txt 4 256 "\"max_position_embeddings\": $positions"
    mkdir $objective && cp model/vocab.txt $objective
    "$program" pretrain -q --text text.txt --model $objective --config small.json --objective $objective \
        --tokens_per_batch 64 --max_length 64 --eval_documents 5 --max_steps 1 2> err || { cat err; exit 1; }
    rm -rf $objective/checkpoint-*
done
mv mlm slow && mv clm slow-causal

! grep -q __asan_init "$program" || export SANITIZED=1
shift
PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 "$python" "$here/serve_faults.py" "$program" "$@" || fail "serve_faults.py"
done_testing
