#!/bin/sh
# run.sh PROGRAM   the page in headless Chromium, with the small models of the tests (check.py), and the screenshots of docs/page.md, with
# models that learn first what they show; sh tools/setup.sh page installs Chromium.
set -eu
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-page-XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
. "$root/tests/cli/serve/serve_models"
serve_models "$(dirname "$program")/tests/make_model" "$root/tests/golden"
for model in token span; do
    mkdir $model
    cp "$root/tests/golden/bert/$model/config.json" "$root/tests/golden/bert/$model/model.safetensors" \
        "$root/tests/golden/serving/vocab.txt" "$root/tests/golden/serving/tokenizer_config.json" $model
done
cp -r model index-model
printf '%s\n' 'the <i>line</i> of an index' 'the old river' 'a new line' > lines.txt
"$program" index -q -m index-model -o lines.index lines.txt
python3 -B "$root/tools/page/check.py" "$program" .
python3 -B "$root/tools/page/check_docs.py" "$program" .
python3 -B "$root/tools/page/example_models.py" "$program" examples
python3 -B "$root/tools/page/screenshots.py" "$program" screenshots examples > screenshots.log || { cat screenshots.log; exit 1; }
echo "page: every panel, in both schemes and two widths"
