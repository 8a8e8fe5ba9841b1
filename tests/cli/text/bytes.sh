#!/bin/sh
# bytes.sh — a byte tokenizer with every command: created, trained with, fine-tuned, used, saved, measured.
. "$(dirname "$0")/../lib"

# The folder: of nothing, and of nothing else.
expect 0 'base: 261 tokens' "$program" vocab --type bytes -o base
[ "$(ls base | tr '\n' ' ')" = 'special_tokens_map.json tokenizer_config.json ' ] || fail "files: $(ls base)"
holds base/tokenizer_config.json '"tokenizer_class": "RoFormerByteTokenizer"'
expect 2 '--text: .*--type bytes' "$program" vocab --type bytes --text base/tokenizer_config.json -o x
expect 2 '--cased: has no effect with --type bytes' "$program" vocab --type bytes --cased -o x
[ ! -e x ] || fail "a folder was made although it was refused"
expect 4 'base/.*--overwrite' "$program" vocab --type bytes -o base
expect 0 '' "$program" vocab -q --type bytes -o base --overwrite

# Text and back: characters, not bytes, in what is shown.
printf 'caf\303\251 [MASK]\n' > line
input=line expect 0 '' "$program" tokenize -m base --json
holds out '"tokens":["[CLS]","c","a","f","<0xC3>","<0xA9>","<0x20>","[MASK]","[SEP]"]'
holds out '"offsets":[[0,0],[0,1],[1,2],[2,3],[3,4],[3,4],[4,5],[5,11],[0,0]]'
holds out '"ids":[2,104,102,107,200,174,37,4,3]'
[ -z "$posix" ] || expect 3 'not UTF-8' "$program" tokenize -m base "$(printf 'caf\351')"          # Windows' arguments are UTF-16

tokens=261 title='bytes of UTF-8' files=special_tokens_map.json card='transformers has no class for this tokenizer'
. "$here/every_command"
expect 0 '' "$program" fill-mask -m mlm --json --target '<0x20>' --target e 'the old riv[MASK]r'
holds out '"token": 37, "token_str": " ", "sequence": "the old riv r"'
holds out '"token": 106, "token_str": "e", "sequence": "the old river"'
expect 0 '' "$program" fill-mask -m mlm --top-k 261 --json 'h[MASK]'
holds out '"token": 5, "token_str": "\u0000", "sequence": "h\u0000"'

# Others' bytes are refused by name.
mkdir byt5
echo '{"tokenizer_class": "ByT5Tokenizer"}' > byt5/tokenizer_config.json
expect 3 'ByT5Tokenizer: expected tokenizer.json next to it.*its ids of the 256 bytes are not supported' "$program" tokenize -m byt5 x
done_testing
