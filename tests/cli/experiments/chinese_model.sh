#!/bin/sh
# chinese_model.sh — the script that makes the shipped Chinese model: held-out text is not trained on, and a stopped run
# continues.
. "$(dirname "$0")/../lib"
bin=$(dirname "$program")
if [ ! -x "$bin/experiments/hold_out" ]; then echo "SKIPPED: no $bin/experiments/hold_out"; exit 0; fi
awk 'BEGIN { split("天 地 玄 黄 宇 宙 洪 荒 日 月 盈 昃 辰 宿 列 张 寒 来 暑 往 秋 收 冬 藏", w)
    for (i = 1; i <= 700; i++) { print "<doc id=\"" i "\" title=\"第" i "篇\">\n第" i "篇\n"
        for (k = 0; k < 60; k++) printf "%s%s第%d篇。", w[1 + (i + k) % 24], w[1 + i * k % 24], i
        print "\n</doc>" } }' > articles.txt
mkdir -p data/zhwiki data/niutrans-modern
gzip -c articles.txt > data/zhwiki/zhwiki_AA_00-59.txt.gz
head -n 250 articles.txt | sed 's/第/卷/g' | gzip -c > data/niutrans-modern/modern_12books.txt.gz
mkdir programs
ln -s "$program" "$bin/experiments/hold_out" programs
unset THREADS
export PROGRAMS="$PWD/programs"
export ALPHABET=24
recipe=$repository/experiments/shipped-model/chinese.sh
"$recipe" data work 60 --stop_after 1 > out 2> err
code=$?
if grep -q 'expected a dictionary of words, got none' err; then echo "no dictionary of Chinese words was installed"; done_testing; fi
[ $code -eq 75 ] || fail "exit $code, expected 75: $(tail -n 3 err)"
[ "$(grep -c '^<doc' work/text/held-wiki.txt) $(grep -c '^<doc' work/text/wiki.txt)" = "600 100" ] || fail "held out: $(grep -c '^<doc' work/text/held-wiki.txt)"
[ "$(grep -c '^<doc' work/text/held-books.txt) $(grep -c '^<doc' work/text/books.txt)" = "40 10" ] || fail "held out: $(grep -c '^<doc' work/text/held-books.txt)"
grep '^<doc' work/text/held-wiki.txt > held
grep -F -f held work/text/wiki.txt && fail "an article that is held out is trained on"
[ "$(wc -l < work/vocab/vocab.txt)" -eq 60 ] || fail "$(wc -l < work/vocab/vocab.txt) tokens"
expect 75 'stage 1 of 4' "$recipe" data work 60 --stop_after 1
ls -d work/model/checkpoint-2 > /dev/null || fail "not resumed: $(ls work/model)"

# By the character: what is hidden is known to n-grams that counted the text itself, and every predictor has a row.
if [ -x "$bin/experiments/characters" ]; then
    awk 'BEGIN { n = split("天 地 玄 黄 宇 宙 洪 荒 日 月 盈 昃 辰 宿 列 张 寒 来 暑 往 秋 收 冬 藏", w)
        for (i = 1; i <= 20; i++) { for (k = 0; k < n; k++) printf "%s", w[1 + (i + k) % n]; print "" } }' > few.txt
    "$bin/experiments/characters" -d "$bin/dictionary/jieba.words" -n 20 work/model/checkpoint-2 work/model/checkpoint-2 -- few.txt -- few.txt > table 2> why ||
        fail "characters: $(cat why)"
    [ "$(grep -c '^| checkpoint-2 | [0-9.]* % | [0-9.]* % | [0-9.]* |$' table)" -eq 2 ] || fail "rows of models: $(cat table)"
    [ "$(grep '^| checkpoint-2' table | sort -u | wc -l)" -eq 1 ] || fail "the same model says something else: $(cat table)"
    grep -q '^few.txt: 20 words of [0-9]* characters' table || fail "lines: $(cat table)"
    awk -F '|' '/two-sided/ { right = $3 + 0 } END { exit !(right > 90) }' table || fail "n-grams of the text: $(cat table)"
fi
done_testing
