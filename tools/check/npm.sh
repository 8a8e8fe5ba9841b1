#!/bin/sh
# npm.sh PACKAGE — the package for JavaScript, a folder that `sh tools/ports/build.sh wasm32-wasi` made: that it is installed
# without a network, and what is installed; that the example of its README runs as printed; its types; and check_module.mjs.
# Needs what `sh tools/setup.sh wasm` installs.  Without npm, which that leaves out, the files are copied.
set -eu
[ $# = 1 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
package=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-npm-XXXXXX")
trap 'rm -rf "$work"' EXIT
for tool in node tsc; do
    command -v $tool > /dev/null || { echo "npm: $tool is not installed (sh tools/setup.sh wasm)" >&2; exit 77; }
done
fail() { echo "npm: $*" >&2; exit 1; }

cd "$work"
echo '{"private": true}' > package.json
if command -v npm > /dev/null; then
    npm pack --silent "$package" > /dev/null
    npm install --silent --offline --no-audit --no-fund ./roformer-*.tgz > /dev/null
    [ "$(ls node_modules)" = roformer ] || fail "it needs other packages"
else
    mkdir -p node_modules/roformer
    # shellcheck disable=SC2046
    (cd "$package" && cp $(sed -n 's/.*"files": \[\(.*\)\].*/package.json \1/p' package.json | tr -d '",') \
        "$work/node_modules/roformer")
fi
(cd node_modules/roformer && find . -type f | sort) > has
for file in LICENSE NOTICE README.md package.json roformer.d.ts roformer.js roformer.threads.wasm roformer.wasm thread.js; do
    echo "./$file"
done | sort | diff - has || fail "the package has other files"

ln -s "$root/models" models
block() { awk -v wanted="$1" '/^```/ { n++; next } n == wanted' "$package/README.md"; }
block 1 > example.mjs
block 3 > expected
node example.mjs > got
diff expected got || fail "the example of README.md prints something else"

cat > types.mts << 'END'
import { type Answer, fetchFolder, type Files, Roformer, RoformerError } from "roformer";
const files: Files = await fetchFolder(new URL("models/"), ["config.json"], (bytes: number) => bytes);
const roformer: Roformer = await Roformer.load(new Uint8Array(4), { threads: 2 });
roformer.open("m", files, { dtype: "int8" });
roformer.name("n");
const answer: Answer = roformer.call("tokenize", { inputs: "a" }, "POST");
const count: number = roformer.threads + answer.status + new RoformerError("a").status;
roformer.close("m");
roformer.end();
// @ts-expect-error
roformer.open("m", files, { dtype: "f16" });
// @ts-expect-error
roformer.threads = count;
// @ts-expect-error
new Roformer();
END
tsc --noEmit --strict --target es2022 --lib es2022,dom --module nodenext --moduleResolution nodenext types.mts
cd "$root"
node tools/ports/check_module.mjs "$package"
