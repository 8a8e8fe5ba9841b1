#!/bin/sh
# readme_zh.sh — the commands of README.zh.md, in its ```sh blocks: each does what the page says.
. "$(dirname "$0")/../lib"
"$program" vocab --lang zh --text "$repository/docs/rope.zh.md" --size 1200 -o try > /dev/null 2> why || {
    grep -q 'expected a dictionary of words, got none' why || fail "vocab: $(cat why)"
    echo "no dictionary of Chinese words was installed"
    done_testing
}
mkdir docs
ln -s "$repository/models" models
cp "$repository/docs/rope.zh.md" docs
awk '/^```/ { inside = $0 == "```sh"; next } inside' "$repository/README.zh.md" > commands
[ "$(grep -c '^roformer' commands)" -ge 7 ] || fail "README.zh.md has fewer commands than it had: $(cat commands)"
PATH=$(dirname "$program"):$PATH sh -e commands > got 2> why || fail "README.zh.md: $(cat why)"
[ "$(wc -l < words/vocab.txt)" -eq 1200 ] || fail "words: $(wc -l < words/vocab.txt) tokens"
holds got 出生
[ -f matcher/model.safetensors ] || fail "no matcher"
holds why 'converted: written, read back and compared'
holds got 位置
holds got 'mask 2 of 2'
holds got 'Chinese words by jieba'
holds got 'tokens keep their vectors'
holds why 'stage 2 of 2 ends: length 128, batch 4, 6 updates: loss'
holds model/all_results.json '"stages"'
done_testing
