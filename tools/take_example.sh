#!/bin/sh
# take_example.sh FOLDER — extracts the example of CONTRIBUTING.md, "Adding a position encoding": FOLDER/example.c, and
# FOLDER/model/positions.def, which is the registry with the example's row (once, if the row has already been added to
# the tree).  A test is built from them, so that the page stays correct.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1/model"
sed -n '/^## Adding a position encoding/,/^## /p' CONTRIBUTING.md > "$1/section"
sed -n '/^```c$/,/^```$/p' "$1/section" | sed '/^```/d' > "$1/example.c"
row=$(sed -n 's/^and the row: `\(RFP([a-z_]*)\)`\.$/\1/p' "$1/section")
rm "$1/section"
[ -s "$1/example.c" ] && [ -n "$row" ] || { echo "CONTRIBUTING.md: no example of a position encoding, or no row" >&2; exit 1; }
{ grep -vxF "$row" src/model/positions.def; echo "$row"; } > "$1/model/positions.def"
