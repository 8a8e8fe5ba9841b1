#!/bin/sh
# demo.sh PROGRAM [FOLDER] — makes FOLDER (build/page-demo): the page for people with both English models in int8, as
# files that any web server can hand out over http.  A module of WebAssembly answers in place of `roformer serve` (wasm/).
#
#     make page-demo
#     python3 -m http.server -d build/page-demo
#
# Needs the module: ONLY=roformer-module sh tools/ports/build.sh wasm32-wasi.
set -eu
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/../.."
folder=${2:-build/page-demo}
module=build/ports/wasm32-wasi/build/wasm
most=25000000

rm -rf "$folder"
mkdir -p "$folder/ui" "$folder/roformer" "$folder/models"
cp src/serve/page/*.js src/serve/page/page.css src/serve/page/icon.svg "$folder/ui"
rm "$folder/ui/docs.js"
cp wasm/page/transport.js wasm/page/worker.js "$folder/ui"
cp wasm/page/index.html LICENSE NOTICE "$folder"
cp "$module/roformer.js" "$module/thread.js" "$folder/roformer"
for name in roformer roformer.threads; do
    gzip -9n < "$module/$name.wasm" > "$folder/roformer/$name.wasm.gz"
done
for model in roformer-small-en-sentences roformer-small-en; do
    "$program" convert -q --dtype int8 "models/$model" "$folder/models/$model" > /dev/null
    rm "$folder/models/$model/checksums.json"
done
python3 -B tools/page/demo_models.py "$program" "$folder"
bytes=$(find "$folder" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
[ "$bytes" -le $most ] || { echo "demo: expected at most $most bytes, got $bytes" >&2; exit 1; }
echo "demo: $folder has $bytes bytes; python3 -m http.server -d $folder shows it"
