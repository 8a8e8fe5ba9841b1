#!/bin/sh
# esm.sh — ESM-2 folders with their tokenizer agree with transformers: ids, predictions for a mask, vectors of proteins
# and residues, scores of mutations.  Other models are rejected.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/esm
copy whole model
golden=$golden/whole

golden_ids "$golden/ids.jsonl" > theirs.txt
ids() {
    printf '%s\n' MKTV MKJJLV mkTV 'M K T' 'MK<mask>LV' 'MK <mask> LV' 'A-B.C*' "MKT$(printf '\t')VV  L" MKéV '<cls>MK' 'J J' '<null_1>O<' x '*' 'éé é' |
        token_ids "$1" > ours.txt
    same theirs.txt ours.txt "ids of $1"
}
ids model
expect 0 '' "$program" tokenize -m model --json 'MKéJ LV'
holds out '"offsets":[[0,0],[0,1],[1,2],[2,4],[5,6],[6,7],[0,0]]'

# The script's "sequence" separates residues by blanks; so does ours.
printf '%s\n' 'MK<mask>LV' '<mask>KTVA' 'MKTVLSER<mask>' | "$program" fill-mask -q -m model --json -k 5 > fill_mask.jsonl || fail "fill-mask"
close_json "$golden/fill_mask.jsonl" fill_mask.jsonl
printf 'MKTV\nLSERTIDPKQNF\n' > proteins.txt
"$program" embed -q -m model --pooling mean --format jsonl proteins.txt > means.jsonl || fail "embed"
close_numbers "$golden/means.jsonl" means.jsonl
# The share of masked tokens is that of each text, whatever else is in the batch.
for text in MKTV 'LSERT<mask>DPKQNF'; do "$program" embed -q -m model --pooling mean --format jsonl - << EOT || fail "embed"
$text
EOT
done > alone.jsonl
printf 'MKTV\nLSERT<mask>DPKQNF\n' | "$program" embed -q -m model --pooling mean --format jsonl - > together.jsonl || fail "embed"
same alone.jsonl together.jsonl "texts alone and together"

# Proteins of a FASTA file: the means of their residues, a vector for each of them, scores of mutations.
printf '>one first\r\nmk\r\nTV*\r\n>two\r\nLSERT\r\nIDPKQNF\r\n' > proteins.fasta
"$program" embed -q -m model --pooling mean --skip-special-tokens --format jsonl proteins.fasta > residues.jsonl || fail "embed"
close_numbers "$golden/vectors.jsonl" residues.jsonl
holds residues.jsonl '{"id": "two", "vector": ['
"$program" embed -q -m model --pooling mean --skip-special-tokens --input-format lines --format jsonl proteins.txt > lines.jsonl || fail "embed"
sed 's/.*"vector": //; s/}$//' residues.jsonl > vectors.txt
same vectors.txt lines.jsonl "vectors of lines and of FASTA"
"$program" embed -q -m model --tokens --skip-special-tokens -o residues.safetensors proteins.fasta || fail "embed --tokens"
"$program" info residues.safetensors > /dev/null 2>&1
head -c 200 residues.safetensors | grep -aq '"one":{"dtype":"F32","shape":\[4,40\],"data_offsets":\[0,640\]},"two":{"dtype":"F32","shape":\[12,40\]' || fail "header of residues.safetensors"
"$program" embed -q -m model --tokens --format jsonl proteins.fasta | sed 's/\], \[/\n/g' | wc -l | grep -qx 20 || fail "20 vectors of tokens"
[ "$(wc -c < residues.safetensors)" -gt 2560 ] || fail "residues.safetensors is too short"
"$program" index -q -m model --pooling mean --skip-special-tokens -o proteins.index proteins.fasta || fail "index"
printf 'one\ntwo\n' > titles.txt
same titles.txt proteins.index/lines.txt "names in an index"
printf '>query\nmktv*\n' | "$program" search -q -m model --input-format fasta proteins.index > found.txt || fail "search"
"$program" rank -q -m model --pooling mean --skip-special-tokens MKTV proteins.fasta | sed 's/^/1\t/' > ranked.txt
same ranked.txt found.txt "search and rank of proteins"
grep -q '^1	1.0000	1	one$' found.txt || fail "a protein does not find itself: $(cat found.txt)"
[ "$("$program" similarity -q -m model --pooling mean --skip-special-tokens proteins.fasta | wc -w)" -eq 4 ] || fail "similarity"
expect 2 '--input-format fasta: expected queries on standard input, got QUERY' "$program" search -m model --input-format fasta proteins.index MKTV
printf '>bad\nMK1TV\n' > bad.fasta
expect 3 'bad.fasta:2: ' "$program" index -m model -o bad.index bad.fasta
expect 2 '--tokens: expected --format safetensors or jsonl' "$program" embed -m model --tokens proteins.fasta
printf '>a\nMK\n>a\nMK\n' > twice.fa
expect 3 "record 2: 'a': expected a name of its own" "$program" embed -m model -o twice.safetensors twice.fa
[ ! -e twice.safetensors ] || fail "twice.safetensors was written"
printf '>a\nMK\n>b\nM1K\n' > bad.fa
expect 3 "bad.fa:4: expected residues" "$program" embed -m model --pooling mean --format jsonl bad.fa
awk 'BEGIN { print ">long\r"; for (i = 0; i < 10000; i++) { s = ""; for (k = 0; k < 100; k++) s = s substr("acDEFGHIKLMNPQRSTVWY", 1 + i * k % 20, 1); print s "\r" } }' > long.fa
expect 0 '1 of 1 lines were longer than 1024 tokens and were truncated' "$program" embed -m model --pooling mean --max-length 1024 --format jsonl long.fa
holds out '{"id": "long", "vector": ['
printf '>dna\nACGTACGTACGTACGTACGTACGTACGTACGT\n' > dna.fa
expect 0 "dna.fa: record 1, 'dna', has only the letters A, C, G, T, U and N" "$program" embed -m model --pooling mean --format jsonl dna.fa

list() { tr -d '\n' < "$golden/proteins.json" | sed "s/.*\"$1\":\[\([^]]*\)\].*/\1/; s/[\" ]//g" | tr ',' '\n'; echo; }
protein=$(tr -d '\n' < "$golden/proteins.json" | sed 's/.*"sequence":"\([A-Z]*\)".*/\1/')
scores() { sed 's/.*[,	]\([-0-9.]*\)$/"score": \1/' "$1"; }
for strategy in masked-marginals wt-marginals pseudo-ppl; do
    list $strategy | sed 's/^/"score": /' > scores.txt
    "$program" variants -q -m model --sequence "$protein" --scoring-strategy $strategy $(list mutations) > scored.tsv || fail "variants"
    scores scored.tsv > ours_scores.txt
    close_json scores.txt ours_scores.txt
done
{ echo 'id,mutant,"a, b"'; list mutations | sed 's/.*/7,"&",x/'; } > table.csv
printf '>wild type\n%s\n' "$protein" > wild.fasta
expect 0 '' "$program" variants -m model --fasta wild.fasta --input table.csv -o scored.csv
head -1 scored.csv > header.txt
echo 'id,mutant,"a, b",masked_marginals' > expected.txt
same expected.txt header.txt "header of the table"
tail -n +2 scored.csv | cut -d, -f1-3 > kept.txt
tail -n +2 table.csv > expected.txt
same expected.txt kept.txt "columns of the table"
list mutations > list.txt
sed 's/[0-9][0-9]*/ & /g' list.txt | awk 'BEGIN { RS = "[\n]" } { out = ""; n = split($0, part, " "); for (i = 1; i <= n; i++) out = out (part[i] ~ /^[0-9]+$/ ? part[i] + 100 : part[i]); print out }' > shifted.txt
expect 0 '' "$program" variants -m model --sequence "$protein" --input list.txt -o one.tsv
expect 0 '' "$program" variants -m model --sequence "$protein" --offset-idx 101 --input shifted.txt -o shifted.tsv
cut -f2 one.tsv > one.txt
cut -f2 shifted.tsv > two.txt
same one.txt two.txt "scores by --offset-idx"
printf 'K2R\nA3T\n' > bad.txt
expect 3 "bad.txt:2: 'A3T': residue 3: expected 'T', as the sequence has, got 'A'" "$program" variants -m model --sequence "$protein" --input bad.txt
expect 3 "table.csv:1: expected a column 'mutations', got none" "$program" variants -m model --sequence "$protein" --input table.csv --mutation-col mutations
cp wild.fasta kept.fasta
expect 2 'wild.fasta is also an input and would be overwritten' "$program" variants -m model --fasta wild.fasta -o wild.fasta K2R
same kept.fasta wild.fasta "the wild type as output"
expect 3 "sequence: residue 1: expected .* got 'm'" "$program" variants -m model --sequence mKTV K2R
expect 3 "sequence: residue 103: expected .* got '1'" "$program" variants -m model --sequence MK1V --offset-idx 101 K102R
expect 2 'expected --sequence or --fasta, got neither' "$program" variants -m model K2R
"$program" score -q -m model --json "$protein" | sed 's/.*"logprob": *\([-0-9.]*\).*/"score": \1/' > ours_scores.txt
tr -d '\n' < "$golden/proteins.json" | sed 's/.*"pseudo_log_likelihood":\([-0-9.]*\).*/"score": \1\n/' > scores.txt
close_json scores.txt ours_scores.txt
"$program" score -q -m model --input wild.fasta | grep -q '	20	[0-9.]*	wild$' || fail "score of a FASTA file"
"$program" score -q -m model --input-format fasta < wild.fasta > piped.txt
"$program" score -q -m model --input wild.fasta > named.txt
same named.txt piped.txt "score of a FASTA file on standard input"
expect 2 'input-format: expected no TEXT beside it, got 1' "$program" score -m model --input-format fasta MK
expect 2 'input: expected no TEXT beside it, got 1' "$program" score -m model --input wild.fasta MK

expect 0 'read back and compared' "$program" convert model written --extend-vocab model
[ -f written/vocab.txt ] || fail "no vocab.txt: $(ls written)"
holds written/tokenizer_config.json '"tokenizer_class": "EsmTokenizer"'
holds written/config.json '"position_embedding_type": "rotary"'
holds written/config.json '"token_dropout": true'
ids written
rm written/tokenizer_config.json
ids written                             # the class by config.json's model_type

right=model
refused config.json '/position_embedding_type/d' 'position_embedding_type: expected "rotary" .ESM-2., got none'
refused config.json 's/"rotary"/"absolute"/' 'position_embedding_type: expected "rotary" for a ESM-2, got "absolute"'
refused config.json 's/"emb_layer_norm_before": false/"emb_layer_norm_before": true/' 'emb_layer_norm_before: expected false, got true'
refused config.json 's/"is_folding_model": false/"is_folding_model": true/' 'is_folding_model: expected false, got true'
refused config.json 's/"mask_token_id": 32/"mask_token_id": null/' 'mask_token_id: expected .* <mask> where token_dropout is true, got none'
refused config.json 's/"vocab_size"/"rope_interleave": true, "vocab_size"/' 'rope_interleave'

# The frequencies of the file are those that count, and are kept.
cp -r model other
sed -i 's/"rope_theta": 10000.0/"rope_theta": 20000.0/' other/config.json
"$program" convert -q other again > /dev/null || fail "convert"
for m in model other again; do "$program" embed -q -m $m --pooling mean --format jsonl proteins.txt > $m.jsonl || fail "embed -m $m"; done
numbers model.jsonl > expected_numbers.txt
for m in other again; do numbers $m.jsonl > numbers.txt; close_json expected_numbers.txt numbers.txt; done
# Those of a class without a head have no prefix, like all its tensors.
python3 - << 'P'
import json, struct
data = open("other/model.safetensors", "rb").read()
n, = struct.unpack("<Q", data[:8])
head = {k[4:] if k.startswith("esm.") else k: v for k, v in json.loads(data[8:8 + n]).items() if not k.startswith("lm_head")}
end = max(v["data_offsets"][1] for v in head.values() if "data_offsets" in v)
lost = [v["data_offsets"] for k, v in json.loads(data[8:8 + n]).items() if k.startswith("lm_head")]
gone = lambda at: sum(b - a for a, b in lost if b <= at)
keep = b"".join(data[8 + n:][a:b] for a, b in sorted(v["data_offsets"] for v in head.values() if "data_offsets" in v))
for v in head.values():
    if "data_offsets" in v:
        v["data_offsets"] = [at - gone(at) for at in v["data_offsets"]]
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open("other/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + keep)
P
"$program" convert -q other bare > out || fail "convert without prefixes"
holds out 'rotary_embeddings.inv_freq  F32'
if grep -a -o '"esm[.][a-z_.]*' bare/model.safetensors; then fail "names with a prefix"; fi
grep -a -q '"rotary_embeddings.inv_freq"' bare/model.safetensors || fail "the frequencies are lost"
done_testing
