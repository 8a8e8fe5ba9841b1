#!/bin/sh
# check_install.sh — installs into a temporary folder and builds an example against it, with pkg-config and with CMake.
set -eu
cd "$(dirname "$0")/.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
trap 'exit 1' HUP INT TERM
cmake --install build/release --prefix "$root" > "$root/log" 2>&1 || { cat "$root/log"; exit 1; }

export PKG_CONFIG_PATH="$root/lib/pkgconfig:$(ls -d "$root"/lib/*/pkgconfig 2> /dev/null | head -1)"
flags=$(pkg-config --cflags --libs roformer)
gcc -std=c11 -Wall -Wextra -Werror examples/rotate.c -o "$root/rotate" $flags -lm
LD_LIBRARY_PATH=$(dirname "$(find "$root" -name 'libroformer.so.0' | head -1)") "$root/rotate" > "$root/out"
grep -q 'distance' "$root/out"

flags=$(pkg-config --cflags --libs roformer-kernels)
gcc -std=c11 -Wall -Wextra -Werror examples/rotate.c -o "$root/kernels" $flags
"$root/kernels" | cmp - "$root/out"

mkdir "$root/consumer"
cat > "$root/consumer/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(roformer REQUIRED)
add_executable(rotate $(pwd)/examples/rotate.c)
target_link_libraries(rotate PRIVATE roformer::roformer m)
EOF
cmake -S "$root/consumer" -B "$root/consumer/build" -DCMAKE_PREFIX_PATH="$root" > "$root/log" 2>&1 &&
    cmake --build "$root/consumer/build" >> "$root/log" 2>&1 || { cat "$root/log"; exit 1; }
"$root/consumer/build/rotate" | cmp - "$root/out"
echo "installation: pkg-config (both libraries) and CMake consumers work"
