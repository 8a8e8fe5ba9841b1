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
# Proteins of a FASTA file are read residue by residue; a line without blanks is one [UNK], as in transformers, with a note.
printf '>a\nQVQLVE\nSGGG\n>b\nqvql*\n' > proteins.fasta
printf 'Q V Q L V E S G G G\nQ V Q L\n' > apart.txt
"$program" score -q -m "$golden" --input proteins.fasta | cut -f1-3 > ours.txt
"$program" score -q -m "$golden" --input apart.txt | cut -f1-3 > theirs.txt
same theirs.txt ours.txt "score of a FASTA file"
for command in 'embed --format jsonl' 'similarity'; do
    # shellcheck disable=SC2086
    "$program" $command -q -m "$golden" --input-format lines apart.txt > theirs.txt || fail "$command"
    # shellcheck disable=SC2086
    "$program" $command -q -m "$golden" proteins.fasta | sed 's/.*"vector": //; s/}$//' > ours.txt || fail "$command"
    same theirs.txt ours.txt "$command of a FASTA file"
done
"$program" evaluate -q -m "$golden" --text proteins.fasta > ours.txt || fail evaluate
"$program" evaluate -q -m "$golden" --text apart.txt --text_split line > theirs.txt || fail evaluate
same theirs.txt ours.txt "evaluate of a FASTA file"
advice='single letters: put a blank between two of them'
echo QVQLVESGGG > joined.txt
expect 0 "a text has only tokens that are unknown to the vocabulary.*$advice" "$program" score -m "$golden" --input joined.txt
expect 0 "$advice" "$program" embed -m "$golden" --format jsonl joined.txt
expect 0 "$advice" "$program" fill-mask -m "$golden" 'QV[MASK]VE'
expect 0 '' "$program" fill-mask -m "$golden" 'Q V [MASK] V E'
grep -q unknown err && fail "a note about known letters: $(cat err)"
printf 'text\tlabel\nQVQL\ta\nV E S\tb\nQVQ\ta\n' > labeled.tsv
expect 0 '2 texts have only tokens that are unknown to the vocabulary' "$program" finetune -m "$golden" --train labeled.tsv -o tuned --num_train_epochs 1
expect 0 '2 of 3 examples have only tokens that are unknown' "$program" predict -m tuned --input labeled.tsv
expect 0 '1 of 1 examples have only tokens that are unknown' "$program" classify -m tuned QVQ
cp -r "$golden" small && sed -i 's/,"do_lower_case":false//' small/tokenizer_config.json
expect 0 'the vocabulary has capital letters, but texts are lowercased' "$program" score -m small 'Q V'
expect 0 'proteins.fasta: expected a model of proteins for a FASTA file, got one whose vocabulary has words' "$program" embed --format jsonl proteins.fasta
expect 0 'proteins.fasta: expected a model of proteins' "$program" evaluate --text proteins.fasta
done_testing
