#!/bin/sh
# dist.sh — makes build/roformer-VERSION.tar.gz with the files of the last commit.  The bytes do not depend on the
# machine.
set -eu
cd "$(dirname "$0")/.."
version=$(awk '/define ROFORMER_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' include/roformer/context.h)
[ -n "$version" ] || { echo "dist: include/roformer/context.h has no version" >&2; exit 1; }
mkdir -p build
out=build/roformer-$version.tar.gz
git archive --format=tar --prefix="roformer-$version/" HEAD | gzip -n -9 > "$out.part"
mv "$out.part" "$out"
echo "$out: $(tar -tzf "$out" | grep -vc '/$') files, $(wc -c < "$out") bytes, sha256 $(sha256sum "$out" | cut -d' ' -f1)"
