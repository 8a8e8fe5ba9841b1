#!/bin/sh
# demo.sh — the demonstration shows its commands and their answers.
. "$(dirname "$0")/lib"
"$make_model" model || exit 1
mkdir tmp && TMPDIR=$PWD/tmp && export TMPDIR
expect 0 '' "$program" demo -m model
for command in fill-mask index search similarity; do holds out "\$ roformer $command"; done
[ "$(grep -cE '^(-?[01]\.[0-9]{4} ){4}-?[01]\.[0-9]{4}$' out)" -eq 5 ] || fail "no matrix of cosines: $(cat out)"
[ "$(grep -c ' %' out)" -ge 18 ] || fail "few predictions"
[ "$(wc -l < out)" -le 66 ] || fail "more than a page: $(wc -l < out) lines"
printf 'one line\nand another one\nthe third one\n' > lines
expect 0 '' "$program" demo -m model --lines lines
[ "$(grep -cE '^-?[01]\.[0-9]{4}	[123]	' out)" -eq 6 ] || fail "no lines found: $(cat out)"
expect 4 'no-such' "$program" demo -m model --lines no-such
[ -z "$(ls tmp)" ] || fail "folders are left: $(ls tmp)"
done_testing
