#!/bin/sh
# words.sh — words that docs/glossary.md retires are neither in the code nor in the pages, and no two names differ by
# one underscore (rf_x and rf__x).  Pages, code, all comments and names of files use American spelling, and
# comments use none of the words below that docs/style.md replaces; paths and text in backquotes are not
# checked for that.  Tests, CMake, the Makefile and .ci are read as the code is.  Data, outputs of benchmarks and golden files are not checked.
set -eu
cd "$(dirname "$0")/../.."
bad=0
files=$(find include src docs README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md examples \
    -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name '*.md' | grep -v -e docs/glossary.md -e unicode_tables)
files="$files $(find models results experiments bench -name '*.md')"                # cards and pages of results
files="$files Makefile CMakeLists.txt CMakePresets.json $(find cmake .ci .github -type f) \
    $(find tests -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.md' | grep -v '^tests/golden/[a-z_0-9]*/')"

# WORDS EXCEPTIONS INSTEAD: a line with one of the words that no exception explains
retired() {
    # shellcheck disable=SC2086
    grep -nE -e "$1" $files | grep -vE -e "$2" > "${TMPDIR:-/tmp}/words.$$" || true
    [ -s "${TMPDIR:-/tmp}/words.$$" ] && { sed "s/^/retired word, $3: /" "${TMPDIR:-/tmp}/words.$$"; bad=1; }
    rm -f "${TMPDIR:-/tmp}/words.$$"
}
edge='(^|[^A-Za-z])' end='([^A-Za-z]|$)'
# In turn, in turns, taking turns; sentences of the demonstration; its tokens in quickstart.md.
retired "$edge([Uu]n)?[Tt]urn(s|ed|ing)?$end|${edge}TURN" \
    "in turns?$end|turns on the same arrays|turns with Hugging|(takes?|took) turns|its turn|turn vectors|leaves turn red|^docs/quickstart.md:[0-9]*:turn " 'rotate, transpose, unit, cursor'
# trainer_state.json has the key since its first version; a sentence of the demonstration.
retired "$edge[Rr]ooms?$end" 'interval_room|because the room was' 'workspace, capacity, reserve, space'
retired "$edge(wants?|wanted|WANT)$end" 'You have cloned the repository and want' 'expected, needed, asked for'
retired "$edge[Pp]ictures?$end" ' %% ' 'plot'
retired "${edge}guess(es|ed|ing|er)?$end" ' %% ' 'predict, prediction'
retired '(largest )?step size' ' %% ' 'learning rate'
retired "$edge[qkv]2?_step$end|out_step|band_step|RFK_STEP" ' %% ' 'stride'
retired "$edge(heed|soften|rf_place|rfk__place)$end" ' %% ' 'the glossary'
# Functions with a bare verb, or with a word of no field; score(t,s) in formulas is not a definition.
retired '^(static |inline )+[a-z_0-9 *]*[ *](put|say|says|tell|told|score|scores_of|behind|beside|bring|invent|stand_[a-z]+|meet_behind|goes_on|gone|near|kept|whole)\(' \
    '^src/kernel/(attention|gemm)/' 'object and action'

# British spellings, as extended regular expressions for the beginning of a word or all of it.
british='(ana|para|cata)lys(e|ed|es|ing)\>|(normal|organ|optim|initial|token|serial|vector|quant|recogn|general|regular|summar|minim|maxim|synchron|penal|custom|parallel|util|emphas|memor|character|factor|random|standard|visual|local|linear|material|categor|capital)is(e|ed|es|er|ers|ing|ation|ations)\>|behaviour|colour|favour|neighbour|honour|flavour|centred?\>|metres?\>|fibres?\>|labell|modell|travell|cancell(ed|ing)|licence|defence|grey\>|catalogue|programme\>|fulfil\>|artefact|learnt\>|whilst\>|spelt\>|judgement|ageing'
# Words in the code and in paths: identifiers, `...`, names of files.
code='s/`[^`]*`//g; s/[A-Za-z0-9]*_[A-Za-z0-9_]*//g; s,[A-Za-z]*/[A-Za-z./]*,,g; s/[a-z]*\.[ch]\>//g'
spelling() {
    grep -niE -e "\<($british)" "$@" /dev/null | while IFS=: read -r file line text; do
        printf '%s\n' "$text" | sed -E "$code" | grep -qiE -e "\<($british)" && echo "$file:$line: British spelling: $text"
    done
}
# shellcheck disable=SC2046
pages=$(ls ./*.md docs/*.md docs/models/*.md docs/adding/*.md python/*.md tests/golden/README.md $(find bench examples experiments models results -name '*.md') |
    grep -v -e '\.zh\.md$' -e docs/glossary.md)
# shellcheck disable=SC2046,SC2086
found=$(spelling $pages $(find include src -name '*.h' -o -name '*.def' | grep -v -e '^src/.*\.h$') || true)
[ -z "$found" ] || { printf '%s\n' "$found"; bad=1; }

# Comments.  The first list has words of docs/style.md with the replacement; identifiers and `...` are removed first.
comments() {
    awk 'FNR == 1 { inside = 0 }
    {
        line = $0
        if (!inside) gsub(/"([^"\\\\]|\\\\.)*"/, "\"\"", line)
        text = ""
        while (line != "") {
            if (inside) {
                at = index(line, "*/")
                if (!at) { text = text line; break }
                text = text substr(line, 1, at - 1) " "; line = substr(line, at + 2); inside = 0
            } else {
                at = index(line, "/*")
                if (!at) break
                line = substr(line, at + 2); inside = 1
            }
        }
        if (text != "") print FILENAME ":" FNR ":" text
    }' "$@"
}
plain='told|held against|beside|behind|floor [0-9]|for who|whoever|go(es)? by|on (its|their) way|lies|anew|with a sentence|of before'
# Comments of scripts: from "# " to the end of the line.
hashes() {
    awk 'match($0, /(^|[ \t])# /) { print FILENAME ":" FNR ":" substr($0, RSTART + RLENGTH) }' "$@"
}
# shellcheck disable=SC2046
found=$({ comments $(find include src tests bench experiments examples \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) |
    grep -v -e unicode_tables -e tests/golden)
    hashes CMakeLists.txt Makefile $(find cmake .ci .github tests tools -type f | grep -E '\.(sh|py|cmake|in|yml)$|^\.ci/' |
        grep -v -e '^tests/golden/' -e tools/check/words.sh); } | grep -iE -e "\<($plain)\>" -e "\<($british)" |
    while IFS=: read -r file line text; do
        text=$(printf '%s\n' "$text" | sed -E "s/\*[a-z]+//g; $code")
        printf '%s\n' "$text" | grep -qiE -e "\<($plain)\>" -e "\<($british)" && echo "$file:$line: comment with a word of \$plain in tools/check/words.sh, or a British one: $text"
    done || true)
# sacreBLEU's smoothing method.
found=$(printf '%s\n' "$found" | grep -v -e 'floor 1, add-k 2' || true)
[ -z "$found" ] || { printf '%s\n' "$found"; bad=1; }

# Identifiers and names of files, whose parts are words ("_" becomes a blank).  "normalised" is a value that
# position_embedding_type may have, "legacy_behaviour" a key of transformers.
code_files() {
    find include src tests bench examples experiments tools cmake python .ci CMakeLists.txt Makefile -type f |
        grep -v -e '^tests/golden/' -e '^tests/fuzz/corpus/' -e '^tools/check/words.sh' -e __pycache__
}
found=$(code_files | grep -E '\.(c|h|inc|def|cc|py|sh|cmake|txt|in)$|^Makefile' | xargs grep -niE "(\<|_)($british|centres?\>|centre_)" |
    sed 's/_/ /g' | grep -iE -e ":.*\<($british|centres?\>)" | grep -v -e '{"normalised", "unit"}' -e 'legacy behaviour' || true)
[ -z "$found" ] || { printf '%s\n' "$found" | sed 's/^/British spelling: /'; bad=1; }
found=$(code_files | sed 's/_/ /g' | grep -iE -e "\<($british|centres?\>)" || true)
[ -z "$found" ] || { printf '%s\n' "$found" | sed 's/^/British spelling in the name of a file: /'; bad=1; }

names=$(find include src -name '*.[ch]' -o -name '*.inc' -o -name '*.def' | xargs grep -hoE '\brf__?[a-z0-9_]+\b' | sort -u)
for name in $(printf '%s\n' "$names" | sed 's/^rf__/rf_/' | sort | uniq -d); do
    echo "$name and $(printf '%s' "$name" | sed 's/^rf_/rf__/') differ by one underscore"
    bad=1
done
exit $bad
