#!/bin/sh
# plot.sh — plots of runs, the scripts next to them, and error messages.
. "$(dirname "$0")/../lib"
mkdir run-a run-b
awk 'BEGIN { for (i = 1; i <= 50; i++) { printf "{\"step\": %d, \"loss\": %f, \"learning_rate\": %g}\n", i, 5 / i + 1, i * 1e-6;
    if (i % 10 == 0) printf "{\"step\": %d, \"eval_loss\": %f, \"eval_accuracy\": %f}\n", i, 5 / i + 1.1, i / 100 } }' > run-a/metrics.jsonl
sed 's/loss": /loss": 1/' run-a/metrics.jsonl > run-b/metrics.jsonl

expect 3 'metrics.jsonl:2: ' "$program" plot -o x.svg "$(mkdir bad; printf '{"step": 1, "loss": 1}\n{"step": 2, "loss"\n{"step": 3, "loss": 1}\n' > bad/metrics.jsonl; echo bad)"
expect 3 'expected a number "step", got none' "$program" plot -o x.svg "$(printf '{"loss": 1}\n' > bad/one.jsonl; echo bad/one.jsonl)"
expect 3 'expected values of a metric to draw, got none' "$program" plot -o x.svg "$(printf '{"step": 1}\n' > bad/two.jsonl; echo bad/two.jsonl)"
expect 4 'nowhere: cannot open' "$program" plot -o x.svg nowhere
expect 2 'unknown metric los; did you mean loss\?' "$program" plot -o x.svg --metric los run-a
cp run-a/metrics.jsonl log.svg
expect 2 '--output: log.svg .*input' "$program" plot -o log.svg log.svg
same run-a/metrics.jsonl log.svg 'a log that was named as plot'
[ ! -e x.svg ] && [ ! -e x.gp ] || fail "a failure made a file: $(ls)"

mkdir empty
PATH=$work/empty "$program" plot -o x.svg run-a > out 2> err
[ $? -eq 4 ] && grep -q 'gnuplot is not installed .*x.gp' err || fail "without gnuplot: $(cat err)"
[ -s x.gp ] && [ ! -e x.svg ] || fail "script without gnuplot: $(ls)"

if command -v gnuplot > /dev/null; then
    expect 0 'drawn' "$program" plot run-a/metrics.jsonl -o loss.svg
    holds loss.svg '<svg'
    holds loss.svg 'eval_loss'
    holds loss.svg 'learning rate'
    [ "$(grep -c '^set [lr]margin [0-9]' loss.gp)" -eq 2 ] || fail "the panels do not share their margins"
    expect 0 '' "$program" plot -q run-a run-b --metric eval_loss --title "It's two runs" -o 'two runs.png'
    [ "$(head -c 4 'two runs.png' | tail -c 3)" = PNG ] || fail "not a PNG"
    holds 'two runs.png.gp' 'run-b'
    # Two plots of one name but for its ending have a script each; a script of another plot stays.
    expect 0 'loss.svg drawn; loss.gp holds' "$program" plot run-a -o loss.svg
    cp loss.gp kept
    expect 0 'loss.png drawn; loss.png.gp holds' "$program" plot run-b -o loss.png
    same loss.gp kept 'the script of loss.svg'
    holds loss.png.gp "out = 'loss.png'"
    cp loss.png.gp other.gp
    expect 2 'other.gp: the script of a plot other than other.svg' "$program" plot run-a -o other.svg
    expect 2 'other.gp: the script of a plot other than other.svg' "$program" positions plot decay -o other.svg
    same loss.png.gp other.gp 'the script of another plot'
    mkdir again && cp loss.gp again && (cd again && gnuplot loss.gp) 2> /dev/null && [ -s again/loss.svg ] || fail "the script does not run alone"
    # A last line that a crash cut short does not matter.
    printf '{"step": 51, "lo' >> run-a/metrics.jsonl
    expect 0 '' "$program" plot -q run-a -o loss.svg
    # Scores of fine-tuning.
    mkdir tuned && printf '{"step": %d, "loss": 1, "eval_loss": 1, "eval_f1": 0.%d, "eval_spearmanr": 0.5}\n' 1 5 2 6 > tuned/metrics.jsonl
    expect 0 '' "$program" plot -q tuned -o tuned.svg
    holds tuned.svg 'eval_f1'
    holds tuned.svg 'eval_spearmanr'
    expect 0 '' "$program" plot -q tuned run-a --metric eval_f1 -o one.svg
    ! grep -q eval_loss one.svg || fail "curves that were not asked for"
    # A metric by either of its names; what a run has not is named.
    cp one.svg by-name.svg
    for name in f1 eval-f1 eval_f1; do
        expect 0 'run-a: has no eval_f1 to draw' "$program" plot tuned run-a --metric $name -o one.svg
        same by-name.svg one.svg "--metric $name"
    done
    printf '{"step": %d, "loss": 1, "eval_accuracy": 0.%d}\n' 1 5 2 6 > tuned/metrics.jsonl
    expect 0 '' "$program" plot -q tuned --metric accuracy -o one.svg
    holds one.svg 'eval_accuracy'
    expect 0 '' "$program" watch tuned --once --metric accuracy
    holds out 'eval_accuracy'
    expect 0 '' "$program" watch tuned --once --metric f1
    holds out 'no eval_f1 is logged'
    expect 3 'tuned: expected values of f1 to draw, got none' "$program" plot tuned --metric f1 -o none.svg
    expect 2 'unknown metric acuracy; did you mean accuracy' "$program" plot tuned --metric acuracy -o none.svg
    expect 4 'cannot create' "$program" plot run-a -o none/loss.svg

    # Names are files' names, whatever is in them; the script draws into its own folder again.
    mkdir "it's a | folder"
    for name in "it's a | folder/it's.svg" "it's.svg" '|touch drawn; #.svg' '~.svg' '$HOME.svg'; do
        expect 0 'drawn' "$program" plot run-a -o "$name"
        [ -s "$name" ] || fail "not drawn: $name: $(ls)"
        script="$(basename "$name" .svg).gp"
        (cd "$(dirname "$name")" && rm "$(basename "$name")" && gnuplot "./$script") 2> /dev/null
        [ -s "$name" ] || fail "the script draws something else than $name"
        [ ! -e drawn ] || fail "a name was run as a command"
    done
    # A plot that is a link stays one.
    mkdir far && ln -s far/there.svg link.svg
    expect 0 'drawn' "$program" plot run-a -o link.svg
    [ -L link.svg ] && [ -s far/there.svg ] || fail "-o replaced a link"

    # A script that is somebody else's stays as it is, and nothing is drawn.
    echo 'plot sin(x)' > mine.gp
    expect 2 "mine.gp: not a script of this program, and would be overwritten" "$program" plot run-a -o mine.svg
    cp mine.gp mine.png.gp
    expect 2 'mine.png.gp: not a script' "$program" positions plot decay -o mine.png
    same mine.gp mine.png.gp
    [ "$(cat mine.gp)" = 'plot sin(x)' ] && [ ! -e mine.svg ] && [ ! -e mine.png ] || fail "mine.gp was touched: $(ls)"
    expect 0 'drawn' "$program" plot run-b -o loss.svg
fi
[ "$(ls | grep -c '\.tmp-')" -eq 0 ] || fail "temporary files are left: $(ls)"
done_testing
