#!/bin/sh
# musl_program.sh PROGRAM — the program without optional packages, linked with musl and the libraries that it needs,
# which are built from Debian's sources: fill-mask gives the bytes of PROGRAM, which is linked with glibc.  Needs
# musl-tools and the network.
set -eu
cd "$(dirname "$0")/../.."
command -v musl-gcc > /dev/null || { echo "check_musl_program: musl-gcc is not installed (sh tools/setup.sh rungs)"; exit 77; }
native=$1
folder=$PWD/build/musl-program
mkdir -p "$folder/apt/lists/partial" "$folder/sources"

# Sources from where the machine's packages come from.
if [ ! -d "$folder/sources/done" ]; then
    . /etc/os-release
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 2> /dev/null | grep -m 1 '/debian/*$' || echo http://deb.debian.org/debian)
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $VERSION_CODENAME main" > "$folder/apt/sources.list"
    options="-qq -o Dir::Etc::SourceList=$folder/apt/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$folder/apt/lists"
    # shellcheck disable=SC2086
    apt-get $options update
    # shellcheck disable=SC2086
    (cd "$folder/sources" && apt-get $options -o APT::Sandbox::User=root --download-only source jansson utf8proc zlib libzstd > ../source.log 2>&1 &&
        for dsc in *.dsc; do dpkg-source --no-check -x "$dsc" "${dsc%%_*}" >> ../source.log 2>&1; done) || { tail -5 "$folder/source.log"; exit 1; }
    mkdir "$folder/sources/done"
fi

# build NAME SOURCE OPTION...  into $folder/root
build() {
    name=$1 from=$2
    shift 2
    { cmake -S "$from" -B "$folder/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=musl-gcc -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_FIND_ROOT_PATH="$folder/root" -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY -DBUILD_SHARED_LIBS=OFF "$@" &&
        cmake --build "$folder/$name" -j "$(nproc)"; } > "$folder/$name.log" 2>&1 || { tail -20 "$folder/$name.log"; exit 1; }
}
install() { cmake --install "$folder/$1" --prefix "$folder/root" >> "$folder/$1.log" 2>&1 || { tail -5 "$folder/$1.log"; exit 1; }; }
sources=$folder/sources root=-DCMAKE_INSTALL_PREFIX=$folder/root
build jansson "$sources/jansson" $root -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
build utf8proc "$sources/utf8proc" $root
(cd "$sources/zlib" && CC=musl-gcc ./configure --static --prefix="$folder/root" && make -j "$(nproc)" install) > "$folder/zlib.log" 2>&1 ||
    { tail -5 "$folder/zlib.log"; exit 1; }                   # Debian's source lacks a file that its CMakeLists.txt names
build zstd "$sources/libzstd/build/cmake" $root -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_TESTS=OFF
for library in jansson utf8proc zstd; do install $library; done
rm -f "$folder"/root/lib/*.so*
mkdir -p "$folder/include" && ln -sf /usr/include/xxhash.h "$folder/include/"             # a header, the same everywhere

export PKG_CONFIG_LIBDIR="$folder/root/lib/pkgconfig"
build roformer . -DBUILD_TESTING=OFF -DRF_SENTENCEPIECE=OFF -DRF_DICTIONARY=OFF -DXXHASH_INCLUDE="$folder/include" \
    -DCMAKE_EXE_LINKER_FLAGS=-static
program=$folder/roformer/roformer
! ldd "$program" > /dev/null 2>&1 || { echo "check_musl_program: $program is linked with shared libraries" >&2; exit 1; }
text='the capital of france is [MASK] .'
for dtype in f32 bf16 int8; do
    for program in "$native" "$program"; do
        "$program" fill-mask -m models/roformer-small-en --dtype $dtype --json --top-k 5 "$text" > "$folder/$([ "$program" = "$native" ] && echo glibc || echo musl)"
    done
    cmp "$folder/glibc" "$folder/musl"
done
"$program" demo > "$folder/demo" || { cat "$folder/demo"; exit 1; }
echo "musl: $(wc -c < "$program") bytes, static; fill-mask in f32, bf16 and int8 as with glibc; the demo"
