#!/bin/sh
# bench.sh — every benchmark runs and prints a report; the numbers are not tested, nor (-q) the note about shares of the
# peak above 100 %.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
expect 0 '' "$program" bench -q forward train attention rope gemm kernels -c model/config.json --shape 2x16 --seconds 0.01
for what in encoder step attention pairs halves product softmax adamw; do holds out "$what"; done
expect 0 '' "$program" bench -q tokenize -m model --seconds 0.01
holds out tokenize
# --text is read as all commands read: the same bytes, whether compressed or from standard input.
yes 'the old city of paris' | head -5000 > plain.txt
gzip -k plain.txt
for text in plain.txt plain.txt.gz -; do
    input=plain.txt.gz expect 0 '' "$program" bench -q tokenize -m model --text $text --seconds 0.01
    holds out '0.1 MB'
done
echo cut > cut.gz && head -c 40 plain.txt.gz > cut.gz
expect 3 'cut.gz' "$program" bench tokenize -m model --text cut.gz --seconds 0.01
expect 0 '' "$program" bench -q forward -m model --shape 4x5-20 --seconds 0.01 --json
for key in share_of_fma_peak tokens_per_second ms p95_ms threads rung; do holds out "\"$key\""; done
printf '5 9 12\n\n7\n3 3\r\n' > lengths
expect 0 '' "$program" bench -q forward train attention -m model --shape @lengths --seconds 0.01
[ "$(grep -c ' lengths\| @lengths' out)" -eq 3 ] || fail "rows of @FILE: $(cat out)"
printf '5 9\n7 x\n' > bad
expect 3 'bad:2: expected lengths of 2 to' "$program" bench forward -m model --shape @bad
: > none
expect 3 'none: expected at least one length, got none' "$program" bench forward -m model --shape @none
expect 2 'expected TEXTSxTOKENS .*, got "8by128"' "$program" bench forward -m model --shape 8by128
mkdir pairs
echo '{"model_type": "marian", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 40, "pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 0}' > pairs/config.json
expect 3 'expected an encoder, got an encoder-decoder model' "$program" bench forward -c pairs/config.json --shape 2x16 --seconds 0.01
done_testing
