#!/bin/sh
# late.sh — token vectors and MaxSim of late-interaction models are PyLate's (tools/golden/golden_late.py); a folder of
# this kind has no vectors of texts, and what cannot be computed is refused by name.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/late

# close A B MOST WHAT   numbers of equal lines and places, at most MOST apart
close() {
    awk -v most="$3" 'function bad() { print FILENAME ": line " FNR; exit 1 }
        { rows = gsub(/\],/, " "); gsub(/[][,]/, " "); n = split($0, x, " ") }
        NR == FNR { lines = FNR; for (i = 1; i <= n; i++) right[FNR, i] = x[i]; size[FNR] = n; row[FNR] = rows; next }
        { if (n != size[FNR] || rows != row[FNR]) bad()
          for (i = 1; i <= n; i++) { d = x[i] - right[FNR, i]; if (d > most || d < -most) bad() } }
        END { if (FNR != lines) { print "lines: " FNR " of " lines; exit 1 } }' "$1" "$2" || fail "$4"
}
cases=0
for m in "$golden"/*/; do
    name=$(basename "$m") cases=$((cases + 1))
    "$program" embed -q -m "$m" --tokens -f jsonl --prompt-name query "$golden/queries.txt" > queries 2> err || fail "$name: $(cat err)"
    close "$m/queries.jsonl" queries 1e-5 "$name: queries"
    for way in "" "--threads 1 --batch-tokens 1" "--threads 3"; do
        "$program" $way embed -q -m "$m" --tokens -f jsonl "$golden/documents.txt" > documents 2> err ||
            "$program" embed $way -q -m "$m" --tokens -f jsonl "$golden/documents.txt" > documents 2> err || fail "$name: $(cat err)"
        close "$m/documents.jsonl" documents 1e-5 "$name: documents $way"
        [ -z "$way" ] && cp documents first || same first documents "$name: bits of documents $way"
    done
    # rank by MaxSim: scores of all lines that are not empty, sorted
    "$program" rank -q -m "$m" --top-k 0 --json --query-prompt-name query "$(head -1 "$golden/queries.txt")" "$golden/documents.txt" > ranked 2> err || fail "$name: rank: $(cat err)"
    sed 's/.*"score": \([^,]*\),.*"line": \([0-9]*\).*/\2 \1/' ranked | sort -n > got
    head -1 "$m/scores.txt" | tr ' ' '\n' | awk '{ print NR, $0 }' | paste -d '\t' - "$golden/documents.txt" | awk -F '\t' '$2 != "" { print $1 }' > right
    close right got 5e-5 "$name: MaxSim"
    sed 's/.*"score": \([^,]*\),.*/\1/' ranked | sort -c -g -r 2> err || fail "$name: rank is not sorted"
done
[ $cases -ge 6 ] || fail "$cases cases"

# Texts have no vectors.
no='which has a vector for each token'
m=$golden/plain
expect 3 "$no" "$program" embed -m "$m" "$golden/documents.txt"
expect 3 "$no" "$program" embed -m "$golden/stanford" "$golden/documents.txt"
expect 3 "$no" "$program" similarity -m "$m" "$golden/documents.txt"
expect 3 "$no" "$program" index -m "$m" -o made.index "$golden/documents.txt"
expect 2 '--pooling: expected none' "$program" rank -m "$m" --pooling cls "the city" "$golden/documents.txt"
expect 2 'skip_special_tokens: expected 0' "$program" embed -m "$m" --tokens -f jsonl --skip-special-tokens "$golden/documents.txt"
expect 2 'max_length: expected 2 or more' "$program" embed -m "$m" --tokens -f jsonl --prompt-name query --max-length 0 "$golden/documents.txt"
expect 2 'prompts? \(query, document\), got "web"' "$program" embed -m "$m" --tokens -f jsonl --prompt-name web "$golden/documents.txt"

# change FILE WHAT TO PATTERN   with another setting, the folder is refused
change() {
    rm -rf m && cp -r "$golden/plain" m && chmod -R u+w m
    sed "s/$2/$3/" "m/$1" > changed && mv changed "m/$1"
    expect 3 "$4" "$program" embed -m m --tokens -f jsonl "$golden/documents.txt"
}
settings=config_sentence_transformers.json
change $settings '"\[Q\] "' '"[other] "' 'query_prefix: expected a token of the tokenizer, got "\[other\] "'
change $settings '"query_length": 12' '"query_length": 0' 'query_length: expected a number of tokens'
change $settings '"do_query_expansion": true' '"do_query_expansion": 1' 'do_query_expansion: expected true or false, got 1'
change modules.json pylate.models.Dense.Dense other.Dense 'module 1: expected Dense, got other.Dense'
done_testing
