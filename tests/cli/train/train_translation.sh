#!/bin/sh
# train_translation.sh — a translation model from two files: sub-words, training, resuming, monitoring; rejected input.
. "$(dirname "$0")/../lib"
sentences 400 | grep . > all.en
awk '{ for (i = NF; i > 0; i--) printf "%s%s", $i, (i > 1 ? " " : "\n") }' all.en > all.de
for side in en de; do sed -n '1,200p' all.$side > train.$side; sed -n '201,230p' all.$side > val.$side; done
"$program" vocab -q --type bpe --text train.en train.de --size 120 -o subwords 2> err
if grep -q 'made without it: install it' err; then
    echo "SKIP: a build without SentencePiece"
    done_testing
fi
cat > small.json << EOC
{"model_type": "transformer", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
 "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "dropout": 0.1}
EOC
files="--source train.en --target train.de"
run="--config small.json --validation_source val.en --validation_target val.de --max_tokens 512 --max_length 64"
run="$run --max_steps 30 --warmup_steps 5 --learning_rate 5e-3 --eval_steps 15 --save_steps 10 --vocab_size 120 --eval_bleu --eval_num_beams 2"

# One command, sub-words included; killed and resumed to the same bytes.
# shellcheck disable=SC2086
expect 0 'step 30/30' "$program" train-translation $run $files -o whole
grep -q '120 subwords learned from both sides' err out || fail "$(cat out err)"
grep -q 'step 15: held-out loss .*, BLEU [0-9]' err out || fail "$(cat out err)"
# shellcheck disable=SC2086
expect 75 'continue with --resume' "$program" train-translation $run $files -o parts --stop_after 11
expect 0 'step 30/30' "$program" train-translation --resume latest -o parts
same whole/model.safetensors parts/model.safetensors "resumed"
same whole/spiece.model parts/spiece.model "sub-words learned twice"
holds whole/config.json '"is_encoder_decoder": true'
holds whole/README.md 'A translation model: a Transformer of'
holds whole/README.md '| source texts | train.en |'
expect 0 '' "$program" verify whole whole/checkpoint-30
expect 0 '' "$program" info -m whole
holds out 'decoder_layers'
holds out 'TransformerForConditionalGeneration'
expect 0 '' "$program" watch --once whole
holds out 'step 30 of 30'
holds out 'held-out loss'
holds out 'BLEU'
expect 0 'loss.svg drawn' "$program" plot whole -o loss.svg
expect 0 'report.html written' "$program" report whole -o report.html
holds report.html '1 + 1 layers, width 32'
holds report.html 'held-out perplexity'
holds report.html 'held-out bleu'
holds report.html '<figcaption>BLEU'
sed -n 's/.*"eval_bleu": *\([0-9.]*\).*/\1/p' whole/metrics.jsonl | tail -n 1 > logged
"$program" translate -q -m whole --beam 2 -n 64 < val.en > val.out
expect 0 '' "$program" bleu val.de -i val.out --json
awk -v a="$(cat logged)" -v b="$(sed -n 's/.*"score": *\([0-9.]*\).*/\1/p' out | head -n 1)" 'BEGIN { exit !(a != "" && (a - b) ^ 2 < 0.01) }' ||
    fail "logged $(cat logged), scored: $(cat out)"
expect 0 '' "$program" evaluate -m whole --source val.en --target val.de
holds out 'tokens of 30 targets, each from its source'
expect 0 '' "$program" evaluate -m whole --source val.en --target val.de --json
holds out '"pairs": 30'

# Compressed, several files a side; sub-words of a folder; on from weights.
gzip -k train.en train.de
# shellcheck disable=SC2086
expect 0 'step 2/2' "$program" train-translation $run --model subwords --source train.en.gz val.en --target train.de.gz val.de -o many --max_steps 2
# shellcheck disable=SC2086
printf '{"num_beams": 2, "max_new_tokens": 33}' > whole/generation_config.json
expect 0 'starting from the weights' "$program" train-translation --model whole --source train.en --target train.de -o more --max_steps 2 --max_tokens 512
same whole/generation_config.json more/generation_config.json "how it translates is lost"
rm whole/generation_config.json

# What is left out is counted and listed.
{ cat train.en; printf 'a\n\n'; } > odd.en
{ cat train.de; printf '\nb\n'; } > odd.de
# shellcheck disable=SC2086
expect 0 '2 of 202 .*2 .*empty' "$program" train-translation $run --model subwords --source odd.en --target odd.de -o odd --max_steps 2
[ "$(tail -n 2 odd/dropped.tsv | cut -f 2,3 | tr '\n' ' ')" = '201	empty 202	empty ' ] || fail "$(cat odd/dropped.tsv)"

# Refused, and why.
# shellcheck disable=SC2086
expect 3 '202 in odd.en and 200 in' "$program" train-translation $run --model subwords --source odd.en --target train.de -o x
expect 2 'expected --source FILE... and --target FILE...' "$program" train-translation --source train.en -o x
expect 2 'source, target: .*2 and 1' "$program" train-translation --model subwords --source train.en val.en --target train.de -o x
expect 2 'train-translation: expected -o DIR' "$program" train-translation --source train.en --target train.de
expect 2 '--update-freq .*--gradient_accumulation_steps' "$program" train-translation --update-freq 4
expect 2 '--dim-vocabs .*--vocab_size' "$program" train-translation --dim-vocabs 4
expect 2 '--fp16 is not an option' "$program" train-translation --fp16
expect 2 'recipe: ' "$program" train-translation --recipe iwslt -o x
expect 2 'expected one of them, got ' "$program" evaluate -m whole --source val.en --target val.de --text val.en
expect 2 'expected the same number of files, got 1 and 0' "$program" evaluate -m whole --source val.en
expect 2 'has no effect with --source' "$program" evaluate -m whole --source val.en --target val.de --mlm_probability 0.2
[ ! -e x ] || fail "a folder was made although it was refused: $(ls x)"

# As many sub-words, but other ones than the weights know; a checkpoint's, too.  A list of other weights says nothing, and neither do settings.
"$program" vocab -q --type bpe --text val.de train.de --size 120 -o others
for folder in whole whole/checkpoint-30; do
    rm -rf swapped
    mkdir swapped
    cp $folder/* swapped 2> err
    "$program" translate -m swapped 'the old river' > out 2> err || fail "as it was: $(cat err)"
    cp others/spiece.model swapped
    expect 3 'swapped/spiece.model: .*model.safetensors' "$program" translate -m swapped 'the old river'
    expect 3 'swapped/spiece.model: expected the file' "$program" evaluate -m swapped --source train.en --target train.de
    expect 3 'swapped/spiece.model: expected the file' "$program" train-translation --model swapped --source train.en --target train.de -o x --max_steps 2
done
rm -f swapped/checksums.json swapped/COMPLETE
"$program" translate -m swapped 'the old river' > out 2> err || fail "without a list: $(cat err)"

# A weight that is no number, or one that makes numbers that are none.
size=$(wc -c < whole/model.safetensors)
for bytes in '\000\000\300\177' '\000\000\200\377'; do
    cp whole/model.safetensors swapped
    # shellcheck disable=SC2059
    printf "$bytes" | dd of=swapped/model.safetensors bs=1 seek=$((size - 4)) conv=notrunc 2> /dev/null
    expect 6 'element [0-9]+ of [0-9]+|NaN or infinity' "$program" translate -m swapped 'the old river'
done
done_testing
