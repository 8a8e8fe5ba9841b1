#!/bin/sh
# abi.sh [--renew] — compares the shared library's public ABI with tools/roformer.abi, which describes the last release.
#
# A difference that abidiff finds needs a new soname (SOVERSION in CMakeLists.txt, and the version node in
# cmake/roformer.map) and a new description.  If no program can be affected, a suppression with its reason in
# tools/roformer.abignore is enough.  Added functions are not a difference; they are listed.  --renew (`make abi`)
# writes a new description: once per release (docs/releasing.md), before its tag.  The library is compiled for this
# check in build/abi, with full debug information and without optional parts.  Exits with 77 if abigail-tools are not
# installed.
set -eu
cd "$(dirname "$0")/../.."
command -v abidw > /dev/null || { echo "check_abi: abigail-tools are not installed (sh tools/setup.sh ci)"; exit 77; }
mkdir -p build
{ cmake -S . -B build/abi -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O0 -g" -DRF_SENTENCEPIECE=OFF -DBUILD_TESTING=OFF &&
    cmake --build build/abi --target roformer-shared; } > build/abi.log 2>&1 || { tail -20 build/abi.log; exit 1; }
describe() {
    abidw --headers-dir include/roformer --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
        --out-file "$1" build/abi/libroformer.so
    sed -i "s|path='$PWD/|path='|; s|path='\.\./\.\./|path='|" "$1"
}
if [ "${1:-}" = --renew ]; then
    version=$(awk '/define ROFORMER_VERSION_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' include/roformer/version.h)
    ! git rev-parse -q --verify "refs/tags/v$version" > /dev/null 2>&1 ||
        { echo "check_abi: $version is released: its description stays; raise the version (docs/releasing.md)" >&2; exit 1; }
    describe tools/roformer.abi
    echo "tools/roformer.abi: $(grep -c '<elf-symbol ' tools/roformer.abi) symbols"
    exit 0
fi
describe build/abi/now.abi
# A struct whose members no public header shows may change.  (abidw takes a private header for the public one of the same name.)
opaque() {
    find include/roformer -name '*.h' -exec cat {} + > build/abi/headers.txt
    sed -nE 's/^typedef struct [a-z_0-9]+ ([a-z_0-9]+);.*/\1/p' build/abi/headers.txt | sort -u > build/abi/declared.txt
    sed -nE 's/.*struct ([a-z_0-9]+) \{.*/\1/p' build/abi/headers.txt | sort -u > build/abi/defined.txt
    printf '[suppress_type]\n    type_kind = struct\n    name_regexp = ^(%s)$\n' "$(comm -23 build/abi/declared.txt build/abi/defined.txt | paste -sd '|' -)"
}
opaque > build/abi/opaque.abignore
code=0
abidiff --no-added-syms --suppressions tools/roformer.abignore --suppressions build/abi/opaque.abignore \
    tools/roformer.abi build/abi/now.abi > build/abi/report.txt 2>&1 || code=$?
# 1, 2: abidiff failed; 4: a change; 8: an incompatible one
[ $code -eq 0 ] || { cat build/abi/report.txt; echo "check_abi: the public ABI has changed: tools/check/abi.sh says what to do" >&2; exit 1; }
symbols() { sed -n "s/.*<elf-symbol name='\([^']*\)'.*/\1/p" "$1" | sort; }
symbols tools/roformer.abi > build/abi/then.txt
symbols build/abi/now.abi > build/abi/now.txt
added=$(comm -13 build/abi/then.txt build/abi/now.txt | tr '\n' ' ')
echo "check_abi: $(wc -l < build/abi/then.txt) symbols as in the last release${added:+, added: $added}"
