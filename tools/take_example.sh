#!/bin/sh
# take_example.sh FOLDER — extracts the example of docs/adding/position-encoding.md: FOLDER/example.c, and
# FOLDER/model/positions.def, which is the registry with the example's row (once, if the row has already been added to
# the tree).  A test is built from them, so that the page stays correct.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1/model"
page=docs/adding/position-encoding.md
sed -n '/^```c$/,/^```$/p' "$page" | sed '/^```/d' > "$1/example.c"
row=$(sed -n 's/^and the row: `\(RFP([a-z_]*)\)`\.$/\1/p' "$page")
[ -s "$1/example.c" ] && [ -n "$row" ] || { echo "$page: no example of a position encoding, or no row" >&2; exit 1; }
{ grep -vxF "$row" src/model/positions.def; echo "$row"; } > "$1/model/positions.def"
