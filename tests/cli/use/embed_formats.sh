#!/bin/sh
# embed_formats.sh — files of vectors in every format and precision; their bytes, and what NumPy and FAISS read.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
width=32
printf 'the city\nof red\nthe old river and the house\n' > lines
"$program" embed -q -m model -o all.f32 lines || fail "f32"

number() { od -An -v -t"$3" -j "$1" -N "$2" "$4" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }
"$program" embed -q -m model -o all.fvecs lines && [ "$(number 0 4 d4 all.fvecs)" = $width ] || fail "fvecs"
tail -c +5 all.fvecs | head -c $((width * 4)) > row; head -c $((width * 4)) all.f32 | cmp -s - row || fail "a row of fvecs"
"$program" embed -q -m model -o all.fbin lines && [ "$(number 0 8 u4 all.fbin)" = "3 $width" ] || fail "fbin"
tail -c +9 all.fbin | cmp -s - all.f32 || fail "rows of fbin"
"$program" embed -q -m model --format fbin lines | cmp -s - all.fbin || fail "fbin on a pipe"
"$program" embed -q -m model -o all.i8bin lines && [ "$(number 0 8 u4 all.i8bin)" = "3 $width" ] && [ "$(wc -c < all.i8bin)" -eq $((8 + 3 * width)) ] || fail "i8bin"
[ "$(wc -c < all.i8bin.ranges.npy)" -eq $((128 + 8 * width)) ] || fail "ranges"
"$program" embed -q -m model -o all.faiss lines && [ "$(head -c 4 all.faiss)" = IxFI ] || fail "faiss"
tail -c +46 all.faiss | cmp -s - all.f32 || fail "rows of faiss"
printf '{"id": "a\\\\b", "text": "the city"}\n' > doc.jsonl
"$program" embed -q -m model --id-field id --format pgvector doc.jsonl | cut -f 1 > id
[ "$(cat id)" = 'a\\b' ] || fail "an id for COPY: $(cat id)"

# What no file can hold is refused before the model reads a text.
expect 2 '--precision: expected f32 for --format faiss, got int8' "$program" embed -m model --precision int8 -o none.faiss lines
expect 2 '--precision: expected uint8 for --format u8bin, got f32' "$program" embed -m model --precision f32 -o none.u8bin lines
expect 2 '--precision int8: expected -o FILE' "$program" embed -m model --precision int8 lines
expect 2 '--tokens: expected --format safetensors or jsonl.* got faiss' "$program" embed -m model --tokens -o none.faiss lines
expect 2 '--metric: has no effect without --format faiss' "$program" embed -m model --metric l2 -o none.npy lines
head -1 lines > one
expect 3 'expected two vectors or more.* got one' "$program" embed -m model --precision int8 -o none.npy one
: > empty
expect 0 '' "$program" embed -q -m model --precision int8 -o no.npy empty
grep -aqF "'shape': (0, $width)" no.npy || fail "int8 of no text"
[ -z "$(ls | grep -e '^none' -e tmp)" ] || fail "left: $(ls | grep -e '^none' -e tmp)"

# A vector of zeros is written, as in sentence-transformers, and said.
bare_folder model
printf 'the city\n\nof red\n' > some
expect 0 '1 of 3 vectors are zero.* some:2$' "$program" embed -m bare -o some.npy some

python=${PYTHON:-python3}
"$python" -c 'import numpy' 2> /dev/null || { echo "SKIPPED: no Python with NumPy: files were not read by it"; done_testing; }
awk 'BEGIN { srand(4); for (i = 0; i < 300; i++) { s = "the"; n = int(rand() * 20); for (k = 0; k < n; k++) s = s " " substr("of and city river red", 1 + int(rand() * 15), 5); print s } }' > lines
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/embed_formats.py" "$program" || fail "embed_formats.py"
done_testing
