#!/bin/sh
# abi.sh LIBRARY.so [--renew]  compares the exported functions and the sizes of the public structs with tools/abi.txt
# abi.sh --since TAG           compares the shared library with that of a release, in every detail (abidiff)
#
# tools/abi.txt is the public interface after its last change: `make abi` renews it, so that a change of the interface
# stands in the commit that makes it. Nothing is promised before the first tag; after a tag, --since decides whether a
# change needs a new soname (SOVERSION in CMakeLists.txt, and the version node in cmake/roformer.map). A change that no
# program can notice is a suppression with its reason in tools/roformer.abignore. --since compiles both libraries with
# full debug information and without optional parts, in build/abi, and exits with 77 without abigail-tools.
set -eu
cd "$(dirname "$0")/../.."

structs() {
    find include/roformer -name '*.h' | LC_ALL=C sort | xargs sed -nE 's/^(typedef )?struct (rf[a-z_0-9]+) \{.*/\2/p' | LC_ALL=C sort -u
}

list() {
    nm -D --defined-only "$1" | sed -nE 's/^[0-9a-f]+ [A-Z] (rf[a-z_0-9]*).*/function \1/p' | LC_ALL=C sort
    { echo '#include <stdio.h>'
      find include/roformer -name '*.h' | LC_ALL=C sort | sed 's,include/\(.*\),#include "\1",'
      printf '%s\n' '#define SIZE(name) printf("struct %s %zu\n", #name, sizeof(struct name))'
      echo 'int main(void) {'
      structs | sed 's/.*/    SIZE(&);/'
      echo '    return 0; }'; } > "$scratch/sizes.c"
    ${CC:-cc} -std=c11 -Iinclude -o "$scratch/sizes" "$scratch/sizes.c"
    "$scratch/sizes"
}

describe() { # TREE NAME: build/abi/NAME.abi describes the library of a tree
    cmake -S "$1" -B "build/abi/$2" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O0 -g" -DRF_SENTENCEPIECE=OFF -DBUILD_TESTING=OFF > "build/abi/$2.log" 2>&1 &&
        cmake --build "build/abi/$2" --target roformer-shared >> "build/abi/$2.log" 2>&1 || { tail -20 "build/abi/$2.log"; exit 1; }
    abidw --headers-dir "$1/include/roformer" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
        --out-file "build/abi/$2.abi" "build/abi/$2/libroformer.so"
    # abidw takes a private header for the public one of the same name
    sed -i "s|path='$PWD/$1/|path='|; s|path='$PWD/|path='|; s|path='\.\./\.\./|path='|" "build/abi/$2.abi"
}

# A struct whose members no public header shows may change.
opaque() {
    find include/roformer -name '*.h' -exec sed -nE 's/^typedef struct [a-z_0-9]+ ([a-z_0-9]+);.*/\1/p' {} + | sort -u > build/abi/declared.txt
    structs > build/abi/defined.txt
    printf '[suppress_type]\n    type_kind = struct\n    name_regexp = ^(%s)$\n' "$(comm -23 build/abi/declared.txt build/abi/defined.txt | paste -sd '|' -)"
}

if [ "${1:-}" = --since ]; then
    command -v abidw > /dev/null || { echo "check_abi: abigail-tools are not installed (sh tools/setup.sh ci)"; exit 77; }
    rm -rf build/abi && mkdir -p build/abi/tree
    git archive "$2" | tar -x -C build/abi/tree
    describe build/abi/tree then
    describe . now
    opaque > build/abi/opaque.abignore
    code=0
    abidiff --no-added-syms --suppressions tools/roformer.abignore --suppressions build/abi/opaque.abignore \
        build/abi/then.abi build/abi/now.abi > build/abi/report.txt 2>&1 || code=$?
    # 1, 2: abidiff failed; 4: a change; 8: an incompatible one
    [ $code -eq 0 ] || { cat build/abi/report.txt; echo "check_abi: the public ABI differs from that of $2: a new soname, or tools/roformer.abignore" >&2; exit 1; }
    echo "check_abi: a program compiled with $2 runs with this library"
    exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
list "$1" > "$scratch/abi.txt"
grep -q '^struct ' "$scratch/abi.txt" || { echo "$1: no public struct" >&2; exit 1; }
if [ "${2:-}" = --renew ]; then
    cp "$scratch/abi.txt" tools/abi.txt
elif ! diff -u tools/abi.txt "$scratch/abi.txt" > "$scratch/difference"; then
    grep '^[-+][a-z]' "$scratch/difference"
    echo "check_abi: the public interface has changed: if it is meant, make abi, and commit tools/abi.txt" >&2
    exit 1
fi
echo "check_abi: $(grep -c '^function' "$scratch/abi.txt") functions, $(grep -c '^struct' "$scratch/abi.txt") structs"
