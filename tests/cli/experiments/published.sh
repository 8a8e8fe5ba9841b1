#!/bin/sh
# published.sh — the checks of `make check-published` with substitutes: each kind of step passes, fails, and reports
# what it requires.
. "$(dirname "$0")/../lib"
published=$(dirname "$program")/experiments/published
if [ ! -x "$published" ]; then echo "SKIPPED: no $published"; exit 0; fi
steps=$repository/experiments/published/published.json
mkdir -p hub/junnyu hub/owner hub/models--junnyu--cached/snapshots/abc empty
cp -r "$repository/tests/golden/sim" hub/junnyu/sim
cp "$repository"/tests/golden/sim/* hub/models--junnyu--cached/snapshots/abc
cp -r "$repository/tests/golden/esm/whole" hub/owner/esm
cp -r "$repository/tests/golden/tensorflow/chinese_roformer-sim-char_L-2_H-24_A-2" hub
cp -r "$repository/tests/golden/esm/masked" hub/owner/masked
cp "$repository"/tests/golden/esm/whole/*vocab* "$repository"/tests/golden/esm/whole/*token* hub/owner/masked
ln -s "$(cd "$repository/models/roformer-small-en" && pwd)" hub/english
expect 3 '' "$published" empty "$steps"
holds out 'not done: would need the files of junnyu/roformer_chinese_base'
holds out 'not done: would need the files of facebook/esm2_t6_8M_UR50D'
holds out '0 hold, 0 do not, 40 could not be done'
expect 2 'usage: published HUB' "$published"
expect 3 'nowhere.json' "$published" hub nowhere.json

# The first three logits after the prompt, as PyPI's roformer computed them (tests/golden/sim).
z=$(sed -n '2s/.*"logits":\[\[\([^,]*,[^,]*,[^,]*\),.*/\1/p' hub/junnyu/sim/golden.jsonl)
words=$("$program" fill-mask -m hub/english --json 'The [MASK] of the king.' | grep -o '"token_str": *"[^"]*"' | sed 's/.*: *//' | head -n 3 | paste -s -d , -)
# The vector of a token alone, as transformers computed it (tests/golden/esm).
id=$(awk '$1 == "ids" { print $2; exit }' hub/owner/masked/golden.txt)
h=$(awk '$1 == "rows" { getline; print $5 ", " $6; exit }' hub/owner/masked/golden.txt)
[ -n "$z" ] && [ -n "$words" ] && [ -n "$id" ] && [ -n "$h" ] || fail "nothing to compare with: '$z' '$words'"
cat > good.json << END
{"steps": [
 {"model": "sim", "what": "parameters", "parameters": 11379},
 {"model": "cached", "what": "tokens", "text": "广州啊", "tokens": ["广", "州", "[UNK]"], "ids": [5, 6, 1]},
 {"model": "sim", "what": "logits", "ids": [2, 40, 3], "row": 2, "logits": [[$z]]},
 {"model": "sim", "what": "nearest", "text": "广州", "like": "广州", "unlike": "暑"},
 {"model": "owner/esm", "what": "logits", "text": "MK<mask>", "logits": []},
 {"model": "owner/masked", "what": "hidden", "ids": [$id], "column": 2, "hidden": [[$h]]},
 {"model": "ZhuiyiTechnology/chinese_roformer-sim-char_L-2_H-24_A-2", "what": "logits", "ids": [2, 40, 3], "row": 2, "logits": [[$z]]},
 {"model": "english", "what": "blanks", "text": "The [MASK] of the king.", "words": [[$words]]}]}
END
expect 0 '' "$published" hub good.json
holds out '8 hold, 0 do not, 0 could not be done'
cat > bad.json << END
{"steps": [
 {"model": "sim", "what": "parameters", "parameters": 11378},
 {"model": "sim", "what": "tokens", "text": "广州", "tokens": ["广", "西"]},
 {"model": "sim", "what": "tokens", "text": "广州", "tokens": ["广", "州"], "ids": [5, 7]},
 {"model": "sim", "what": "logits", "ids": [2, 40, 3], "row": 1, "logits": [[$z]]},
 {"model": "sim", "what": "nearest", "text": "广州", "like": "暑", "unlike": "广州"},
 {"model": "english", "what": "blanks", "text": "The [MASK] of the king.", "words": [["zebra"]]},
 {"model": "sim", "what": "blanks", "text": "广[MASK]", "words": [["州"]]},
 {"model": "owner/esm", "what": "logits", "text": "MK<mask>", "logits": [[0.5, 99]]},
 {"model": "english", "what": "hidden", "text": "the king", "row": 1, "column": 2, "hidden": [[9]]},
 {"model": "english", "what": "hidden", "text": "the king", "row": 1, "column": 256, "hidden": [[1]]},
 {"model": "sim", "what": "weather"},
 {"model": "elsewhere", "what": "parameters"}]}
END
expect 1 '' "$published" hub bad.json
holds out '11379, expected 11378'
holds out '1: 州, expected 西'
holds out '州 is 6, expected 7'
holds out 'logits     DIFFERS: token 0, column 0: '
holds out 'hidden     DIFFERS: token 0, column 256: nan, expected 1.0000'
holds out '1.0000, expected the first larger'
holds out 'expected zebra'
holds out 'FAILED: fill-mask: expected a masked language model, got RoFormer-Sim'
holds out 'FAILED: no such kind of step'
holds out '0 hold, 11 do not, 1 could not be done'
done_testing
