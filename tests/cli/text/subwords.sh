#!/bin/sh
# subwords.sh — sub-word tokenizers with every command: trained, trained with, fine-tuned, used, saved, measured.  A
# build without SentencePiece names the package to install.
. "$(dirname "$0")/../lib"
{
    sentences 400
    for i in 1 2 3 4 5 6 7 8 9; do printf 'caf\303\251 \346\274\242\345\255\227 of %s. good \303\251t\303\251 bad jour\n' $i$i; done
} > text.txt
"$program" vocab -q --type unigram --text text.txt --size 300 -o base 2> err
if grep -q 'made without it: install it (Debian: libsentencepiece-dev)' err; then
    [ ! -e base ] || fail "a folder was made although nothing could be learned"
    echo "SKIP: a build without SentencePiece"
    # SentencePiece's files of other classes: what is there is named, with what helps; nothing is assumed.
mkdir pieces && cp "$repository/tests/golden/subwords/unigram.model" pieces/tokenizer.model
echo '{"tokenizer_class": "LlamaTokenizer"}' > pieces/tokenizer_config.json
expect 3 'LlamaTokenizer: expected tokenizer.json .*, got tokenizer.model alone' "$program" tokenize -m pieces 'the river'
rm pieces/tokenizer_config.json
expect 3 'pieces: expected tokenizer.json, got tokenizer.model alone' "$program" tokenize -m pieces 'the river'
done_testing
fi
[ ! -s err ] || fail "vocab: $(cat err)"

# The folder; what has no effect on these types, and what they have of their own.
[ "$(ls base | tr '\n' ' ')" = 'special_tokens_map.json spiece.model tokenizer_config.json ' ] || fail "files: $(ls base)"
holds base/tokenizer_config.json '"tokenizer_class": "RoFormerUnigramTokenizer"'
expect 0 'bpe: [0-9]+ tokens learned from' "$program" vocab --type bpe --text text.txt --size 200 --character-coverage 1 -o bpe
holds bpe/tokenizer_config.json '"tokenizer_class": "RoFormerBPETokenizer"'
expect 0 '' "$program" vocab -q --type bpe --text text.txt --size 200 --character-coverage 1 -o same
same bpe/spiece.model same/spiece.model "learned twice"
expect 2 '--cased: has no effect with --type bpe; leave it out' "$program" vocab --type bpe --cased --text text.txt -o x
expect 2 '--byte-fallback: .*--type chars' "$program" vocab --type chars --byte-fallback --text text.txt -o x
expect 3 'SentencePiece: Vocabulary size is smaller than required_chars' "$program" vocab --type bpe --size 16 --text text.txt -o x
[ ! -e x ] || fail "a folder was made although it was refused"
expect 0 'fewer than the 9000 asked for' "$program" vocab --type unigram --size 9000 --text text.txt -o few
printf '\342\226\201\342\226\201\n' > blanks.txt
expect 3 'vocabulary: SentencePiece' "$program" vocab --type unigram --text blanks.txt -o x
[ ! -e x ] || fail "a folder was made although nothing was learned"
i=0; while [ $i -lt 600 ]; do printf 'ab cd efgh '; i=$((i + 1)); done > long.txt
expect 0 '1 line is longer than 4,192 bytes: split' "$program" vocab --type unigram --text long.txt -o long
expect 4 'base/spiece.model: .*--overwrite' "$program" vocab --type unigram --text text.txt -o base

# Text and back.
expect 0 '' "$program" tokenize -m base --json 'café  [MASK]'
grep -q '"tokens":\["\[CLS\]","▁[^ ]*","\[MASK\]","\[SEP\]"\]' out || fail "tokens: $(cat out)"
[ -z "$posix" ] || expect 3 'not UTF-8' "$program" tokenize -m base "$(printf 'caf\351')"          # Windows' arguments are UTF-16

# A model by others: a folder with nothing but it; special tokens are its own, or follow its pieces.
mkdir others
cp "$repository/tests/golden/subwords/bpe.model" others/spiece.model
expect 0 '' "$program" tokenize -m others --json '[MASK] Ishmael.'
holds out '"tokens":["<s>","[MASK]"'
printf 'no model\n' > others/spiece.model
expect 3 'others/spiece.model: SentencePiece model: ' "$program" tokenize -m others x

tokens=$("$program" vocab --type unigram --text text.txt --size 300 -o again0 2>&1 | sed -n 's/.*: \([0-9]*\) tokens.*/\1/p')
title='unigram (SentencePiece)' files=spiece.model card='transformers has no class for this tokenizer'
. "$here/every_command"
done_testing
