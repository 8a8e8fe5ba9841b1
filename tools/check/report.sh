#!/bin/sh
# report.sh FILE.html... — opens reports in a headless browser: the page is well-formed, loads nothing from elsewhere,
# and shows its curves and tables.  Without a browser (on Debian: chromium-headless-shell) only xmllint checks it.
set -eu
browser=
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" > /dev/null && browser=$name && break
done
bad=0
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() { echo "$*"; bad=1; }
for page in "$@"; do
    xmllint --noout "$page" || fail "$page: not well-formed"
    if grep -qiE '<script|(src|href)="|url\(|@import' "$page"; then fail "$page: asks for something outside itself"; fi
    if [ -z "$browser" ]; then
        echo "$page: SKIPPED in a browser: none is installed"
        continue
    fi
    work=$(mktemp -d)
    path=$(cd "$(dirname "$page")" && pwd)/$(basename "$page")
    HOME=$work "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/user" --dump-dom "file://$path" > "$work/dom" 2> "$work/log" || fail "$page: $(tail -1 "$work/log")"
    for part in '<polyline' '<h1>' '<figcaption>' '<td>'; do grep -q "$part" "$work/dom" || fail "$page: no $part in what is drawn"; done
    HOME=$work "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/user" --window-size=1000,1600 --screenshot="$work/page.png" "file://$path" > /dev/null 2>&1 || fail "$page: no screenshot"
    # a page that is not drawn is one color, whose PNG is a few kilobytes
    size=$(wc -c < "$work/page.png" 2> /dev/null || echo 0)
    [ "$size" -gt 10000 ] || fail "$page: the screenshot has $size bytes"
    if [ -n "${KEEP_SCREENSHOT:-}" ]; then cp "$work/page.png" "$KEEP_SCREENSHOT"; fi
    rm -rf "$work"
    [ $bad -eq 0 ] && echo "$page: drawn by $browser"
done
exit $bad
