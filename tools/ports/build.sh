#!/bin/sh
# build.sh TARGET [CMAKE-OPTION...] — builds roformer for another system in build/ports/TARGET/build, from this machine:
#
#     sh tools/ports/build.sh x86_64-windows
#     ctest --test-dir build/ports/x86_64-windows/build -L quick
#
# Targets and what they need: tools/ports/libraries.sh.  Tests that run a shell get the program through a script of the
# same name without .exe; JOBS=n limits the compilers; ONLY=TARGET builds this target of CMake alone.
set -eu
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
target=$1
shift
cd "$(dirname "$0")/../.."
folder=build/ports/$target
sh tools/ports/libraries.sh "$target" "$folder"
case $target in
wasm32-wasi) set -- -DRF_PROGRAM=OFF -DRF_SERVE=OFF -DBUILD_SHARED_LIBS=OFF "$@" ;;
*) set -- -DRF_SERVE=ON "$@" ;;
esac
cmake -S . -B "$folder/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/$folder/toolchain.cmake" -DRF_SENTENCEPIECE=OFF \
    "$@" > "$folder/configure.log" || { tail -20 "$folder/configure.log" >&2; exit 1; }
# shellcheck disable=SC2086
cmake --build "$folder/build" -j "${JOBS:-$(nproc)}" ${ONLY:+--target $ONLY}
for program in "$folder"/build/roformer.exe "$folder"/build/tests/make_*.exe; do
    [ -e "$program" ] || continue
    printf '#!/bin/sh\nexec "%s/run" "%s" "$@"\n' "$PWD/$folder" "$PWD/$program" > "${program%.exe}"
    chmod +x "${program%.exe}"
done
