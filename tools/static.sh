#!/bin/sh
# static.sh [OUT] — builds the program for any Linux on this kind of processor into the folder OUT (build/static): linked with musl and,
# statically, with the libraries that it needs, which are built from Debian's sources.  It has the server, and learns no subwords
# (SentencePiece).  Next to it is jieba's dictionary of Chinese words, in the folder where it looks for it.  Needs musl-tools, dpkg-dev,
# python3-jieba and the network (sh tools/setup.sh static).
set -eu
cd "$(dirname "$0")/.."
command -v musl-gcc > /dev/null && command -v dpkg-source > /dev/null || { echo "static: musl-gcc or dpkg-source is not installed (sh tools/setup.sh static)" >&2; exit 77; }
out=${1:-build/static}
folder=$PWD/build/static-libraries
mkdir -p "$folder" "$out"

if [ ! -d "$folder/sources/done" ]; then
    sh tools/ports/sources.sh "$folder/sources" jansson utf8proc libonig zlib libzstd libmicrohttpd > "$folder/source.log" 2>&1 ||
        { tail -5 "$folder/source.log" >&2; exit 1; }
    mkdir "$folder/sources/done"
fi

logged() {              # NAME COMMAND...: its output goes to $folder/NAME.log
    name=$1
    shift
    "$@" >> "$folder/$name.log" 2>&1 || { tail -20 "$folder/$name.log" >&2; echo "static: failed: $*" >&2; exit 1; }
}
build() {               # NAME SOURCE OPTION...
    name=$1 from=$2
    shift 2
    : > "$folder/$name.log"
    logged "$name" cmake -S "$from" -B "$folder/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=musl-gcc -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_FIND_ROOT_PATH="$folder/root" -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY -DBUILD_SHARED_LIBS=OFF "$@"
    logged "$name" cmake --build "$folder/$name" -j "$(nproc)"
}
configured() {          # NAME OPTION...: a source with a script `configure`, into $folder/root
    name=$1
    shift
    : > "$folder/$name.log"
    (cd "$folder/sources/$name" && CC=musl-gcc logged "$name" ./configure --prefix="$folder/root" "$@" && logged "$name" make -j "$(nproc)" install)
}

if [ ! -f "$folder/root/done" ]; then
    sources=$folder/sources root=-DCMAKE_INSTALL_PREFIX=$folder/root
    build jansson "$sources/jansson" $root -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
    build utf8proc "$sources/utf8proc" $root
    build zstd "$sources/libzstd/build/cmake" $root -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_TESTS=OFF
    for library in jansson utf8proc zstd; do logged $library cmake --install "$folder/$library" --prefix "$folder/root"; done
    configured zlib --static                            # Debian's source lacks a file that its CMakeLists.txt names
    [ -f "$sources/libonig/configure" ] || (cd "$sources/libonig" && logged libonig autoreconf -fi)
    configured libonig --disable-shared
    configured libmicrohttpd --disable-shared --disable-https --disable-doc --disable-examples --disable-curl --disable-tools
    rm -f "$folder"/root/lib/*.so*
    touch "$folder/root/done"
fi
mkdir -p "$folder/include" && ln -sf /usr/include/xxhash.h "$folder/include/"             # a header, the same everywhere

jieba=/usr/lib/python3/dist-packages/jieba/dict.txt
[ -f "$jieba" ] || { echo "static: $jieba is not there (sh tools/setup.sh static)" >&2; exit 77; }
export PKG_CONFIG_LIBDIR="$folder/root/lib/pkgconfig"
build roformer . -DBUILD_TESTING=OFF -DRF_SENTENCEPIECE=OFF -DRF_SERVE=ON -DRF_MPI=OFF -DRF_DICTIONARY="$jieba" \
    -DXXHASH_INCLUDE="$folder/include" -DCMAKE_EXE_LINKER_FLAGS=-static
strip -o "$out/roformer" "$folder/roformer/roformer"
mkdir -p "$out/dictionary" && cp "$folder/roformer/dictionary/jieba.words" "$out/dictionary/"
echo "static: $out/roformer: $(wc -c < "$out/roformer") bytes"
