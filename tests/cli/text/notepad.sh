#!/bin/sh
# notepad.sh — text as programs of Windows write it: a byte order mark and CRLF change nothing, in any command that reads
# text; UTF-16, which PowerShell 5 writes, is refused with what converts it.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1

# windows FILE   the same text in FILE.crlf, and in UTF-16 in FILE.wide
windows() {
    { printf '\357\273\277'; sed 's/$/\r/' "$1"; } > "$1.crlf"
    { printf '\377\376'; sed 's/$/\r/' "$1" | iconv -f UTF-8 -t UTF-16LE; } > "$1.wide"
}
# both COMMAND...   @ stands for the file: the same words for both files, and UTF-16 is refused
both() {
    for end in '' .crlf .wide; do
        command=
        for word; do command="$command '$(echo "$word" | sed "s/@/$file$end/g")'"; done
        case $end in
            .wide) eval "expect 3 'expected UTF-8, got UTF-16.*iconv -f UTF-16 -t UTF-8.*PowerShell' \"\$program\" $command" ;;
            *) eval "expect 0 '' \"\$program\" $command" ;;
        esac
        [ "$end" ] || cp out first
        [ "$end" != .crlf ] || same first out "$*"
    done
}
# alike NAME   what was written for both, but for the name of the text
alike() { same "$file.$1" "$file.crlf.$1"; }

printf 'the city\nthe old river\n\nthe house of the river\n' > lines
windows lines
file=lines
both embed -q -m model --format jsonl @
both embed -q -m model -o @.npy @
alike npy
for wide in 'UTF-32 UTF-32' 'UTF-32LE UTF-32LE' 'UTF-32BE UTF-32BE' 'UTF-16LE UTF-16LE' 'UTF-16BE UTF-16BE'; do
    set -- $wide
    sed '1s/^/a long line of letters: /' lines | iconv -f UTF-8 -t $1 > other
    expect 3 "expected UTF-8, got $2; convert it with iconv -f $2 -t UTF-8" "$program" embed -q -m model --format jsonl other
done
printf '\357\273\277' > mark
expect 0 '' "$program" embed -q -m model --format jsonl mark
[ ! -s out ] || fail "a byte order mark alone is a line: $(cat out)"
expect 3 'expected at least one text' "$program" index -q -m model -o mark.index mark
expect 4 'none/a/b.index: cannot create' "$program" index -q -m model -o none/a/b.index lines
both rank -q -m model 'the city' @
both similarity -q -m model @
both index -q -m model -o @.index @
for part in codes.npy lines.txt; do same lines.index/$part lines.crlf.index/$part; done
! grep -q "$(printf '\r')" lines.crlf.index/lines.txt || fail "an index keeps the CR"
for command in tokenize fill-mask; do
    sed 's/old/[MASK]/; s/the city/& [MASK]/; s/house/[MASK]/; /./!d' lines > masks
    windows masks
    for end in '' .crlf; do
        input=masks$end expect 0 '' "$program" $command -m model --json
        [ "$end" ] || cp out first
    done
    same first out "$command"
    input=masks.wide expect 3 'standard input: expected UTF-8, got UTF-16.*iconv' "$program" $command -m model
done

sentences 40 > text
windows text
file=text
both vocab -q --text @ --size 60 -o @.vocab
alike vocab/vocab.txt
both evaluate -q -m model --text @ --max_length 32
both prepare -q --text @ --model model -o cache --json
for end in '' .crlf; do
    expect 0 '' "$program" pretrain -q --text text$end --model model --max_steps 2 --tokens_per_batch 128 --max_length 32 -o text$end.run
done
alike run/model.safetensors
expect 3 'text.wide: expected UTF-8, got UTF-16.*iconv' "$program" pretrain -q --text text.wide --model model --max_steps 2 -o no.run

for separator in '\t' ,; do
    case $separator in ,) file=table.csv ;; *) file=table.tsv ;; esac
    awk -v s="$separator" 'BEGIN { print "text" s "label"; for (i = 0; i < 24; i++) print (i % 2 ? "the old city" : "the river and the house") s (i % 2 ? "good" : "bad") }' > table
    for end in '' .crlf .wide; do mkdir -p "t$end"; done
    windows table
    for end in '' .crlf .wide; do cp table$end "t$end/$file"; done
    for end in '' .crlf; do
        expect 0 '' "$program" finetune -q -m model --train "t$end/$file" --max_steps 2 --dropout 0 -o "$file.run$end"
        expect 0 '' "$program" predict -q -m "$file.run" --input "t$end/$file" -o "$file.said$end"
    done
    same "$file.run/model.safetensors" "$file.run.crlf/model.safetensors" finetune
    same "$file.said" "$file.said.crlf" predict
    expect 3 'expected UTF-8, got UTF-16.*iconv' "$program" finetune -q -m model --train "t.wide/$file" --max_steps 2 -o no.run
done

# Files of a model: lines of a vocabulary may end with CRLF. A byte order mark is refused by name, as in Python.
cp -r model crlf
sed 's/$/\r/' model/vocab.txt > crlf/vocab.txt
sed 's/$/\r/' model/config.json > crlf/config.json
expect 0 '' "$program" embed -q -m model --format jsonl lines
cp out first
expect 0 '' "$program" embed -q -m crlf --format jsonl lines
same first out "a model's files with CRLF"
{ printf '\357\273\277'; cat model/config.json; } > crlf/config.json
expect 3 'config.json: .*without a byte order mark' "$program" embed -q -m crlf lines
done_testing
