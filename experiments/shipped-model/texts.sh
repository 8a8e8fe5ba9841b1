# texts.sh — to be sourced.  `articles DATA WORK TOOLS` writes the training articles to WORK/text/2015-AA.txt, -AB, -AC
# and recent.txt, and 10,000 articles of enwiki that are not among them to held-out.txt.  None contains articles of
# WikiText.
articles() {
    if [ -f "$2/text/held-out.txt" ]; then return; fi
    mkdir -p "$2/text"
    evaluated="$1/wikitext-2/wiki.test.raw $1/wikitext-2/wiki.valid.raw"
    # shellcheck disable=SC2086
    for part in AA AB AC; do
        zstd -dcq "$1/enwiki-2015/enwiki_$part.txt.zst" | "$3/hold_out" $evaluated > "$2/text/2015-$part.txt"
    done
    # shellcheck disable=SC2086
    gzip -dc "$1/enwiki/enwiki_AA_00-49.txt.gz" |
        "$3/hold_out" -n 10000 -o "$2/text/held-out.part" $evaluated > "$2/text/recent.txt"
    mv "$2/text/held-out.part" "$2/text/held-out.txt"
}
