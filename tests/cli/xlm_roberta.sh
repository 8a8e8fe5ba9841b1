#!/bin/sh
# xlm_roberta.sh — XLM-RoBERTa folders with their tokenizer answer as transformers does: tokens for a mask, scores of
# pairs of texts; what cannot be computed is refused.
. "$(dirname "$0")/lib"
golden=$here/../golden/xlm_roberta/whole
for name in masked pairs; do
    cp -r "$golden/$name" $name
    chmod -R u+w $name
    cp "$here/../golden/fast/xlmr.tokenizer.json" $name/tokenizer.json
done

printf 'the <mask> runs to the sea\nhello <mask> <pad> world\n' > masks.txt
"$program" fill-mask -q -m masked --json -k 5 < masks.txt > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/fill_mask.jsonl" fill_mask.jsonl

printf 'text\tpair\nthe river\truns to the sea\nhello\tworld\n' > pairs.tsv
expect 0 '' "$program" predict -q -m pairs --input pairs.tsv
sed '1d; s/^/"score": /' out > scores.txt
close_json "$golden/scores.txt" scores.txt

# The file counts rows of the table, pad_token_id + 1 more than positions; both come back.
expect 0 '' "$program" info -m masked
grep -qE 'max_position_embeddings +32$' out || fail "$(grep max_position out)"
expect 0 'the same' "$program" convert masked again
holds again/config.json '"max_position_embeddings": 34'
sed 's/"max_position_embeddings": 34/"max_position_embeddings": 3/' masked/config.json > c.json
cp c.json again/config.json
expect 3 'max_position_embeddings: expected at least 4, .*got 3' "$program" info -m again
sed 's/"pad_token_id": 1/"pad_token_id": null/' masked/config.json > again/config.json
expect 3 'pad_token_id' "$program" info -m again
done_testing
