#!/bin/sh
# chars.sh — a character tokenizer with every command: trained, trained with, fine-tuned, used, saved, measured.
. "$(dirname "$0")/../lib"

# The folder: the characters of a text in the order of code points; unknown ones are rarer than was asked for.
{
    sentences 400
    printf 'caf\303\251 \346\274\242\345\255\227 of %s.\n' 1234567890 1234567890
    echo Q
} > text.txt
expect 0 'letters: [0-9]+ tokens learned from' "$program" vocab --type chars --text text.txt -o letters
[ "$(ls letters | tr '\n' ' ')" = 'special_tokens_map.json tokenizer_config.json vocab.json ' ] || fail "files: $(ls letters)"
holds letters/tokenizer_config.json '"tokenizer_class": "RoFormerCharacterTokenizer"'
holds letters/vocab.json '"<U+0020>":'
holds letters/vocab.json '"Q":'
expect 0 'base: [0-9]+ tokens learned from' "$program" vocab --type chars --text text.txt --min-frequency 2 -o base
grep -q '"Q"' base/vocab.json && fail "a character that occurs once is there"
expect 0 'few: 16 tokens' "$program" vocab --type chars --text text.txt --size 16 -o few
expect 2 '--cased: has no effect with --type chars; leave it out' "$program" vocab --type chars --cased --text text.txt -o x
expect 2 '--alphabet: has no effect with --type chars; leave it out' "$program" vocab --type chars --alphabet 9 --text text.txt -o x
expect 2 'expected --text' "$program" vocab --type chars -o x
expect 3 'expected characters that occur at least 9999999 times' "$program" vocab --type chars --text text.txt --min-frequency 9999999 -o x
[ ! -e x ] || fail "a folder was made although it was refused"
expect 4 'base/.*--overwrite' "$program" vocab --type chars --text text.txt -o base

# Text and back; what is not there is [UNK], each for itself.
printf 'caf\303\251 Q[MASK]\n' > line
input=line expect 0 '' "$program" tokenize -m base --json
holds out '"tokens":["[CLS]","c","a","f","é","<U+0020>","[UNK]","[MASK]","[SEP]"]'
holds out '"offsets":[[0,0],[0,1],[1,2],[2,3],[3,4],[4,5],[5,6],[6,12],[0,0]]'
[ -z "$posix" ] || expect 3 'not UTF-8' "$program" tokenize -m base "$(printf 'caf\351')"          # Windows' arguments are UTF-16

tokens=$(grep -c : base/vocab.json) title=characters files=vocab.json card='transformers has no class for this tokenizer'
. "$here/every_command"
expect 0 '' "$program" fill-mask -m mlm --json --target '<U+0020>' --target e 'the old riv[MASK]r'
holds out '"token_str": " ", "sequence": "the old riv r"'
holds out '"token_str": "e", "sequence": "the old river"'

# A folder whose vocabulary does not fit is refused.
mkdir bad
cp base/*.json bad
sed 's/"a":/"ab":/' base/vocab.json > bad/vocab.json
expect 3 '"ab": expected one character or <U\+...>, got another text' "$program" tokenize -m bad x
rm bad/vocab.json
expect 3 'bad/.*tokenizer_class RoFormerCharacterTokenizer' "$program" tokenize -m bad x
done_testing
