#!/bin/sh
# names.sh — how -m names a model: a path with ~, a name in the cache of Hugging Face's libraries, a file by mistake; an
# index opens the model that built it.
. "$(dirname "$0")/../lib"
"$make_model" good || exit 1
unset HF_HOME HF_HUB_CACHE HUGGINGFACE_HUB_CACHE XDG_CACHE_HOME
HOME=$PWD
export HOME
mkdir -p .cache/huggingface/hub other/hub
for cache in .cache/huggingface/hub other/hub; do
    mkdir -p $cache/models--maker--small/refs $cache/models--maker--small/snapshots
    printf 'c0ffee\n' > $cache/models--maker--small/refs/main
    cp -r good $cache/models--maker--small/snapshots/c0ffee
done
mv .cache/huggingface/hub/models--maker--small .cache/huggingface/hub/models--sentence-transformers--small

expect 0 '' "$program" info -m '~/good'
expect 0 '' "$program" info --model='~/good'
found() { expect 0 '' "$@"; holds out c0ffee; }
found "$program" info -m small
found "$program" info -m sentence-transformers/small
found env HF_HOME="$PWD/other" "$program" info -m maker/small
found env HF_HUB_CACHE="$PWD/other/hub" "$program" info -m maker/small
expect 4 'maker/small: expected a model folder or a model in .*huggingface/hub, got neither.*hf download maker/small' \
    "$program" info -m maker/small
expect 4 'expected a model folder, got a file; give its folder, good' "$program" info -m good/config.json
expect 4 'a/b/c.*cannot open' "$program" info -m a/b/c

# Where a folder is an argument, and in training, too.
expect 4 'maker/small: expected a model folder or a model in .*hf download maker/small' "$program" convert maker/small copied
expect 0 'copied: written' env HF_HOME="$PWD/other" "$program" convert maker/small copied
expect 0 'home/copied: written' "$program" convert sentence-transformers/small '~/home/copied'
expect 0 '' "$program" verify '~/home/copied'
holds out ' files in 1 folder'
expect 0 '' env HF_HOME="$PWD/other" "$program" verify maker/small
expect 4 'maker/small: expected a model folder or a model in .*hf download maker/small' "$program" verify maker/small
printf 'a b c\n\nb c a\n\nc a b\n' > text.txt
expect 75 'saved' "$program" pretrain --text text.txt -m '~/good' -o trained --max_steps 2 --stop_after 1 --validation_split 0 --tokens_per_batch 64 --max_length 16

printf 'a b\nb c\n' > lines.txt
expect 0 '' "$program" index -q -m good --pooling mean -o lines.index lines.txt
expect 0 '' "$program" search lines.index 'a b'
expect 0 '' "$program" search '~/lines.index' 'a b'
mv good gone
expect 3 'model: expected the one that built the index, good' "$program" search lines.index 'a b'
expect 0 '' "$program" search -m gone lines.index 'a b'
done_testing
