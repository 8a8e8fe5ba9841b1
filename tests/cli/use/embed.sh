#!/bin/sh
# embed.sh — vectors in order, in every format, with the same bits for any way of computing them.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
width=32

awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) { n = int(rand() * 40); s = ""; for (k = 0; k < n; k++) s = s (k ? " " : "") substr("the of and city river house red blue", 1 + int(rand() * 30), 3 + int(rand() * 5)); print s } }' > lines
lines=$(wc -l < lines)

"$program" embed -q -m model --format f32 < lines > all.f32 2> err || fail "embed: $(cat err)"
[ "$(wc -c < all.f32)" -eq $((lines * width * 4)) ] || fail "size of f32: $(wc -c < all.f32)"

# npy: into a file, into a pipe, with -o; the same bytes, a valid header, then the floats of f32.
"$program" embed -q -m model < lines > a.npy || fail "npy"
"$program" embed -q -m model < lines | cat > b.npy
"$program" embed -q -m model -o c.npy lines || fail "-o"
printf 'before' > d.npy
"$program" embed -q -m model < lines >> d.npy
"$program" embed -q -m model -o - < lines > e.npy
same a.npy b.npy "pipe"
same a.npy c.npy "-o"
same a.npy e.npy "-o -"
tail -c +7 d.npy > d && { [ -z "$posix" ] || same a.npy d "appended"; }       # Windows appends otherwise
head -c 128 a.npy | tail -c +11 | grep -qF "{'descr': '<f4', 'fortran_order': False, 'shape': ($lines, $width), }" || fail "header: $(head -c 128 a.npy)"
[ "$(head -c 8 a.npy | od -An -tx1 | tr -d ' \n')" = 934e554d50590100 ] || fail "magic"
[ "$(head -c 10 a.npy | tail -c 2 | od -An -tu2 | tr -d ' ')" -eq 118 ] || fail "length of the header"
tail -c +129 a.npy > rows && same all.f32 rows "rows of npy"

# Order, batch, threads and neighbors change nothing.
for how in '--batch-tokens 1' '--batch-tokens 100000' '--threads 1' '--threads 3'; do
    # shellcheck disable=SC2086
    "$program" embed -q -m model --format f32 $how < lines > got && same all.f32 got "$how"
done
tail -n +151 lines | "$program" embed -q -m model --format f32 > got
tail -c +$((150 * width * 4 + 1)) all.f32 > expected
same expected got "second half alone"
(head -100 lines; sleep 0.2; tail -n +101 lines) | "$program" embed -q -m model --format f32 > got && same all.f32 got "in pieces"
head -100 lines > part1; tail -n +101 lines > part2
"$program" embed -q -m model --format f32 part1 part2 > got && same all.f32 got "two files"
"$program" embed -q -m model --format f32 part1 - < part2 > got && same all.f32 got "a file and standard input"

# jsonl: one list on a line; 9 digits bring the floats back.
"$program" embed -q -m model --format jsonl < lines > all.jsonl
[ "$(wc -l < all.jsonl)" -eq "$lines" ] || fail "lines of jsonl"
head -1 all.jsonl | tr -d '[] ' | tr ',' '\n' > numbers
[ "$(wc -l < numbers)" -eq $width ] || fail "numbers of a line: $(wc -l < numbers)"
od -An -v -tf4 -w4 -N $((width * 4)) all.f32 | tr -d ' ' > floats
paste numbers floats | awk '{ d = $1 - $2; if (d > 1e-6 || d < -1e-6) exit 1 }' || fail "jsonl and f32 differ"

# Poolings differ; --normalize gives length 1; an empty line has a vector.
for how in cls mean max; do "$program" embed -q -m model --format f32 --pooling $how < lines > $how.f32 || fail "$how"; done
same mean.f32 all.f32 "mean is the default"
cmp -s cls.f32 mean.f32 && fail "cls is mean"
cmp -s max.f32 mean.f32 && fail "max is mean"
"$program" embed -q -m model --format jsonl --normalize < lines | tr -d '[]' |
    awk -F, '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.99999 || s > 1.00001) exit 1 }' || fail "length is not 1"
printf '\n' | "$program" embed -q -m model --format jsonl > got && [ "$(wc -l < got)" -eq 1 ] || fail "empty line"
: | "$program" embed -q -m model > none.npy && holds none.npy "'shape': (0, $width), }"

# The vector of an empty text without special tokens is 0, as in sentence-transformers; cls and max have none.
bare_folder model
printf 'the city\n\nof red\n' > some
for how in mean last; do
    "$program" embed -q -m bare --format jsonl --pooling $how some > got || fail "an empty text, $how"
    [ "$(sed -n 2p got | tr -d ' 0,')" = '[]' ] && [ "$(wc -l < got)" -eq 3 ] || fail "an empty text, $how: $(cut -c1-60 got)"
    printf 'the city\nof red\n' | "$program" embed -q -m bare --format jsonl --pooling $how > others
    sed 2d got | cmp -s - others || fail "the texts next to an empty one, $how"
done
printf '\n' | "$program" embed -q -m bare --format jsonl | tr -d ' 0,' > got && [ "$(cat got)" = '[]' ] || fail "an empty text alone"
"$program" embed -q -m bare --tokens --format jsonl some | sed -n 2p > got && [ "$(cat got)" = '[]' ] || fail "tokens of an empty text"
expect 3 'some:2: text: expected a token for pooling max, got none' "$program" embed -q -m bare --pooling max some

# Too long a line is cut and counted, or not at all with 0.
awk 'BEGIN { for (i = 0; i < 100; i++) printf "city "; print "" }' > long
input=long expect 0 '1 of 1 .* 64 tokens.*--max-length' "$program" embed -m model --format f32
cp out cut
input=long expect 0 '' "$program" embed -q -m model --format f32 --max-length 0
cmp -s cut out && fail "--max-length 0 cuts"
input=long expect 0 '' "$program" embed -q -m model --format f32 --quiet

printf 'fine\nfine too\nbroken \303(\n' > bad
input=bad expect 3 'standard input:3: byte 8 \(0xc3\) is not UTF-8' "$program" embed -q -m model --format f32
[ "$(wc -c < out)" -eq $((2 * width * 4)) ] || fail "vectors before the bad line are lost"
expect 3 'bad:3: byte 8' "$program" embed -q -m model -o never.npy bad
[ ! -e never.npy ] || fail "a half-written file"
# A file that is not there is reported before anything is written, also to a pipe.
expect 4 'nowhere: cannot open' "$program" embed -m model lines nowhere
[ ! -s out ] || fail "$(wc -c < out) bytes for a file that is not there"
printf 'a\377b\n' > first
"$program" embed -m model first 2> err | cat > piped
[ ! -s piped ] || fail "$(wc -c < piped) bytes of an input whose first line is bad"
[ "$(ls | grep -c tmp)" -eq 0 ] || fail "a temporary file is left: $(ls)"
# A folder of sentence-transformers says how its vectors are made; options take precedence; what is not here is refused, by embed alone.
folders=$repository/tests/golden/embed/folders
sentence() { rm -rf st; cp -r model st; cp -r "$folders/$1/." st; }
sentence cls-unit
"$program" embed -q -m st --format f32 < lines > got || fail "a folder with modules.json"
"$program" embed -q -m model --pooling cls --normalize --format f32 < lines > expected
same expected got "pooling and normalization of the folder"
"$program" embed -q -m st --pooling mean --normalize=false --format f32 < lines > got
same all.f32 got "options before the folder"
sentence max
sed 's/^/question : /' lines > asked
"$program" embed -q -m st --format f32 < lines > got
"$program" embed -q -m model --pooling max --format f32 < asked > expected
same expected got "the default prompt"
"$program" embed -q -m st --prompt-name passage --format f32 < lines > got
"$program" embed -q -m st --prompt '' --format f32 < lines > other
"$program" embed -q -m model --pooling max --format f32 < lines > expected
same expected got "a prompt by name" && same expected other "no prompt"
expect 2 'prompt_name: .*document, passage, query.*"other"' "$program" embed -m st --prompt-name other lines
expect 2 'prompt, prompt_name: expected one of them, got both' "$program" embed -m st --prompt-name query --prompt x lines
"$program" embed -q -m model --dimensions 8 --normalize --format jsonl < lines > got
[ "$(head -1 got | tr -cd , | wc -c)" -eq 7 ] || fail "numbers of a vector cut to 8: $(head -1 got)"
"$program" embed -q -m model --format jsonl < lines | head -3 | tr -d '[] ' | awk -F, '{ s = 0; for (i = 1; i <= 8; i++) s += $i * $i; printf "%.4f\n", $1 / sqrt(s) }' > expected
head -3 got | tr -d '[] ' | awk -F, '{ printf "%.4f\n", $1 }' > first
same expected first "cut, then scaled"
expect 2 'dimensions: .* 32.* 33' "$program" embed -m model --dimensions 33 -o none.npy lines
sentence dense
expect 4 '2_Dense: expected weights' "$program" embed -m st -o none.npy lines
expect 0 '' "$program" fill-mask -m st 'the [MASK]'
sentence mean
mkdir st/0_Transformer && (cd st && mv config.json model.safetensors vocab.txt *tokens_map.json tokenizer_config.json 0_Transformer)
sed '0,/"path": ""/s//"path": "0_Transformer"/' st/modules.json > modules && mv modules st/modules.json
"$program" embed -q -m st --format f32 < lines > got || fail "a model below the folder"
same all.f32 got "a model below the folder"
"$program" info -m st | grep -q '^  file *st/0_Transformer/model.safetensors$' || fail "info of a model below the folder"
expect 0 '' "$program" verify st
expect 0 '' "$program" tokenize -m st 'the old city'
expect 0 '' "$program" fill-mask -m st 'the [MASK]'
expect 0 '' "$program" prepare -q --text lines --model st -o prepared
printf 'text\tpair\nthe old city\tthe city\nthe river\tof the king\n' > pairs.tsv
expect 0 '' "$program" finetune -q --task embed --model st --train pairs.tsv --max_steps 1 -o tuned
expect 0 '' "$program" evaluate -q -m st --dev pairs.tsv
printf 'an old file\n' > st/0_Transformer/notes; printf 'another\n' > st/notes
for from in st st/; do
    rm -rf below && expect 0 '' "$program" convert -q $from below
    for file in modules.json notes 0_Transformer/notes 0_Transformer/vocab.txt; do same st/$file below/$file; done
    [ ! -e below/config.json ] || fail "convert wrote the model elsewhere"
    "$program" embed -q -m below --format f32 < lines > got || fail "a model below the folder, converted"
    same all.f32 got "a model below the folder, converted"
done
expect 4 'below/notes: expected a new file' "$program" convert -q st below
expect 0 '' "$program" pretrain -q --text lines --model st --max_steps 1 --max_length 32 --tokens_per_batch 64 --eval_documents 0 -o further
sed 's/0_Transformer/..\/st/' st/modules.json > modules && mv modules st/modules.json
expect 4 'st/config.json: cannot open' "$program" info -m st
done_testing
