#!/bin/sh
# model_matrix.sh — generates the table of families and heads in docs/models/README.md from the golden folders that
# tests compare with (tests/golden/FAMILY/HEAD) and from the tasks that tests/cli/families/families.sh runs.
#
#     sh tools/model_matrix.sh           # prints it
#     sh tools/model_matrix.sh --renew   # writes it to docs/models/README.md
set -eu
cd "$(dirname "$0")/.."
page=docs/models/README.md

# golden FAMILY HEAD: the folder whose numbers another program computed, if there is one
golden() {
    case $1/$2 in
    roformer/masked) folder=tests/golden/models/plain ;;
    roformer/causal) folder=tests/golden/models/causal ;;
    roformer/*) folder=tests/golden/heads/$2 ;;
    *) folder=tests/golden/$1/$2 ;;
    esac
    [ -f "$folder/golden.txt" ]
}

table() {
    echo '| family | masked words | texts | tokens | answers | choices | causal | folder with tokenizer | pairs (`rank --cross`) |'
    echo '|---|---|---|---|---|---|---|---|---|'
    for family in $(sed -n 's/^RFF(\(.*\))$/\1/p' src/model/families.def); do
        row="| \`$family\`"
        for head in masked sequence token span choice; do
            if golden "$family" $head; then row="$row | compared"
            elif ! golden "$family" masked; then row="$row | refused"
            else row="$row | own"
            fi
        done
        if golden "$family" causal; then row="$row | compared"
        elif ! golden "$family" masked || grep -qE "case \\\$family in (.*\|)?$family[|)]" tests/cli/families/families.sh; then row="$row | refused"
        else row="$row | own"
        fi
        if [ -d "tests/golden/$family/whole" ] || [ "$family" = roformer ]; then row="$row | compared"
        else case $family in
            qwen2|llama|eurobert) row="$row | as Qwen3's" ;;
            gemma3) row="$row | as EmbeddingGemma's" ;;
            *) row="$row | as BERT's" ;;
            esac
        fi
        if grep -q "for family in.* $family[ ;]" tests/cli/use/cross.sh; then row="$row | compared |"
        else row="$row | as for texts |"
        fi
        echo "$row"
    done
}

renewed() {
    table > "${TMPDIR:-/tmp}/matrix.$$"
    awk -v table="${TMPDIR:-/tmp}/matrix.$$" '
        /^<!-- end of the table of model_matrix.sh -->$/ { inside = 0 }
        !inside { print }
        /^<!-- table of model_matrix.sh -->$/ { inside = 1; while ((getline line < table) > 0) print line }' "$page"
    rm -f "${TMPDIR:-/tmp}/matrix.$$"
}

case ${1:-} in
--renew) renewed > "$page.new" && mv "$page.new" "$page" ;;
--check) renewed | cmp -s - "$page" || { echo "$page: expected the table of today's tests, got another; sh tools/model_matrix.sh --renew"; exit 1; } ;;
*) table ;;
esac
