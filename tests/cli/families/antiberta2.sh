#!/bin/sh
# antiberta2.sh — AntiBERTa2, a RoFormer of antibodies, whose tokens are residues separated by blanks.  Ids, predictions
# for masks and scores of mutations are those of transformers.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/antiberta2
sed 's/.*"text": "\(.*\)", "ids".*/\1/' "$golden/ids.jsonl" > texts.txt
golden_ids "$golden/ids.jsonl" > theirs.txt
token_ids "$golden" < texts.txt > ours.txt
same theirs.txt ours.txt ids
"$program" fill-mask -q -m "$golden" --json -k 3 'Ḣ Q V [MASK] L V E' > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/fill_mask.jsonl" fill_mask.jsonl
# shellcheck disable=SC2046
"$program" variants -q -m "$golden" --sequence QVQLVESGGG $(cut -f1 "$golden/variants.tsv") | sed 's/	/ "score": /' > scored.txt || fail "variants"
sed 's/	/ "score": /' "$golden/variants.tsv" > expected.txt
close_json expected.txt scored.txt
expect 3 "expected a residue that the model knows, got 'J'" "$program" variants -m "$golden" --sequence QVQL Q1J
"$program" embed -q -m "$golden" --pooling mean --skip-special-tokens --tokens --format jsonl texts.txt | head -n 1 | sed 's/\], \[/\n/g' | wc -l | grep -qx 5 || fail "vectors of 5 residues"
done_testing
