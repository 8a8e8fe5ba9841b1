#!/bin/sh
# triples.sh — triples from articles: parts of one article belong together, no article is in two splits, the same seed
# gives the same files, and the task mc learns from them.
. "$(dirname "$0")/../lib"
triples=$(dirname "$program")/experiments/triples
if [ ! -x "$triples" ]; then echo "SKIPPED: no $triples"; exit 0; fi
# 60 articles on 60 subjects, two of each kind; every sentence tells its article.
awk 'BEGIN { for (i = 0; i < 60; i++) { for (k = 0; k < 12; k++) printf "第%d篇讲的是事情%d和%d，这是第%d句。", i, i % 7, i % 5, k; print "\n" } }' > articles.txt
mkdir one two three
expect 2 'triples \[--characters N\]' "$triples" articles.txt
expect 3 'nowhere.txt' "$triples" -o one nowhere.txt
expect 3 'cannot write: nowhere/' "$triples" --characters 100 -o nowhere articles.txt
expect 0 '' "$triples" --characters 100 -o one articles.txt
holds out 'test.json: '
[ "$(cat one/train.json one/dev.json one/test.json | wc -l)" -eq 60 ] || fail "$(wc -l one/*.json)"
for a in one/train.json one/dev.json one/test.json; do
    sed 's/"label".*//; s/第\([0-9]*\)篇/\n&\n/g' "$a" | grep '^第[0-9]*篇$' | sort -u > "$a.articles"
done
[ -z "$(cat one/*.articles | sort | uniq -d)" ] || fail "articles in two splits: $(cat one/*.articles | sort | uniq -d | head -3)"
# A and the right candidate begin with, or go on about, one article; the wrong one is another.
awk -F'"' '{ for (i = 2; i < NF; i += 4) field[$i] = $(i + 2)
             wrong = field["label"] == "B" ? field["C"] : field["B"]
             match(field["A"], /第[0-9]+篇/); a = substr(field["A"], RSTART, RLENGTH)
             if (index(wrong, a) || !index(field[field["label"]], a)) bad++
             swapped += field["label"] == "C" }
     END { if (bad || swapped < 15 || swapped > 45) print bad + 0, "wrong, label C", swapped + 0, "times of", NR }' one/*.json > told
[ ! -s told ] || fail "$(cat told)"
expect 0 '' "$triples" --characters 100 -o two articles.txt
same one/test.json two/test.json "the same seed"
expect 0 '' "$triples" --characters 100 --seed 2 -o two articles.txt
cmp -s one/train.json two/train.json && fail "another seed changes nothing"
expect 0 '' "$triples" --characters 100 --each 3 --test 0.5 -o three articles.txt
[ "$(cat three/*.json | wc -l)" -eq 180 ] || fail "$(wc -l three/*.json)"
done_testing
