#!/bin/sh
# sentences.sh FILE.md — prints the sentences of a page, one per line, without code, tables, headings and links.
set -eu
awk '
function flush() {
    gsub(/\[([^]]*)\]\([^)]*\)/, "&", paragraph)
    while (match(paragraph, /\[[^]]*\]\([^)]*\)/)) {
        link = substr(paragraph, RSTART, RLENGTH)
        words = substr(link, 2, index(link, "](") - 2)
        paragraph = substr(paragraph, 1, RSTART - 1) words substr(paragraph, RSTART + RLENGTH)
    }
    gsub(/[*`]/, "", paragraph)
    while (match(paragraph, /[a-z0-9)][.!?] [A-Z]/)) {
        print substr(paragraph, 1, RSTART + 1)
        paragraph = substr(paragraph, RSTART + 3)
    }
    if (paragraph ~ /[.!?]$/) print paragraph
    paragraph = ""
}
/^```/ { flush(); code = !code; next }
code { next }
/^[#|]/ || /^ *$/ { flush(); next }
/^- / { flush() }
{ sub(/^- /, ""); sub(/^ +/, ""); paragraph = paragraph (paragraph == "" ? "" : " ") $0 }
END { flush() }' "$1" | awk 'length >= 30 && length <= 180'
