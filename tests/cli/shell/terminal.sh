#!/bin/sh
# terminal.sh — texts of files, users and models are printed on a terminal without control characters, and to files and
# pipes unchanged.
. "$(dirname "$0")/../lib"
command -v script > /dev/null || { echo "  skipped: no script(1)"; exit 0; }
export NO_COLOR=1
escape=$(printf '\033') c1=$(printf '\302\233')
# shown COMMAND...   what a terminal gets, in the file out
shown() {
    script -qec "$* 2> talk" /dev/null < /dev/null > typed 2>&1 || fail "exit $?: $*: $(cat typed talk)"
    tr -d '\r' < typed > out
    ! grep -q "$escape" out || fail "an escape sequence from: $*: $(sed 's/\x1b/ESC/g' out | head -3)"
    ! LC_ALL=C grep -q "$c1" out || fail "a control character of C1 from: $*"
}
raw() {     # raw COMMAND...   what a file gets has it
    "$@" > out 2> err || fail "exit $?: $*: $(cat err)"
    grep -q "$escape" out || fail "no escape sequence in a file from: $*"
}
evil=$(printf 'the city \033]0;title\007 \302\2332J is [MASK]')
"$make_model" model || exit 1
printf '%s\n' "$evil" "the city is old" > lines

# Texts that are shown again.
raw "$program" fill-mask -m model "$evil"
shown "$program" fill-mask -m model "'$evil'"
grep -q 'the city ?\]0;title? ?2J is' out || fail "fill-mask: $(cat out)"
raw "$program" rank -m model "the city" lines
shown "$program" rank -m model "'the city'" lines
expect 0 '' "$program" index -q -m model lines -o lines.index
raw "$program" search -m model lines.index "the city"
shown "$program" search -m model lines.index "'the city'"

# What a causal model goes on with, and texts with their scores.
sentences 60 > text.txt
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
small_json base/vocab.txt 1 32
expect 0 '' "$program" pretrain -q --text text.txt --model base --config small.json --tokens_per_batch 512 --max_length 64 --eval_documents 5 --objective clm --max_steps 1
raw "$program" generate -m base -n 3 "$evil"
shown "$program" generate -m base -n 3 "'$evil'"
raw "$program" score -m base "$evil"
shown "$program" score -m base "'$evil'"

# Names in a folder's files.
sed 's/{/{"id2label": {"0": "good\\u001b[2J", "1": "bad"}, /' model/config.json > config.json && mv config.json model/config.json
shown "$program" info -m model

# JSON has no character that a terminal takes for an order, wherever it goes, and says the same.
"$program" rank -m model --json "the city" lines > out
LC_ALL=C grep -q "$c1" out && fail "a control character of C1 in JSON"
grep -q '\\u001B\]0;title\\u0007 \\u009B2J' out || fail "JSON: $(cat out)"
# Messages.
expect 4 'the city \?\]0;title\? \?2J' "$program" embed -m model -o v.npy "$(printf 'the city \033]0;title\007 \302\2332J')"
done_testing
