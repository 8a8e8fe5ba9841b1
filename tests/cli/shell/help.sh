#!/bin/sh
# help.sh — help, man pages and completion come from one table and are complete.
. "$(dirname "$0")/../lib"

expect 0 '' "$program" --help
commands=$(sed -n '1,/^options of every command:/p' out | awk '/^  [a-z]/ { print $1 }')
[ "$(echo "$commands" | wc -l)" -ge 30 ] || fail "few commands: $commands"
listed=$(sed -n '/^## What they cost/,/^## Looking/p' "$repository/docs/positions.md" | grep -c '^| `')
grep -q "\[$listed of them\](docs/positions.md)" "$repository/README.md" || fail "README has another number of encodings than $listed"
expect 0 '' "$program" --man
cp out man
expect 0 '' "$program" completion bash
cp out bash
expect 0 '' "$program" completion zsh
cp out zsh
expect 0 '' "$program" completion fish
cp out fish
for command in $commands; do
    expect 0 '' "$program" "$command" --help
    cp out help
    holds help 'examples:'
    grep -qE '^  roformer|^  source' help || fail "$command --help has no example"
    expect 0 '' "$program" help "$command"
    same help out "help $command"
    expect 0 '' "$program" "$command" -h
    grep -q '^examples:' out && fail "$command -h is not short"
    holds fish "-a $command "
    expect 0 '' "$program" help --man "$command"
    cp out "roformer-$command.1"
    tr -d '\\' < "roformer-$command.1" | grep -A1 '^.SH NAME' | grep -q "^roformer-$command - " || fail "the name in roformer-$command.1"
    grep -q "$(echo "$command" | sed 's/-/\\\\-/g')" man || fail "$command is not in the manual"
    for option in $(grep -oE '^ {2,6}(-., )?--[a-z0-9_-]+' help | grep -oE -e '--[a-z0-9_-]+'); do
        grep -qF -e " $option" bash || fail "bash completion lacks $option"
        grep -qF -e "$option" zsh || fail "zsh completion lacks $option"
        grep -qF -e "-l ${option#--}" fish || fail "fish completion lacks $option"
        for page in man "roformer-$command.1"; do
            grep -qF -e "\\-\\-$(echo "${option#--}" | sed 's/-/\\-/g')" "$page" || fail "$page lacks $option"
        done
    done
done
awk 'length($0) > 100 { print FILENAME ": " $0; bad = 1 } END { exit bad }' help || fail "help is wider than 100 columns"
grep -n ' $' man roformer-*.1 && fail "blanks at the ends of the manual's lines"
if command -v mandoc > /dev/null; then mandoc -Tlint -W style man roformer-*.1 > lint || { fail "mandoc:"; cat lint >&2; }; fi
if command -v bash > /dev/null; then bash -n bash || fail "bash completion does not parse"; fi
if command -v zsh > /dev/null; then zsh -n zsh || fail "zsh completion does not parse"; fi
if command -v fish > /dev/null; then fish --no-execute fish || fail "fish completion does not parse"; fi

# The completion works, not only parses.
if command -v bash > /dev/null; then
    bash -c '. ./bash
        try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _roformer; echo "${COMPREPLY[*]}"; }
        try roformer pretr
        try roformer embed --pooling m
        try roformer embed --norm' > tried
    printf 'pretrain\nmean max\n--normalize\n' > expected
    same expected tried "bash completion"
fi

"$program" help pretrain | tr -d ' \n' | grep -q 'linear|cosine|constant|.*|inverse_sqrt|piecewise|one_cycle.*learning-rateschedule' || fail "a long list of choices is cut"
# The page of training's options is what the program says, and an option says what it needs to have an effect.
for page in options commands; do
    "$program" help --markdown $page > page
    same page "$repository/docs/$page.md" "docs/$page.md (roformer help --markdown $page > docs/$page.md)"
done
"$program" help pretrain | tr -d ' \n' | grep -q 'momentumXmomentumfactor(--optimsgd)' ||
    fail "what momentum needs"
for command in pretrain finetune; do
    "$program" help $command | grep -q -e '--warmup_ratio' || fail "$command has no --warmup_ratio"
done
for command in pretrain finetune train-translation; do                  # a row says nothing of another command
    "$program" $command -h | tr '\n' ' ' | tr -s ' ' > help
    for other in pretrain finetune train-translation; do
        [ $other != $command ] || continue
        if grep -oE ".{40}[ (]$other: .{20}" help >&2; then fail "$command -h has a row about $other"; fi
    done
done
"$program" help completion | grep -q '^options:$' && fail "a heading of no options"
"$program" help vocab | tr -d ' \n' | grep -q 'default:zh' && fail "the single value of --lang is shown as its default"
"$program" help pretrain | grep -q ' $' && fail "blanks at the ends of lines"

expect 0 '' "$program" --version
grep -qE '^roformer [0-9]+\.[0-9]+\.[0-9]+' out || fail "version: $(cat out)"
expect 2 'unknown command emebd; did you mean embed\?' "$program" help emebd
done_testing
