#!/bin/sh
# completion.sh — Tab completion in bash and fish: keys are typed to an interactive bash, where a function that records
# its arguments replaces the program.
. "$(dirname "$0")/../lib"

if command -v fish > /dev/null; then
    "$program" completion fish > script
    mkdir -p 'my model'
    fish -N -c 'source script
        for line in pretr "--threads 2 pretr" "-t 2 embed --pooling m" "help emb" "completion b" "info my" "--color al" "vocab --type wordp" "finetune --task c"
            echo "$line:" (complete -C "roformer $line" | cut -f1 | sort)
        end' > tried
    printf '%s\n' 'pretr: pretrain' '--threads 2 pretr: pretrain' '-t 2 embed --pooling m: max mean' 'help emb: embed' 'completion b: bash' \
        'info my: my model/' '--color al: always' 'vocab --type wordp: wordpiece' 'finetune --task c: cls cross' > expected
    same expected tried 'what fish offers'
    rm expected
fi

command -v bash > /dev/null || done_testing
"$program" completion bash > script
mkdir -p 'my model' 'my model/inner' plain && touch 'my model/a file.txt' "it's here.txt" 'two  blanks.jsonl' '#5.txt' 'x=y.txt'
cat > rc << 'EOC'
PS1=
bind 'set bell-style none'
. ./script
roformer() { printf '<%s>' "$@"; echo; } >> got
EOC

# tab KEYS ARGUMENTS   what is typed before Tab, and the arguments that the line then has
typed=''
tab() {
    typed="${typed}roformer $1\t\n"
    echo "$2" >> expected
}
tab 'pretr'                            '<pretrain>'
tab 'info --tens'                      '<info><--tensors>'
tab 'embed --pooling ma'               '<embed><--pooling><max>'
tab 'embed --pooling=ma'               '<embed><--pooling=max>'
tab 'embed -p ma'                      '<embed><-p><max>'
tab 'embed --max-length 5 --pool'      '<embed><--max-length><5><--pooling>'
tab 'pretrain --text-format ji'        '<pretrain><--text-format><ji>'
tab 'pretrain --text-format js'        '<pretrain><--text-format><jsonl>'
tab 'vocab --type wordp'               '<vocab><--type><wordpiece>'
tab 'finetune --task multil'           '<finetune><--task><multilabel>'
tab 'predict --task=ordi'              '<predict><--task=ordinal>'
tab '--isa re'                         '<--isa><ref>'
tab 'vocab --output_dir pl'            '<vocab><--output_dir><plain/>'

# Names with blanks and quotes stay one argument; where a folder is asked for, no file is offered.
tab 'info -m my'                       '<info><-m><my model/>'
tab 'info my'                          '<info><my model/>'
tab 'info my\\ model/i'                '<info><my model/inner/>'
tab 'verify my\\ model/'               '<verify><my model/inner/>'
tab 'embed my\\ model/a'               '<embed><my model/a file.txt>'
tab "plot -o it"                       "<plot><-o><it's here.txt>"
tab "pretrain --text two"              '<pretrain><--text><two  blanks.jsonl>'
tab "pretrain --text plain it"         "<pretrain><--text><plain><it's here.txt>"
tab 'pretrain --text="my model/a'      '<pretrain><--text=my model/a file.txt>'
tab 'embed \\#'                        '<embed><#5.txt>'
tab 'embed "my m'                      '<embed><my model/>'

# Options before the command, with their values, do not hide it.
tab '--threads 2 pretr'                '<--threads><2><pretrain>'
tab '--threads=2 pretr'                '<--threads=2><pretrain>'
tab '-t 2 -q embed --pooling me'       '<-t><2><-q><embed><--pooling><mean>'
tab '--threads 2 --isa ref info --te'  '<--threads><2><--isa><ref><info><--tensors>'
tab '--color nev'                      '<--color><never>'
tab '--vers'                           '<--version>'
tab 'embed --color al'                 '<embed><--color><always>'

# Operands that are words.
tab 'help pretr'                       '<help><pretrain>'
tab '-q help emb'                      '<-q><help><embed>'
tab 'completion fi'                    '<completion><fish>'
tab 'positions plot wavel'             '<positions><plot><wavelengths>'
tab 'bench forw'                       '<bench><forward>'

# What takes a number offers nothing, not the names of files; so does a word that nothing begins with.
tab 'embed --max_length pl'            '<embed><--max_length><pl>'
tab 'embed --pooling pl'               '<embed><--pooling><pl>'
tab 'pl'                               '<plot>'
tab 'plai'                             '<plai>'
tab 'tokenize -- --js'                 '<tokenize><--><--js>'
# shellcheck disable=SC2059
{ printf "$typed"; echo exit; } | TERM=dumb HISTFILE= INPUTRC=/dev/null bash --noprofile --rcfile rc -i > /dev/null 2> err
sed 's/ *$//' got > trimmed
same expected trimmed 'what Tab makes of a line'
grep -iE 'syntax|command not found|bad' err && fail "the script complains"

# A shell whose word breaks leave --name=value whole.
rm -f got && (cat rc; echo 'COMP_WORDBREAKS=${COMP_WORDBREAKS//=}') > rc2
printf 'roformer embed --pooling=ma\t\nroformer --threads=2 pretr\t\nexit\n' | TERM=dumb HISTFILE= INPUTRC=/dev/null bash --noprofile --rcfile rc2 -i > /dev/null 2> err
printf '<embed><--pooling=max>\n<--threads=2><pretrain>\n' > expected
same expected got 'without = among the word breaks'
done_testing
