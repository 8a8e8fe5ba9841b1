#!/bin/sh
# sentence_golden.sh — vectors and similarities of folders are sentence-transformers'
# (tools/golden/golden_sentences.py), also for folders without modules.json and after `convert`; commands that compare
# by cosine reject folders with another similarity.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/sentences

# close A B WHAT   rows of numbers, at most 2e-4 apart: similarity prints four digits
close() {
    awk -v most="$3" 'function bad() { print FILENAME ": line " FNR ": " $0; exit 1 }
        { gsub(/[][,]/, " "); n = split($0, x, " ") }
        NR == FNR { rows = FNR; for (i = 1; i <= n; i++) right[FNR, i] = x[i]; size[FNR] = n; next }
        { if (n != size[FNR]) bad(); for (i = 1; i <= n; i++) { d = x[i] - right[FNR, i]; if (d > most || d < -most) bad() } }
        END { if (FNR != rows) { print "rows: " FNR " of " rows; exit 1 } }' "$1" "$2" || fail "$4"
}
cases=0
for case in "$golden"/cases/*; do
    name=$(basename "$case") cases=$((cases + 1))
    rm -rf m converted other.npy && cp -r "$golden/models/$(cat "$case/model")" m && cp -r "$case/." m && chmod -R u+w m
    rm -f m/model m/vectors.txt m/similarity.txt m/function
    "$program" embed -q -m m --format jsonl "$golden/texts.txt" > got 2> err || fail "$name: embed: $(cat err)"
    close "$case/vectors.txt" got 2e-6 "$name: vectors"
    "$program" convert -q m converted > out 2> err || fail "$name: convert: $(cat err)"
    "$program" embed -q -m converted --format jsonl "$golden/texts.txt" > got 2> err || fail "$name: embed after convert: $(cat err)"
    close "$case/vectors.txt" got 2e-6 "$name: vectors after convert"
    function=$(cat "$case/function" 2> /dev/null)
    if [ -n "$function" ] && [ "$name" != unit-dot ]; then
        why="similarity_fn_name: expected \"cosine\", got \"$function\""
        printf 'text\tpair\tscore\nthe old city\tthe city\t1\nriver\thouse\t0\n' > pairs.tsv
        expect 3 "$why" "$program" similarity -m m "$golden/texts.txt"
        expect 3 "$why" "$program" rank -m m "the city" "$golden/texts.txt"
        expect 3 "$why" "$program" index -m m -o lines.index "$golden/texts.txt"
        expect 3 "$why" "$program" evaluate -m m --task embed --dev pairs.tsv
        expect 3 "$why" "$program" finetune --task embed --model m --train pairs.tsv --max_steps 1 -o run
        [ ! -e lines.index ] || fail "$name: an index was left"
        "$program" info -m m --json | grep -q "\"similarity\": \"$function\"" || fail "$name: info"
        # The remedy that the message names.
        sed -i 's/"similarity_fn_name": "[a-z]*"/"similarity_fn_name": "cosine"/' m/config_sentence_transformers.json
        "$program" index -q -m m -o made.index "$golden/texts.txt" && cp "$case/config_sentence_transformers.json" m/
        expect 3 "$why" "$program" search -m m made.index "the city"
        rm -rf made.index
    else
        "$program" similarity -q -m m "$golden/texts.txt" > got 2> err || fail "$name: similarity: $(cat err)"
        close "$case/similarity.txt" got 6e-5 "$name: similarity"
    fi
done
[ $cases -ge 35 ] || fail "$cases cases"

# Several poolings, a prompt that is not pooled, modules: every command computes the same vectors; tasks refuse them.
head -1 "$golden/texts.txt" > first.txt
for name in two prompt-two modules; do
    rm -rf m made.index && cp -r "$golden/models/bert" m && cp -r "$golden/cases/$name/." m && chmod -R u+w m
    "$program" rank -q -m m --top-k 0 "$(cat first.txt)" "$golden/texts.txt" > ranks || fail "$name: rank"
    "$program" index -q -m m -o made.index "$golden/texts.txt" || fail "$name: index"
    "$program" search -q -m m --top-k 5 made.index "$(cat first.txt)" > found || fail "$name: search"
    cut -f 1,2 ranks > a && cut -f 1,2 found > b && same a b "$name: rank and search"
    printf 'text\tpair\tscore\nthe old city\tthe city\t1\nriver\thouse\t0\n' > pairs.tsv
    expect 3 'embed, similarity and search compute them' "$program" evaluate -m m --task embed --dev pairs.tsv
    expect 3 'training computes one pooling alone|include_prompt: expected true' "$program" finetune --task embed --model m --train pairs.tsv --max_steps 1 -o run
done
"$program" info -m m --json | grep -q '"pooling": "mean+max"' || fail "info: poolings"
expect 2 'pooling: expected vectors of 16 components, which the folder.s modules take, got cls with 8' "$program" embed -m m --pooling cls -o v.npy first.txt
rm -rf m && cp -r "$golden/models/bert" m && cp -r "$golden/cases/prompt-two/." m && chmod -R u+w m
rm -rf other.index && "$program" index -q -m m --prompt 'query : ' -o other.index "$golden/texts.txt" && grep -q '"include_prompt": false' other.index/index.json || fail "index: include_prompt"

# A name that is no string; a causal model without a pooling, of which sentence-transformers takes the last token.
printf '{"similarity_fn_name": 3}\n' > m/config_sentence_transformers.json
expect 3 'm/config_sentence_transformers.json: similarity_fn_name: expected' "$program" embed -m m "$golden/texts.txt"
"$make_model" plain-words || exit 1
cp -r plain-words causal && sed 's/^{/{"is_decoder": true,/' plain-words/config.json > causal/config.json
printf 'the old city\n' > text
expect 0 'sentence-transformers takes the last token' "$program" embed -m causal -o v.npy text
expect 0 '' "$program" embed -m causal --pooling mean -o v.npy text
done_testing
