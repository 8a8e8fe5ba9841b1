#!/bin/sh
# windows.sh — what only Windows has: names of devices, files that another program does not share, names that are longer
# than 260 characters or differ by capital letters, patterns that cmd leaves to the program, consoles and Ctrl-C.
. "$(dirname "$0")/../lib"
tools=$(dirname "$make_model")
"$make_model" model || exit 1
printf 'the city\nthe old river\n' > lines
expect 0 '' "$program" embed -q -m model -o v.npy lines

# A name that would be a device, or another file, is refused, not written to nowhere.
for name in nul.npy con.txt 'folder/aux' 'v.' 'v ' 'v.npy:stream'; do
    mkdir -p folder
    expect 4 'Invalid argument \(Windows has no names with .*nul, con' "$program" embed -q -m model -o "$name" lines
    expect 4 'Invalid argument' "$program" embed -q -m model "$name"
done
expect 4 'Invalid argument' "$program" index -q -m model -o lpt1.index lines
expect 4 'Invalid argument' "$program" convert -q model 'new.'
expect 4 '\*\.txt: cannot open: Invalid argument .*\* \?' "$program" embed -q -m model '*.txt'
expect 0 '' "$program" embed -q -m model -o NUL lines
[ -z "$(ls | grep -viE '^(model|lines|v.npy|folder|out|err)$')" ] || fail "written: $(ls)"

# A file that another program has open: awaited for about a second, then named.
held() {        # held FILE [SECONDS]
    rm -f hold && mkfifo hold
    "$tools/make_held" "$@" < hold > has 2>&1 &
    pid=$!
    exec 3> hold
    await grep -q held has
}
cp v.npy old.npy
held old.npy
expect 4 'old.npy: cannot replace: another program has it open and does not share it' "$program" embed -q -m model -o old.npy lines
expect 4 'old.npy: cannot open: another program has it open' "$program" embed -q -m model old.npy
exec 3>&-
wait $pid
cmp -s old.npy v.npy || fail "old.npy is not what it was"
[ "$(ls | grep -c tmp)" -eq 0 ] || fail "left behind: $(ls)"
expect 0 '' "$program" embed -q -m model -o old.npy lines
cp -r model taken
held taken/model.safetensors
expect 4 'taken/model.safetensors: cannot open: another program has it open' "$program" embed -q -m taken lines
expect 4 'taken/model.safetensors: cannot (open|replace): another program has it open' "$program" convert -q --overwrite --dtype bf16 model taken
exec 3>&-
wait $pid
rm -f hold has

# A disk that is full, where one can be made.
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=64k tmpfs small 2> /dev/null; then
    yes 'the city of the old river' | head -2000 > many
    echo old > small/v.npy
    expect 4 'small/v.npy: cannot write: No space left' "$program" embed -q -m model -o small/v.npy many
    [ "$(cat small/v.npy)" = old ] || fail "the old file is lost"
    expect 4 'small/new/.*: cannot write: No space left' "$program" index -q -m model -o small/new many
    expect 4 'small/model/.*: cannot .*: No space left' "$program" convert -q model small/model
    [ -z "$(find small -name '*tmp*')" ] || fail "left behind: $(find small)"
    umount small
fi

# Long names; a name of another case is the same one.
long=$(printf '%0120d' 1)
mkdir -p "$long/$long/$long" && cp -r model lines "$long/$long/$long"
expect 0 '' "$program" embed -q -m "$long/$long/$long/model" -o "$long/$long/$long/v.npy" "$long/$long/$long/lines"
same v.npy "$long/$long/$long/v.npy" 'a long name'
expect 0 '' "$program" index -q -m "$long/$long/$long/model" -o "$long/$long/$long/new.index" lines
expect 0 '' "$program" search -q "$long/$long/$long/new.index" 'the city'
expect 0 '' "$program" embed -q -m MODEL -o v2.npy LINES
same v.npy v2.npy 'another case'
expect 2 '--output: LINES.*input' "$program" embed -q -m model -o LINES lines
expect 0 '' "$program" index -q -m model -o lines.index lines
expect 2 'Lines.Index: expected a new folder' "$program" index -q -m model -o Lines.Index lines
expect 4 'MODEL: expected a folder without weights' "$program" convert -q lines.index/../model MODEL
expect 0 '' "$program" search -q LINES.INDEX 'the city'

# Arguments in quotes, with backslashes; bytes of standard input, of which Ctrl-Z is one.
for text in 'a "quoted" word' 'c:\dir\' '\\server\"x\\"' 'two  blanks' '' '*.txt ?'; do
    printf '%s\n' "$text" > typed
    input=typed expect 0 '' "$program" tokenize -m model --json
    cp out first
    expect 0 '' "$program" tokenize -m model --json "$text"
    same first out "the argument $text"
done
printf 'the\032city\nthe river\n' > typed
input=typed expect 0 '' "$program" tokenize -m model --json
[ "$(wc -l < out)" -eq 2 ] || fail "Ctrl-Z ends standard input: $(cat out)"
! grep -q "$(printf '\r')" out || fail "standard output has CRLF"

# A console gets UTF-8 as characters, and lines as wide as it is.
shown() { "$tools/make_console" "$@" < /dev/null | sed "s/$(printf '\033')\[[^a-zA-Z]*[a-zA-Z]//g" | tr -d '\r' > out; }
shown 100 "$program.exe" tokenize -m model --json 'Fluß 東'
tr -d '\n' < out | grep -q '"text"\{0,1\}.*東\|"東"' || fail "a console: $(cat out)"

# Ctrl-C: training saves a checkpoint, and the same command goes on.
sentences 60 > text
train="pretrain --text text --model model --max_steps 400 --tokens_per_batch 128 --max_length 32 --save_steps 5 --seed 1"
rm -f keys && mkfifo keys
# shellcheck disable=SC2086
"$tools/make_console" 100 "$program.exe" $train -o run < keys > shown &
pid=$!
exec 3> keys
await test -d run/checkpoint-5
printf c >&3
wait $pid
code=$?
exec 3>&-
[ $code -eq 75 ] || fail "Ctrl-C gives $code: $(tail -c 600 shown)"
last=$(ls -d run/checkpoint-* | sed 's/.*-//' | sort -n | tail -1)
[ -f "run/checkpoint-$last/COMPLETE" ] || fail "no checkpoint after Ctrl-C: $(ls run)"
# shellcheck disable=SC2086
expect 0 '' "$program" $train -q -o run --resume latest --max_steps $((last + 2)) --stop_after $((last + 2))
done_testing
