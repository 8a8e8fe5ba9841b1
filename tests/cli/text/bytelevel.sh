#!/bin/sh
# bytelevel.sh — byte-level BPE that is learned here, through every command: learned, trained, fine-tuned, asked, written, measured.
. "$(dirname "$0")/../lib"
sentences 400 > text.txt
printf 'caf\303\251 \346\274\242\345\255\227, it'"'"'s 1234567890.\n' >> text.txt
expect 0 'base: 350 tokens learned from' "$program" vocab --type bytelevel --text text.txt --size 350 -o base
[ "$(ls base | tr '\n' ' ')" = 'special_tokens_map.json tokenizer.json tokenizer_config.json ' ] || fail "files: $(ls base)"
holds base/tokenizer_config.json '"tokenizer_class": "PreTrainedTokenizerFast"'
expect 0 '' "$program" vocab -q --threads 1 --type bytelevel --text text.txt --size 350 -o single
same base/tokenizer.json single/tokenizer.json "with one thread"
expect 2 '--cased: has no effect with --type bytelevel; leave it out' "$program" vocab --type bytelevel --cased --text text.txt -o x
expect 2 'tokens: .*261 .*256 .*200' "$program" vocab --type bytelevel --size 200 --text text.txt -o x
expect 2 'expected --text' "$program" vocab --type bytelevel -o x
[ ! -e x ] || fail "a folder was made although it was refused"
expect 4 'base/.*--overwrite' "$program" vocab --type bytelevel --text text.txt -o base
expect 0 'rare: 26[0-9] tokens' "$program" vocab --type bytelevel --text text.txt --min-frequency 1000 -o rare

# Text and back, whatever its bytes; [MASK] takes the blank before it.
printf 'the [MASK] house \360\237\231\202\001\n' > line
input=line expect 0 '' "$program" tokenize -m base --json
grep -q '"tokens":\["\[CLS\]","the","\[MASK\]",' out || fail "$(cat out)"
grep -q UNK out && fail "a byte is unknown: $(cat out)"

tokens=350 title='sub-words, BPE (tokenizer.json)' files=tokenizer.json card='PreTrainedTokenizerFast'
. "$here/every_command"
done_testing
