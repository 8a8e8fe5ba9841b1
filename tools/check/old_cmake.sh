#!/bin/sh
# old_cmake.sh [VERSION...] — the build with other versions of CMake (3.16.*, the oldest; 3.22.*; the newest), which pip fetches: `make
# configure`, library, program, some tests, installation, and projects that use it by find_package and add_subdirectory.
# ccache makes all but the first build short (sh tools/setup.sh cmakes).
set -eu
cd "$(dirname "$0")/../.."
source=$PWD
work=$PWD/build/old-cmake
mkdir -p "$work"
fail() { echo "old_cmake: $*" >&2; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { tail -40 "$work/log" >&2; fail "failed: $*"; }; }
export CCACHE_DIR="$work/ccache" CCACHE_BASEDIR="$source"      # CMake before 3.20 names folders relatively
cached=
! command -v ccache > /dev/null || cached=-DCMAKE_C_COMPILER_LAUNCHER=ccache
outer=$PATH
build=$work/build tests='base_test_base base_test_os kernel_test_rope text_test_tokenizer'

# consumer NAME USE TARGETS [OPTION...]: another project, which links each of TARGETS
consumer() {
    rm -rf "${work:?}/$1" && mkdir "$work/$1"
    cat > "$work/$1/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
$2
foreach(target $3)
  add_executable(rotate_\${target} $source/examples/rotate.c)
  target_link_libraries(rotate_\${target} PRIVATE roformer::\${target} m)
endforeach()
END
    name=$1 targets=$3
    shift 3
    quietly cmake -S "$work/$name" -B "$work/$name/build" -G Ninja "$@"
    quietly cmake --build "$work/$name/build" -j "$(nproc)" --target $(printf 'rotate_%s ' $targets)
    for program in "$work/$name"/build/rotate_*; do
        "$program" | grep -q distance || fail "$program does not answer"
    done
}

[ $# -gt 0 ] || set -- '3.16.*' '3.22.*' '>=4'
for version; do
    rm -rf "$work/env" "$build" "$work/prefix"
    quietly python3 -m venv "$work/env"
    case $version in [0-9]*) version="==$version" ;; esac
    quietly "$work/env/bin/pip" install -q "cmake$version"
    PATH=$work/env/bin:$outer
    quietly make BUILD="$build" configure
    quietly cmake $cached -DRF_MPI=OFF -DRF_SENTENCEPIECE=OFF "$build"
    # shellcheck disable=SC2086
    quietly cmake --build "$build" -j "$(nproc)" --target roformer-shared roformer-program roformer-bindings roformer-man roformer-dictionary $tests
    (cd "$build" && quietly ctest -R "^($(echo "$tests" | sed 's/_/\//; s/ \([a-z]*\)_/|\1\//g'))\$")
    grep -q '100% tests passed.* out of 4' "$work/log" || fail "expected four tests: $(tail -5 "$work/log")"
    quietly cmake --install "$build" --prefix "$work/prefix"
    "$work/prefix/bin/roformer" demo | grep -q medal || fail "the installed program does not answer"
    consumer found 'find_package(roformer REQUIRED)' 'roformer shared static kernels' -DCMAKE_PREFIX_PATH="$work/prefix"
    consumer folder "add_subdirectory($source roformer)" kernels $cached
    echo "old_cmake: $(cmake --version | head -1): ok"
done
