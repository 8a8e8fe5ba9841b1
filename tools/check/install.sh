#!/bin/sh
# install.sh [PART...] — tests an installation: a program built with it (pkg-config, CMake; shared, static), roformer as
# a subproject, and uninstalling.  Two build folders give the same bytes.
#
#     tools/check/install.sh [PART...]        parts: shared static subproject elsewhere bytes          (all)
set -eu
cd "$(dirname "$0")/../.."
source=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-install-XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
[ $# -gt 0 ] || set -- shared static subproject elsewhere bytes
fail() { echo "check_install: $*" >&2; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { tail -40 "$work/log" >&2; fail "failed: $*"; }; }

# A program of another project, which names the targets that it wants.
consumer() {
    mkdir -p "$work/$1"
    cat > "$work/$1/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
$2
foreach(target $3)
  add_executable(rotate_\${target} $source/examples/rotate.c)
  target_link_libraries(rotate_\${target} PRIVATE roformer::\${target} m)
endforeach()
END
    shift 3
    consumer_build "$@"
}

consumer_build() {
    name=$1
    shift
    quietly cmake -S "$work/$name" -B "$work/$name/build" "$@"
    quietly cmake --build "$work/$name/build" -j2
    for program in "$work/$name"/build/rotate_*; do
        "$program" | cmp - "$work/expected" || fail "$program answers something else"
    done
}

links_shared() { readelf -d "$1" | grep -q 'NEEDED.*libroformer\.so'; }

# configure NAME OPTIONS...: a build as a packager makes it, of libraries and program alone
configure() {
    name=$1
    shift
    quietly cmake -S . -B "$work/$name" -G Ninja -DBUILD_TESTING=OFF "$@"
    quietly cmake --build "$work/$name" -j2
}

by_pkg_config() {
    prefix=$1
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name roformer.pc)")
    export PKG_CONFIG_PATH
    shift
    # shellcheck disable=SC2046
    quietly gcc -std=c11 -Wall -Wextra -Werror examples/rotate.c -o "$work/by-pkg-config" $(pkg-config "$@") -lm
    LD_LIBRARY_PATH=$PKG_CONFIG_PATH/.. "$work/by-pkg-config" | cmp - "$work/expected" || fail "pkg-config $*: another answer"
}

expected() {
    gcc -std=c11 -O2 -Iinclude -c examples/rotate.c -o "$work/rotate.o"
    [ -x build/release/examples/rotate ] || fail "build/release is not built (make)"
    build/release/examples/rotate > "$work/expected"
    grep -q distance "$work/expected"
}
expected

for part; do
    case $part in
    shared)         # what `make install` gives: both libraries, the shared one where nothing else is said; then none of it
        mkdir "$work/prefix"
        mkdir "$work/prefix/kept"
        quietly cmake --install build/release --prefix "$work/prefix"
        for file in bin/roformer share/man/man1/roformer.1 share/man/man1/roformer-train-translation.1 $(find models -type f | sed 's|^|share/roformer/|') share/doc/roformer/docs/tour.md \
            share/doc/roformer/NOTICE share/bash-completion/completions/roformer; do
            [ -s "$work/prefix/$file" ] || fail "not installed: $file"
        done
        "$work/prefix/bin/roformer" demo > "$work/out" || fail "the installed program finds no model"
        ! sed -n 's/^\(blanks\|vectors\): //p' "$work/out" | grep -v "^$work/prefix/.*/share/roformer/models/" || fail "models that are not installed"
        by_pkg_config "$work/prefix" --cflags --libs roformer
        links_shared "$work/by-pkg-config" || fail "pkg-config --libs roformer: not the shared library"
        by_pkg_config "$work/prefix" --cflags --libs roformer-kernels
        consumer found 'find_package(roformer REQUIRED)' 'roformer shared static kernels' found -DCMAKE_PREFIX_PATH="$work/prefix"
        links_shared "$work/found/build/rotate_roformer" || fail "find_package: not the shared library"
        links_shared "$work/found/build/rotate_static" && fail "find_package: roformer::static is the shared library"
        consumer off 'find_package(roformer REQUIRED)' roformer off -DCMAKE_PREFIX_PATH="$work/prefix" -DBUILD_SHARED_LIBS=OFF
        links_shared "$work/off/build/rotate_roformer" && fail "find_package: BUILD_SHARED_LIBS=OFF gives the shared library"
        consumer asked 'find_package(roformer REQUIRED COMPONENTS static)' roformer asked -DCMAKE_PREFIX_PATH="$work/prefix"
        links_shared "$work/asked/build/rotate_roformer" && fail "find_package: COMPONENTS static gives the shared library"
        quietly cmake --build build/release --target uninstall
        left=$(find "$work/prefix" ! -type d; find "$work/prefix" -depth -name roformer -type d)
        [ -z "$left" ] || fail "uninstall leaves $left"
        [ -d "$work/prefix/kept" ] || fail "uninstall removes folders of others"
        ;;
    static)         # BUILD_SHARED_LIBS=OFF: no shared library anywhere
        configure static-build -DBUILD_SHARED_LIBS=OFF -DRF_PROGRAM=OFF
        quietly cmake --install "$work/static-build" --prefix "$work/static"
        [ -z "$(find "$work/static" "$work/static-build" -name '*.so' -o -name '*.so.*')" ] || fail "BUILD_SHARED_LIBS=OFF: a shared library is there"
        [ ! -e "$work/static/bin" ] || fail "RF_PROGRAM=OFF: a program is there"
        by_pkg_config "$work/static" --static --cflags --libs roformer
        consumer alone 'find_package(roformer REQUIRED)' 'roformer static kernels' alone -DCMAKE_PREFIX_PATH="$work/static"
        ;;
    subproject)     # nothing of the parent's changes, nothing but libraries is made
        consumer sub "option(BUILD_TESTING \"the parent's\" ON)
set(before \${BUILD_TESTING} \"\${CMAKE_C_FLAGS_RELEASE}\" \"\${CMAKE_BUILD_TYPE}\")
add_subdirectory($source roformer)
if(NOT before STREQUAL \"\${BUILD_TESTING};\${CMAKE_C_FLAGS_RELEASE};\${CMAKE_BUILD_TYPE}\")
  message(FATAL_ERROR \"changed: \${before}\")
endif()
add_executable(compare $source/examples/rotate.c)          # names that a parent may have, too
add_custom_target(glue)
add_custom_target(lengths)
add_custom_target(uninstall)
target_link_libraries(compare PRIVATE roformer::roformer m)
get_directory_property(tests DIRECTORY $source TESTS)
if(tests)
  message(FATAL_ERROR \"tests of the subproject: \${tests}\")
endif()" 'roformer static kernels' sub -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
        grep -q Werror "$work/sub/build/compile_commands.json" && fail "a subproject is compiled with -Werror"
        quietly cmake --install "$work/sub/build" --prefix "$work/nothing"
        [ ! -e "$work/nothing" ] || fail "a subproject installs: $(find "$work/nothing" -type f)"
        ;;
    elsewhere)      # make BUILD=DIR: nothing is written to the sources, which may be read-only
        git archive --prefix=source/ HEAD | tar -x -C "$work"
        chmod -R a-w "$work/source"
        (cd "$work/source" && find . | sort) > "$work/before"
        quietly make -C "$work/source" BUILD="$work/elsewhere" configure
        quietly cmake --build "$work/elsewhere" -j2 --target roformer-kernels
        (cd "$work/source" && find . | sort) | cmp - "$work/before" || fail "make BUILD=DIR writes to the sources"
        chmod -R u+w "$work/source"
        ;;
    bytes)          # another folder, at another depth, of a copy of the sources elsewhere: the same libraries and program
        git archive --prefix=copy/ HEAD | tar -x -C "$work"
        SOURCE_DATE_EPOCH=1700000000 CCACHE_DISABLE=1
        export SOURCE_DATE_EPOCH CCACHE_DISABLE
        configure one -DRF_MPI=OFF -DCMAKE_INSTALL_PREFIX=/usr
        (cd "$work/copy" && configure copy/deep/er/two -DRF_MPI=OFF -DCMAKE_INSTALL_PREFIX=/opt/roformer)
        for file in roformer libroformer.a libroformer-kernels.a "$(basename "$(readlink -f "$work/one/libroformer.so")")" man/roformer.1; do
            cmp "$work/one/$file" "$work/copy/deep/er/two/$file" || fail "$file depends on the folder that it is built in"
        done
        grep -aqF "$work" "$work/one/roformer" && fail "the program holds the path of its build folder"
        grep -aqF "$source" "$work/one/roformer" && fail "the program holds the path of its sources"
        ;;
    *) fail "no part $part" ;;
    esac
    echo "check_install: $part: ok"
done
