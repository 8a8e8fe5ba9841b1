#!/bin/sh
# input.sh — unreadable inputs, folders, FIFOs, "-" (C3); empty environments and unusual names (C6).
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
printf 'the city\nthe river\n' > lines
"$program" embed -m model --format f32 < lines > expected || exit 1

expect 4 'nowhere: cannot open: No such file' "$program" embed -m model nowhere
expect 4 'model: expected a file, got a directory' "$program" embed -m model model
input=/ expect 4 'standard input: expected a file, got a directory' "$program" embed -m model
{ printf '\357\273\277'; cat lines; } | sed 's/$/\r/' > notepad
"$program" tokenize -m model --json < lines > expected-tokens
"$program" tokenize -m model --json < notepad > got && same expected-tokens got "a byte-order mark and CRLF"
if [ "$posix" ]; then
    mkfifo pipe
    cat lines > pipe &
    "$program" embed -m model --format f32 pipe > got && same expected got "FIFO"
    wait
fi
"$program" embed -m model --format f32 - < lines > got && same expected got "-"
"$program" embed -m model --format f32 <&- > got 2> err
[ $? -eq 4 ] || fail "closed standard input: $(cat err)"
"$program" tokenize -m model --json the <&- > got 2> err || fail "tokenize TEXT with standard input closed: $(cat err)"
"$program" tokenize -m model --json the 2>&- > got || fail "tokenize with standard error closed"

# Lines that end with CR alone would be one line, and one answer: refused; an end of CR, or one inside a line, is none.
printf 'the city\rthe river\r' > mac
input=mac expect 3 "standard input: line ends: expected LF or CRLF, got CR alone" "$program" embed -m model
[ ! -s out ] || fail "vectors of a file of one line"
expect 3 'mac: .*LF or CRLF.*CR.*tr .\\r. .\\n.' "$program" evaluate -m model --text mac
expect 3 'mac: .*LF or CRLF.*CR.*tr .\\r. .\\n.' "$program" vocab --text mac --size 40 -o mac-model
expect 3 'mac: .*LF or CRLF.*CR.*tr .\\r. .\\n.' "$program" bleu mac < lines
printf 'the city\r' > one
input=one expect 0 '' "$program" tokenize -m model --json
printf 'the\rcity\nthe river' > inside
input=inside expect 0 '' "$program" tokenize -m model --json
[ "$(wc -l < out)" -eq 2 ] || fail "lines: $(cat out)"

# No model: said at once, with what to do.
printf 'a\0 \0t\0e\0x\0t\0\n\0' > wide
input=wide expect 3 'standard input: expected UTF-8, got UTF-16LE' "$program" embed -m model
input=wide expect 3 'standard input: expected UTF-8, got UTF-16LE' "$program" tokenize -m model
expect 4 'nowhere.*cannot open' "$program" fill-mask -m nowhere '[MASK]'
expect 4 'nowhere' "$program" info -m nowhere

# C locale, no HOME, no terminal, umask 077, names with spaces, UTF-8 and line feeds.
if [ "$posix" ]; then
strange="$work/a b é
c"
mkdir "$strange" && cp model/* "$strange"
env -i ${ROFORMER_ISA:+"ROFORMER_ISA=$ROFORMER_ISA"} "$program" embed -m "$strange" --format f32 "$work/lines" > got 2> err && same expected got "env -i"
(umask 077; LC_ALL=C "$program" embed -m "$strange" --format f32 -o "$strange/out put.f32" lines) && same expected "$strange/out put.f32"
case $(ls -l "$strange/out put.f32") in -rw-------*) ;; *) fail "umask is not kept" ;; esac
LC_ALL=C "$program" fill-mask -m model 'the [MASK]' > got && grep -q '#' got || fail "no bar in the C locale"
LC_ALL=C.UTF-8 "$program" tokenize -m model --json 'Ende 東' > got && holds got '"東"'
LC_ALL=C "$program" tokenize -m model --json 'Ende 東' > got && holds got '"東"'
expect 4 'a b é\?c/none.*cannot open' "$program" info -m "$strange/none"
fi
(cd / && "$program" embed -m "$work/model" --format f32 "$work/lines") > got && same expected got "another folder"

# Compressed text is read as plain text is, from files and standard input, by what it begins with and not by its name.
"$make_model" packed || exit 1
printf 'the city is [MASK] of the river.\n(%s) the [MASK] sees the house.\nthe [MASK].\n' "$(printf '%03000d' 7)" > lines
gzip -c lines > lines.gz && cp lines.gz other && { gzip -c < lines; gzip -c < lines; } > twice.gz && cat lines lines > twice
head -c 60 lines.gz > cut.gz
command -v zstd > /dev/null && zstd -q -c lines > lines.zst
for file in lines.gz other lines.zst; do
    [ -e $file ] || continue
    for command in fill-mask tokenize embed; do
        "$program" $command -m packed < lines > expected
        input=$file expect 0 '' "$program" $command -m packed
        same expected out "$command < $file"
    done
    expect 0 '' "$program" embed -m packed $file
    same expected out "embed $file"
done
"$program" tokenize -m packed < twice > expected
input=twice.gz expect 0 '' "$program" tokenize -m packed
same expected out 'two members'
input=cut.gz expect 3 'the compressed data is cut off' "$program" fill-mask -m packed
expect 3 'cut.gz: the compressed data is cut off' "$program" embed -m packed -o v.npy cut.gz
[ ! -e v.npy ] || fail "vectors of half a file"
cp lines plain.gz && cp lines plain.zst && : > empty.gz && printf 'BZh91AY&SY' > other.bz2
for command in embed similarity index variants; do
    case $command in variants) set -- --sequence AC --input plain.gz ;; index) set -- -o i plain.gz ;; *) set -- plain.gz ;; esac
    expect 3 'plain.gz: .*gzip' "$program" $command -m packed "$@"
done
expect 3 'plain.zst: expected zstd data, got other bytes' "$program" embed -m packed plain.zst
expect 3 'empty.gz: expected gzip data, got an empty file' "$program" embed -m packed empty.gz
expect 3 'other.bz2: .*gzip, zstd.*bzip2' "$program" embed -m packed other.bz2
expect 3 'plain.gz: expected gzip data' "$program" bleu plain.gz < lines
# A line is answered when it is there, also one whose first byte could be the beginning of zstd.
if [ "$posix" ]; then
mkfifo lines.in lines.out
"$program" tokenize -m packed < lines.in > lines.out &
exec 3> lines.in 4< lines.out
printf '(' >&3
printf '\n' >&3
read -r answer <&4 || fail "no answer to a line"
[ "$answer" ] || fail "an empty answer"
printf 'the\n' >&3
read -r answer <&4 || fail "no answer to the second line"
exec 3>&- 4<&-
wait
fi

# A text that ends inside a document, or is damaged later: what was read has its scores, and the failure is reported.
for k in 1 2 3 4 5 6; do
    printf '<doc id="%d">\nTitle\n\nthe city is by the river and the house.\n</doc>\n' $k
done > whole.wiki
{ cat whole.wiki; printf '<doc id="7">\nTitle\n\nthe city is by\n'; } > cut.wiki
expect 0 '' "$program" evaluate -m packed --text whole.wiki --mlm_probability 0.5
cp out scores
expect 3 'cut.wiki:.*expected </doc>, got the end of the file' "$program" evaluate -m packed --text cut.wiki --mlm_probability 0.5
same scores out 'the scores of the documents before'
grep -q 'scores of the first 6 documents' err || fail "not said: $(cat err)"
expect 3 'expected </doc>, got the end of the file' "$program" evaluate -m packed --text cut.wiki --mlm_probability 0.5 --json
holds out '"incomplete": "cut.wiki:'
expect 3 'expected </doc>, got the end of the file' "$program" evaluate -m packed --text cut.wiki --mlm_probability 0.5 --max_lengths 16,32
[ "$(wc -l < out)" -eq 2 ] || fail "lengths: $(cat out)"
printf '<doc id="7">\nTitle\n' > none.wiki
expect 3 'expected </doc>, got the end of the file' "$program" evaluate -m packed --text none.wiki
[ ! -s out ] || fail "scores of nothing: $(cat out)"
done_testing
