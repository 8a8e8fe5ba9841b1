#!/bin/sh
# embed_documents.sh — texts and ids of documents: lines of JSON, CSV, TSV; what is no document is named with its line.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1

# The same 200 texts as lines, as JSON, as CSV with fields of several lines before them, and as TSV.
awk 'BEGIN { srand(2); split("the of and city river house red blue king dog", w); print "id,title,text" > "docs.csv"; print "text\tid" > "docs.tsv"
    for (i = 0; i < 200; i++) { s = "the"; n = int(rand() * 20); for (k = 0; k < n; k++) s = s " " w[1 + int(rand() * 10)]
        print s > "lines"; printf "{\"meta\": {\"key\": \"k%d\"}, \"id\": %d, \"body\": \"%s\"}\n", i, i, s > "docs.jsonl"
        printf "k%d,\"a, \"\"title\"\"\nof two lines\",%s\n", i, s > "docs.csv"; printf "%s\tk%d\n", s, i > "docs.tsv"; print "k" i > "ids" } }'
"$program" embed -q -m model -o lines.f32 lines || fail "lines"
gzip -k docs.csv || fail gzip
sed 's/$/\r/' docs.csv > crlf.csv
for how in '--text-field body --id-field meta.key docs.jsonl' '--id-field id docs.csv' '--id-field id docs.tsv' '--id-field id docs.csv.gz' '--id-field id crlf.csv'; do
    # shellcheck disable=SC2086
    "$program" embed -q -m model -o got.f32 $how || fail "$how"
    same lines.f32 got.f32 "$how"
    same ids got.f32.ids "ids of $how"
done
"$program" embed -q -m model --input-format jsonl --text-field body --id-field id --format jsonl < docs.jsonl > out.jsonl || fail "standard input"
[ "$(sed -n '18p' out.jsonl | cut -c 1-24)" = '{"id": "17", "vector": [' ] || fail "an id that is a number: $(sed -n '18p' out.jsonl | cut -c 1-40)"
"$program" embed -q -m model --input-format lines -o got.f32 docs.jsonl && [ "$(wc -c < got.f32)" -eq $((200 * 128)) ] || fail "JSON as lines"
"$program" embed -q -m model --id-field id --format safetensors docs.csv > v.safetensors && grep -aqF '"k199":' v.safetensors || fail "names of tensors"
printf '{"id": 1, "text": "the city"}\n\n{"id": 2, "text": "a river"}\n' > blank.jsonl
expect 0 '' "$program" embed -q -m model --id-field id -o got.npy blank.jsonl
[ "$(tr '\n' ' ' < got.npy.ids)" = '1 2 ' ] || fail "blank lines between documents"

# Each is refused with its file and its line, and leaves no file.
bad() {
    line=$1 message=$2 file=$3
    shift 3
    expect 3 "^roformer: $file:$line: .*$message" "$program" embed -m model "$@" -o none.npy "$file"
    [ -z "$(ls | grep '^none')" ] || fail "$message: it left $(ls | grep '^none')"
}
good='{"id": 1, "text": "the city"}'
one() { printf '%s\n' "$good" "$1" > bad.jsonl; }
one '{"id": 2, "text": ["a", "b"]}'; bad 2 '"text": expected a string, got a list of 2' bad.jsonl
one '{"id": 2}'; bad 2 '"text": expected a string, got none' bad.jsonl
one '{"id": 2, "text": ""}'; bad 2 '"text": expected a text, got an empty one' bad.jsonl
one '{"id": 2, "text": " \t "}'; bad 2 '"text": expected a text, got blanks' bad.jsonl
one '{"text": "a"}'; bad 2 '"id": expected a string, got none' bad.jsonl --id-field id
one '{"id": {}, "text": "a"}'; bad 2 '"id": expected a string, got an object' bad.jsonl --id-field id
one '{"id": "", "text": "a"}'; bad 2 '"id": expected an id .* got an empty one' bad.jsonl --id-field id
one '{"id": "a\nb", "text": "a"}'; bad 2 '"id": .* control character' bad.jsonl --id-field id
one '{"id": 1, "text": "a"}'; bad 2 'id: .*got that of bad.jsonl:1' bad.jsonl --id-field id
one '{"id": 2, "text": "a"'; bad 2 'not valid JSON' bad.jsonl
one 'the city'; bad 2 'not valid JSON' bad.jsonl
one "$(printf '{"id": 2, "text": "\377"}')"; bad 2 'UTF-8' bad.jsonl
cp docs.jsonl second.jsonl
expect 3 '^roformer: second.jsonl:1: id: .*got that of docs.jsonl:1' "$program" embed -m model --text-field body --id-field id -o none.npy docs.jsonl second.jsonl
table() { printf 'id,text\n1,the city\n%b\n' "$1" > bad.csv; }
table '2'; bad 3 'expected the 2 columns of the header, got 1' bad.csv
table '2,"the\nriver'; bad 3 'expected a closing quote' bad.csv
table '2,"a"b'; bad 3 'expected a separator after a closing quote' bad.csv
table '2,'; bad 3 '"text": expected a text, got an empty one' bad.csv
table '2,"a\nb"\n1,"a"'; bad 5 'id: .*got that of bad.csv:2' bad.csv --id-field id
bad 1 "header: expected a column 'body', got id, text" bad.csv --text-field body
printf 'text,text\na,b\n' > bad.csv; bad 1 "expected one column 'text', got two" bad.csv
expect 2 '--id-field: expected -o FILE' "$program" embed -m model --id-field id docs.csv
expect 2 '--id-field: expected a file of jsonl, csv or tsv, got lines' "$program" embed -m model --id-field id -o none.npy lines
expect 2 '--ids: expected --id-field' "$program" embed -m model --ids -o none.npy docs.csv
head -c 70000000 /dev/zero | tr '\0' a > long.jsonl
bad 1 'line: expected at most 67108864 bytes, got more' long.jsonl

# Names of proteins as ids.
printf '>a\nMKV\n>b\nMKL\n' > p.fasta
expect 0 '' "$program" embed -q -m model --ids -o p.npy p.fasta
[ "$(tr '\n' ' ' < p.npy.ids)" = 'a b ' ] || fail "names of proteins: $(cat p.npy.ids)"
printf '>a\nMKL\n' >> p.fasta
expect 3 'p.fasta:3: id: .*that of p.fasta:1' "$program" embed -q -m model --ids -o none.npy p.fasta
done_testing
