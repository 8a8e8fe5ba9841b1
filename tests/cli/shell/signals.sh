#!/bin/sh
# signals.sh — a signal while lines arrive: written output is complete, and the exit code shows the signal (C5).
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1

more_than_a_header() { [ "$(wc -c < out)" -gt 128 ]; }

# try SIGNAL CODE FORMAT PREFIX: lines come, then none; the signal arrives while the program waits for more
try() {
    rm -f to out; mkfifo to
    $4 "$program" embed -m model --format "$3" < to > out 2> err &
    pid=$!
    exec 3> to
    awk 'BEGIN { for (i = 0; i < 500; i++) print "the city of paris" }' >&3
    await more_than_a_header
    kill -s "$1" $pid
    wait $pid
    code=$?
    exec 3>&-
    [ $code -eq "$2" ] || fail "$1 gives $code, expected $2: $(cat err)"
    [ ! -s err ] || fail "$1: $(cat err)"
}
# A script's background job ignores INT, unless it asks for it.
if env --default-signal=INT true 2> /dev/null; then try INT 130 f32 'env --default-signal=INT'; fi
try TERM 143 jsonl ''
[ "$(tail -c 2 out)" = ']' ] || fail "the last line is not whole: $(tail -c 20 out)"
[ "$(grep -c '^\[.*\]$' out)" -eq "$(wc -l < out)" ] || fail "a line is not whole"
try HUP 129 f32 ''
[ $(($(wc -c < out) % 128)) -eq 0 ] || fail "a vector is not whole: $(wc -c < out) bytes"
try TERM 143 npy ''
rows=$((($(wc -c < out) - 128) / 128))
head -c 128 out | grep -qF "'shape': ($rows, 32)" || fail "the header does not tell the rows: $(head -c 128 out), $rows"

# A file with -o does not appear.
rm -f to; mkfifo to
"$program" embed -m model -o v.npy < to > out 2> err &
pid=$!
exec 3> to
echo the >&3
begun() { ls | grep -q tmp; }
await begun
kill -s TERM $pid
wait $pid
[ $? -eq 143 ] || fail "TERM with -o"
exec 3>&-
[ ! -e v.npy ] && [ "$(ls | grep -c tmp)" -eq 0 ] || fail "left behind: $(ls)"

# Nor does what was begun of it stay: by a second signal while the program waits, by one that the command does not catch, and when
# weights are cut while they are in use.
left() { [ ! -e "$1" ] && [ "$(ls | grep -c tmp)" -eq 0 ] || fail "$2 leaves: $(ls)"; }
rm -f to; mkfifo to
"$program" embed -m model -o v.npy < to > out 2> err &
pid=$!
exec 3> to
echo the >&3
await begun
kill -s STOP $pid; kill -s TERM $pid; kill -s HUP $pid; kill -s CONT $pid
wait $pid
case $? in 129 | 143) ;; *) fail "TERM and HUP with -o" ;; esac
exec 3>&-
left v.npy 'a second signal'

printf 'text\tlabel\nthe city\ta\nof paris\tb\n' > labels.tsv
"$program" finetune -q -m model --train labels.tsv --max_steps 1 --dropout 0 -o labels || fail "finetune"
{ echo text; yes 'the city of paris of the river' | head -100000; } > many.tsv
"$program" predict -m labels --input many.tsv -o said.tsv > out 2> err &
pid=$!
await begun
kill -s TERM $pid
wait $pid
[ $? -eq 143 ] || fail "TERM of predict"
left said.tsv 'TERM of predict'

cp -r model cut
rm -f to; mkfifo to
"$program" embed -m cut -o v.npy < to > out 2> err &
pid=$!
exec 3> to
await begun
: > cut/model.safetensors
echo the >&3
exec 3>&-
wait $pid
code=$?
[ $code -eq 4 ] || fail "weights that are cut give $code: $(cat err)"
holds err 'file was truncated while in use'
left v.npy 'weights that are cut'

# What cannot be resumed does not end with 75, and an empty folder goes.
yes 'the city of paris of the river' | head -40000 > long.txt
"$program" position-report -m model --text long.txt --max_length 16 --stretches 20000 --pieces 20000 -o report > out 2> err &
pid=$!
await test -d report
kill -s TERM $pid
wait $pid
code=$?
[ $code -eq 143 ] || fail "TERM of position-report gives $code: $(cat err)"
[ ! -e report ] || fail "TERM of position-report leaves $(ls -A report)"
done_testing
