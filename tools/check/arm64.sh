#!/bin/sh
# arm64.sh — cross-builds everything for AArch64 and installs it; under user-mode emulation the program must answer like
# the native one.
#
#     tools/check/arm64.sh            needs build/release, gcc-aarch64-linux-gnu, qemu-user, and on Debian the network for its first run
#
# Its libraries are Debian's for arm64, unpacked in build/arm64/root, without changing the system.  Exits with 77 if
# there is no cross-compiler.
set -eu
cd "$(dirname "$0")/../.."
target=aarch64-linux-gnu
for tool in $target-gcc qemu-aarch64 apt-get dpkg-deb; do
    command -v $tool > /dev/null || { echo "check_arm64: $tool is not installed (sh tools/setup.sh arm)"; exit 77; }
done
[ -x build/release/roformer ] || { echo "check_arm64: build/release is not built (make)" >&2; exit 1; }
here=$PWD/build/arm64 root=$PWD/build/arm64/root
mkdir -p "$here/apt/state/lists/partial" "$here/apt/cache/archives/partial" "$root"
fail() { echo "check_arm64: $*" >&2; tail -20 "$here/log" >&2; exit 1; }

if [ ! -e "$root/complete" ]; then
    cat > "$here/apt/conf" << END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "$here/apt/state";
Dir::State::status "$here/apt/state/status";
Dir::Cache "$here/apt/cache";
END
    : > "$here/apt/state/status"
    export APT_CONFIG="$here/apt/conf"
    apt-get update > "$here/log" 2>&1 || fail "apt-get update"
    (cd "$here/apt" && apt-get download libjansson-dev libjansson4 libutf8proc-dev libutf8proc2 libonig-dev libonig5 libzstd-dev libzstd1 zlib1g-dev zlib1g \
        libxxhash-dev libcrypt1 > ../log 2>&1) || fail "apt-get download"
    for package in "$here"/apt/*.deb; do dpkg-deb -x "$package" "$root"; done
    touch "$root/complete"
fi

cat > "$here/toolchain.cmake" << END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $target-gcc)
set(CMAKE_FIND_ROOT_PATH $root /usr/$target)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
END
export PKG_CONFIG_LIBDIR="$root/usr/lib/$target/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"

# installed NAME OPTIONS...: builds and installs into build/arm64/NAME
installed() {
    name=$1
    shift
    rm -rf "${here:?}/$name"
    cmake -S . -B "$here/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$here/toolchain.cmake" -DBUILD_TESTING=OFF -DRF_SENTENCEPIECE=OFF "$@" > "$here/log" 2>&1 &&
        cmake --build "$here/build" -j2 >> "$here/log" 2>&1 && cmake --install "$here/build" --prefix "$here/$name" >> "$here/log" 2>&1 || fail "$name"
    for file in $(find models -type f); do [ -s "$here/$name/share/roformer/$file" ] || fail "$name: not installed: $file"; done
}
installed plain -DRF_HOST_PROGRAM=
grep -q 'manual page and completions are left out' "$here/log" || fail "nothing says that there is no manual"
installed documented -DRF_HOST_PROGRAM="$PWD/build/release/roformer"
cmp build/release/man/roformer.1 "$here/documented/share/man/man1/roformer.1"

run="qemu-aarch64 -L /usr/$target -E LD_LIBRARY_PATH=$root/usr/lib/$target:$root/lib/$target $here/documented/bin/roformer"
$run --version
ask() { "$@" fill-mask -q --isa ref --json --top-k 3 'The capital of France is [MASK].' | grep -o '"token_str": "[a-z]*"'; }
# shellcheck disable=SC2086
ask $run > "$here/answer" || fail "the program does not run"
ask build/release/roformer | cmp - "$here/answer" || fail "it answers otherwise than the native program"
echo "check_arm64: built, installed with and without a manual, and answering as the native program"
