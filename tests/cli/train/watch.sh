#!/bin/sh
# watch.sh — monitoring of runs: watch, report, smoothing and bands of plot.
. "$(dirname "$0")/../lib"
tales 900 > a.txt
"$program" vocab -q --text a.txt --size 100 -o base || exit 1
small_json base/vocab.txt 1 32
shape="--config small.json --tokens_per_batch 512 --max_length 64 --eval_documents 20 --logging_steps 1 --validation_split 0.05"
# shellcheck disable=SC2086
expect 0 'report.html written' "$program" pretrain --text a.txt --model base -o 'run <1>' $shape --max_steps 70 --eval_steps 30 --learning_rate 2e-3 --report

# The report: well-formed, alone, with curves, numbers, predictions; a name is text, not HTML.
page='run <1>/report.html'
if command -v xmllint > /dev/null; then xmllint --noout "$page" || fail "not well-formed"; fi
grep -qiE '<script|(src|href)="|url\(' "$page" && fail "the report asks for something outside itself"
for part in '<h1>run &lt;1&gt;</h1>' 'class="raw"' 'class="b"' '<th>held-out loss</th>' '70 of 70' 'in place of masked words' 'lr_scheduler_type' '<figcaption>gradient norm'; do
    holds "$page" "$part"
done
expect 0 '' "$program" report -q 'run <1>' --sample 'the [MASK] sees the cat.' -o - 
holds out 'sees the cat.'
expect 4 'nowhere: cannot open' "$program" report nowhere -o x.html
expect 0 'run <1>.report.html written' "$program" report 'run <1>'
holds 'run <1>/report.html' '<title>run &lt;1&gt;'
rm 'run <1>/report.html'
expect 3 '--sample: expected a mask token' "$program" report 'run <1>' --sample 'the cat.' -o x.html
[ ! -e x.html ] || fail "a failed report left a page"

# watch: what is there, once.
expect 0 '' "$program" watch 'run <1>' --once --rows 3
holds out 'step 70 of 70 (100 %)'
holds out ', done'
holds out 'held-out loss'
[ "$(wc -l < out)" -eq 7 ] || fail "lines: $(cat out)"
expect 0 '' env LC_ALL=C "$program" watch 'run <1>' --once --rows 3
holds out '*'
expect 0 '' "$program" watch 'run <1>' --once --rows 0 --metric eval_loss
[ "$(wc -l < out)" -eq 2 ] || fail "numbers alone: $(cat out)"
expect 2 'did you mean eval_loss' "$program" watch 'run <1>' --once --metric eval_los
expect 2 'terminal, got something else; use --once' "$program" watch 'run <1>'
expect 4 'nowhere' "$program" watch nowhere --once

# A run that goes on is said to run; afterwards it does not.  Watching it does not disturb its lock.
# shellcheck disable=SC2086
"$program" pretrain -q --text a.txt --model base -o going $shape --max_steps 1000000 --save_steps 0 --eval_steps 0 2> log &
pid=$!
await test -s going/metrics.jsonl
expect 0 '' "$program" watch going --once
holds out ', running'
kill -s TERM $pid
wait $pid
expect 0 '' "$program" watch going --once
holds out ', not running'

# What was not logged is left out; a loss that was null leaves a gap with a mark, not a line across.
mkdir sparse
{
    for k in 1 2 3; do printf '{"step": %d, "loss": %d}\n' $k $k; done
    printf '{"step": 4, "loss": null, "grad_norm": null}\n'
    printf '{"step": 5, "skipped": true, "spike": false, "loss": null, "grad_norm": 2}\n'
    for k in 6 7; do printf '{"step": %d, "loss": %d}\n' $k $k; done
} > sparse/metrics.jsonl
expect 0 '' env LC_ALL=C COLUMNS=40 "$program" watch sparse --once --rows 4
cp out frame
grep -qi 'nan' out && fail "what was not logged is shown: $(cat out)"
grep -q 'epoch\|gradient\|lr \|tokens/s' out && fail "what was not logged is named: $(cat out)"
holds out 'sparse: step 7, not running'
holds out 'loss 7.0000  1 updates skipped'
sed -n 7p out | grep -q 'x' || fail "no mark in the lowest row: $(cat out)"
expect 0 '' "$program" report -q sparse -o sparse.html
grep -qi '[^a-z]nan' sparse.html && fail "nan in a report: $(grep -i nan sparse.html)"
[ "$(grep -c '<polyline class="a"' sparse.html)" -eq 2 ] || fail "a line across a gap: $(grep polyline sparse.html)"
[ "$(grep -c 'class="gap"' sparse.html)" -eq 2 ] || fail "gaps are not marked"
holds sparse.html 'step 4: no number'
grep -q 'gradient norm' sparse.html && fail "a panel of nothing"
block() { sed -n "/^\$r0_$2 << /,/^EOD/p" "$1" | sed '1d;$d' | tr '\n' ' '; }
PATH=/nowhere "$program" plot sparse -o sparse.svg 2> err
[ "$(block sparse.gp loss)" = "1 1 2 2 3 3 4 NaN 5 NaN 6 6 7 7 " ] || fail "gaps: $(cat sparse.gp)"
[ "$(block sparse.gp loss_gaps)" = "4 3 5 3 " ] || fail "marks: $(cat sparse.gp)"
PATH=/nowhere "$program" plot sparse --smoothing 0.5 --band two=sparse,sparse -o sparse2.svg 2> err
[ "$(block sparse2.gp loss | grep -o NaN | wc -l)" -eq 2 ] && [ "$(grep -ci nan sparse2.gp)" -eq 4 ] || fail "smoothed: $(cat sparse2.gp)"
if command -v gnuplot > /dev/null; then
    expect 0 'drawn' "$program" plot sparse -o sparse.svg
    expect 0 'drawn' "$program" plot --band two=sparse,sparse -o sparse2.svg
fi

# The page is HTML, whatever it is called: another suffix is refused.
expect 2 '--output: .*html.*r.md' "$program" report sparse -o r.md
[ ! -e r.md ] || fail "a page was written all the same"
expect 0 '' "$program" report -q sparse -o page

# Smoothing and bands, against numbers that can be done by hand: losses 4, 2, 2 with weight 0.5 are 4, 2.66667, 2.28571.
mkdir s1 s2
for k in 4 2 2; do n=$((${n:-0} + 1)); printf '{"step": %d, "loss": %d, "learning_rate": 0.5}\n' $n $k; done > s1/metrics.jsonl
sed 's/"loss": /"loss": 1/' s1/metrics.jsonl > s2/metrics.jsonl
printf '{"step": 4, "loss": 1}\n' >> s2/metrics.jsonl
PATH=/nowhere "$program" plot s1 --smoothing 0.5 -o smooth.svg 2> err
[ "$(sed -n '/^\$r0_loss/,/^EOD/p' smooth.gp | sed '1d;$d' | tr '\n' ' ')" = "1 4 2 2.66666667 3 2.28571429 " ] || fail "smoothing: $(cat smooth.gp)"
PATH=/nowhere "$program" plot --band both=s1,s2 s1 -o band.svg 2> err
[ "$(sed -n '/^\$r1_loss/,/^EOD/p' band.gp | sed '1d;$d' | tr '\n' ' ')" = "1 9 4 14 2 7 2 12 3 7 2 12 " ] || fail "band: $(cat band.gp)"
holds band.gp 'with filledcurves'
holds band.gp "title 'both loss'"
if command -v gnuplot > /dev/null; then
    expect 0 'drawn' "$program" plot --band both=s1,s2 --smoothing 0.3 -o band.svg
    holds band.svg 'both loss'
fi
expect 2 'expected NAME=FILE,FILE,..., got "s1,s2"' "$program" plot --band s1,s2 -o x.svg
expect 2 'plot: expected FILE' "$program" plot -o x.svg
done_testing
