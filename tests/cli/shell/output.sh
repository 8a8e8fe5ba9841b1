#!/bin/sh
# output.sh — full, closed and removed outputs (C2); outputs that cannot be written (C4); no incomplete files.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
yes 'the city is [MASK] of the river' | head -2000 > lines

if [ -c /dev/full ]; then
    for command in 'tokenize --json' 'fill-mask --json' 'fill-mask' 'embed' 'embed --format f32' 'embed --format jsonl'; do
        # shellcheck disable=SC2086
        "$program" $command -m model < lines > /dev/full 2> err
        [ $? -eq 4 ] || fail "$command > /dev/full"
        grep -qE 'standard output: cannot write: No space left' err || fail "$command: $(cat err)"
    done
    for command in --help --man 'info --env' 'completion zsh' --version; do
        # shellcheck disable=SC2086
        "$program" $command > /dev/full 2> err
        [ $? -eq 4 ] || fail "$command > /dev/full"
    done
    expect 4 'No space left' "$program" embed -m model -o /dev/full lines
fi

# A reader that goes away: silence and 141.
for command in 'tokenize --json' 'fill-mask --json' 'embed --format jsonl' 'embed'; do
    # shellcheck disable=SC2086
    { "$program" $command -m model < lines 2> err; echo $? > code; } | head -1 > /dev/null
    case $(cat code) in 141) ;; 0) [ "$command" = embed ] || fail "$command | head" ;; *) fail "$command | head: $(cat code)" ;; esac
    [ ! -s err ] || fail "$command | head says: $(cat err)"
done

"$program" tokenize -m model --json the >&- 2> err
[ $? -eq 4 ] || fail "closed standard output: $(cat err)"
"$program" embed -m model lines >&- 2> err
[ $? -eq 4 ] || fail "embed with closed standard output: $(cat err)"

# Reported before anything is computed (the input would never end).
mkdir folder
for place in folder nowhere/vectors.npy lines/vectors.npy; do
    timeout 20 sh -c 'yes | "$0" embed -m model -o "$1"' "$program" $place > out 2> err
    [ $? -eq 4 ] || fail "-o $place: $(cat err)"
    grep -qE "^roformer: $place" err || fail "-o $place: $(cat err)"
done
expect 4 'expected a file, got a directory' "$program" embed -m model -o folder lines
if [ "$(id -u)" -ne 0 ]; then
    touch locked; chmod a-w locked
    expect 4 'locked: cannot write' "$program" embed -m model -o locked lines
    mkdir closed; chmod a-w closed
    expect 4 'cannot create' "$program" embed -m model -o closed/v.npy lines
fi

# A file is replaced as a whole, keeps its mode, and stays what it was after a failure.
echo old > v.npy; chmod 640 v.npy
printf 'a\n\377\n' > bad
expect 3 'not UTF-8' "$program" embed -m model -o v.npy bad
[ "$(cat v.npy)" = old ] || fail "a failure replaced the file"
expect 0 '' "$program" embed -m model -o v.npy lines
[ "$(head -c 6 v.npy | tail -c 5)" = NUMPY ] || fail "the file was not replaced"
case $(ls -l v.npy) in -rw-r-----*) ;; *) [ -z "$posix" ] || fail "the mode changed: $(ls -l v.npy)" ;; esac

# A symbolic link stays, and what it leads to is written, there or not; a circle of links is said.
if [ "$posix" ]; then
mkdir far && echo old > far/v.npy && ln -s far/v.npy link.npy && ln -s ../far/new.npy far/two.npy && ln -s far/two.npy one.npy && ln -s circle circle
for name in link one; do
    expect 0 '' "$program" embed -m model -o $name.npy lines
    [ -L $name.npy ] || fail "$name.npy is a link no more"
done
same far/v.npy v.npy 'through a link'
same far/new.npy v.npy 'through two links, to a new file'
expect 4 'circle: cannot open' "$program" embed -m model -o circle lines
fi

# The name's suffix decides the format, where --format does not.
expect 0 '' "$program" embed -m model -o v.jsonl lines
[ "$(head -c 1 v.jsonl)" = '[' ] || fail "v.jsonl holds something else"
expect 0 '' "$program" embed -m model -o v.f32 lines
[ $(($(wc -c < v.f32) % 8000)) -eq 0 ] || fail "v.f32 holds something else: $(wc -c < v.f32)"
expect 0 '' "$program" embed -m model --format npy -o v.jsonl lines
same v.jsonl v.npy '--format takes effect'

# What is read is not overwritten.
cp lines kept
expect 2 '--output: .*lines.*input' "$program" embed -m model -o ./lines v.npy lines
expect 2 '--output: lines.*input' "$program" prepare --text lines --model model -o lines
expect 2 'kept: .*token cache' "$program" prepare --text lines --model model -o kept
expect 2 '--output: lines.*input' "$program" predict -m model --input lines -o lines
same lines kept 'an input that was named as output'
mkdir theirs && echo '{}' > theirs/tokenizer.json
expect 4 'theirs/tokenizer.json.*--overwrite' "$program" vocab --text lines -o theirs --size 40
[ "$(ls | grep -c '\.tmp-')" -eq 0 ] || fail "temporary files are left: $(ls)"
[ "$posix" ] || done_testing

# Links, also of what is read; a pipe; a file system that is full.
ln -s lines also
expect 2 '--output: also.*input' "$program" embed -m model -o also lines
input=lines expect 2 '--output: lines.*input' "$program" embed -m model -o lines
same lines kept 'an input that was named as output'
[ -L also ] || fail "a link was replaced"
ln -s far/b.cache link.cache
expect 0 '' "$program" prepare -q --text lines --model model -o link.cache
[ -L link.cache ] && [ -s far/b.cache ] || fail "prepare replaced a link"
mkfifo pipe
cat pipe > through &
"$program" embed -m model -o pipe lines || fail "-o into a FIFO"
wait
same v.npy through "FIFO"

# Too small a file system, where one can be made: exit 4, and the old file stays.
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=64k tmpfs small 2> /dev/null; then
    echo old > small/v.npy
    expect 4 'small/v.npy: cannot write: No space left' "$program" embed -m model -o small/v.npy lines
    [ "$(cat small/v.npy)" = old ] || fail "the old file is lost"
    [ "$(ls small | wc -l)" -eq 1 ] || fail "left behind: $(ls small)"
    TMPDIR=$work/small "$program" embed -m model < lines 2> err | cat > got
    grep -q 'No space left' err || fail "a full TMPDIR: $(cat err)"
    umount small
fi
[ "$(ls | grep -c '\.tmp-')" -eq 0 ] || fail "temporary files are left: $(ls)"
done_testing
