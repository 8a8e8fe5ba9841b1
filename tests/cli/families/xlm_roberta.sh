#!/bin/sh
# xlm_roberta.sh — XLM-RoBERTa folders with their tokenizer agree with transformers: predictions for masks, scores of
# pairs of texts; unsupported models are rejected.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/xlm_roberta/whole
for name in masked pairs answers; do
    copy $name $name
    cp "$repository/tests/golden/fast/xlmr.tokenizer.json" $name/tokenizer.json
done

printf 'the <mask> runs to the sea\nhello <mask> <pad> world\n' > masks.txt
"$program" fill-mask -q -m masked --json -k 5 < masks.txt > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/fill_mask.jsonl" fill_mask.jsonl

printf 'text\tpair\nthe river\truns to the sea\nhello\tworld\n' > pairs.tsv
expect 0 '' "$program" predict -q -m pairs --input pairs.tsv
sed '1d; s/^/"score": /' out > scores.txt
close_json "$golden/scores.txt" scores.txt

# Questions and contexts are framed by the tokenizer's own template: <s> question </s></s> context </s>, all of type 0.
cat > questions.jsonl << 'EOQ'
{"id": "1", "question": "what river?", "context": "the river runs to the sea"}
{"id": "2", "question": "hello?", "context": "a small house"}
{"id": "3", "question": "which?", "context": "sea city river"}
EOQ
expect 0 '' "$program" predict -q -m answers --input questions.jsonl --format jsonl
sed -E 's/^\{"id": *"[0-9]", *"answer": *"(.*)", *"score": *([-0-9.e]+)\}$/\1\t\2/' out > got.txt
[ "$(cut -f 1 got.txt)" = "$(cut -f 1 "$golden/answers.txt")" ] || fail "answers: $(cat out)"
cut -f 2 got.txt | sed 's/^/"score": /' > ours.txt; cut -f 2 "$golden/answers.txt" | sed 's/^/"score": /' > theirs.txt
close_json theirs.txt ours.txt

# The file counts rows of the table, pad_token_id + 1 more than positions; both come back.
expect 0 '' "$program" info -m masked
grep -qE 'max_position_embeddings +32$' out || fail "$(grep max_position out)"
expect 0 'read back and compared' "$program" convert masked again
holds again/config.json '"max_position_embeddings": 34'

# A limit of texts above the positions: texts are cut at these, with a note.
copy masked vectors
mkdir vectors/1_Pooling && printf '{"pooling_mode": "mean"}' > vectors/1_Pooling/config.json
cp masked/tokenizer.json vectors
printf '[{"type": "sentence_transformers.models.Transformer", "path": ""}, {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]' > vectors/modules.json
yes river | head -n 40 | tr '\n' ' ' > long.txt
printf '{"max_seq_length": 33}' > vectors/sentence_roberta_config.json
note='max_seq_length is 33, but the model has 32 positions: texts are cut to 32 tokens'
expect 0 "$note" "$program" embed -m vectors -f f32 -o above.f32 long.txt
expect 0 "$note" "$program" similarity -m vectors long.txt
printf 'text\tpair\tscore\nthe river\tthe sea\t1\nthe sea\tthe city\t0\n' > scored.tsv
expect 0 "$note" "$program" evaluate -m vectors --dev scored.tsv
expect 0 '' "$program" evaluate -m vectors --dev scored.tsv --max_length 30
if [ "$posix" ]; then
    "$program" serve -m vectors --port 0 2> served & pid=$!
    await grep -q "$note" served
    kill "$pid"
fi
{ cat scored.tsv; printf '%s\tthe sea\t1\n' "$(cat long.txt)"; } > long.tsv
expect 0 '' "$program" finetune -q --task embed --model vectors --train long.tsv --max_steps 1 -o trained
holds trained/sentence_bert_config.json '"max_seq_length": 32'
expect 0 '' "$program" embed -q -m vectors --max-length 32 -f f32 -o v.f32 long.txt
same above.f32 v.f32 "texts that are cut at the positions"
"$program" info vectors > out
grep -qE 'max_length +32$' out || fail "$(grep max_length out)"
printf '{"max_seq_length": 32}' > vectors/sentence_roberta_config.json
expect 0 '' "$program" evaluate -q -m vectors --dev scored.tsv
expect 0 '1 of 1 lines were longer than 32 tokens' "$program" embed -m vectors -o v.npy long.txt
right=masked
refused config.json 's/"max_position_embeddings": 34/"max_position_embeddings": 3/' 'max_position_embeddings: expected at least 4, .*got 3'
refused config.json 's/"pad_token_id": 1/"pad_token_id": null/' 'pad_token_id'
done_testing
