#!/bin/sh
# setup.sh [--check] [fuzz|arm|mpi|ci|tests|rungs|bench|python|cmakes|clients|engines|deb|static|ports|wasm|page|deploy] — installs the missing
# Debian packages that building and testing need; without an argument, the packages of other systems.  It works as root or through sudo.
# If nothing is missing it does nothing and needs no network.  --check prints what is missing and fails if there is something.
set -eu
cd "$(dirname "$0")/.."
check=
only=
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
[ -n "$check" ] || mkdir -p build

packages="gcc g++ libc6-dev make cmake ninja-build pkg-config libjansson-dev libutf8proc-dev libonig-dev libxxhash-dev
  libsentencepiece-dev libzstd-dev zlib1g-dev libmicrohttpd-dev libcmocka-dev gnuplot-nox python3-jieba"
if [ "${1:-}" = fuzz ]; then
    packages="clang libclang-rt-14-dev libjansson-dev libutf8proc-dev libonig-dev libxxhash-dev libzstd-dev zlib1g-dev"
elif [ "${1:-}" = mpi ]; then
    packages="openmpi-bin libopenmpi-dev mpich libmpich-dev"
elif [ "${1:-}" = tests ]; then                 # without which a test leaves something out
    packages="fish libxml2-utils mandoc procps python3-cffi python3-numpy zsh zstd"
elif [ "${1:-}" = arm ]; then
    packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
elif [ "${1:-}" = rungs ]; then
    packages="musl-tools qemu-user gcc-s390x-linux-gnu"
elif [ "${1:-}" = bench ]; then                 # a peer that bench_gemm measures
    packages="libdnnl-dev"
elif [ "${1:-}" = python ]; then                # wheels are built with what pip fetches
    packages="python3-venv python3-pip"
elif [ "${1:-}" = cmakes ]; then
    packages="ccache python3-venv python3-pip"
elif [ "${1:-}" = clients ]; then
    packages="python3-venv python3-pip curl"
elif [ "${1:-}" = engines ]; then               # Java runs Spark
    packages="python3-venv python3-pip openjdk-17-jre-headless"
    only=--no-install-recommends
elif [ "${1:-}" = deb ]; then                   # all else is installed in the new Debian
    packages="mmdebstrap dpkg-dev"
elif [ "${1:-}" = static ]; then
    packages="musl-tools dpkg-dev python3-jieba"
elif [ "${1:-}" = ports ]; then                 # Zig, which compiles for the other systems, is what pip fetches
    packages="gcc-mingw-w64-x86-64-posix wine64 gcc-aarch64-linux-gnu qemu-user dpkg-dev python3-venv python3-pip"
elif [ "${1:-}" = wasm ]; then                  # npm, which Debian splits into hundreds of packages, is not needed
    packages="nodejs node-typescript"
    only=--no-install-recommends
elif [ "${1:-}" = page ]; then                  # without what these recommend, which is many times as much
    packages="chromium fonts-dejavu-core python3"
    only=--no-install-recommends
elif [ "${1:-}" = deploy ]; then
    packages="haproxy iproute2 nginx-light docker-compose systemd logrotate strace debootstrap cpio python3-venv python3-pip"
    only=--no-install-recommends
elif [ "${1:-}" = ci ]; then
    packages="clang clang-tidy cppcheck libclang-rt-14-dev abigail-tools gcovr git"
fi

# On systems without dpkg only what the build needs is known: COMMAND installs it.
root=
[ "$(id -u)" = 0 ] || root=sudo
if command -v dpkg-query > /dev/null; then
    :
elif [ $# -gt 0 ]; then
    [ -n "$check" ] || echo "setup: not a Debian system; please install the counterparts of:" $packages
    exit 0
elif { command -v cmake && command -v ninja && pkg-config --exists jansson libutf8proc oniguruma libzstd zlib libxxhash cmocka; } > /dev/null 2>&1; then
    exit 0
else
    if [ -n "${MINGW_PACKAGE_PREFIX:-}" ]; then                 # MSYS2: for the environment of this shell
        command="pacman -S --needed --noconfirm$(printf " $MINGW_PACKAGE_PREFIX-%s" \
            gcc cmake ninja pkgconf jansson libutf8proc oniguruma xxhash zstd zlib libmicrohttpd cmocka)"
    elif command -v brew > /dev/null; then
        command="brew install cmake ninja pkgconf jansson utf8proc oniguruma xxhash zstd libmicrohttpd cmocka"
    elif command -v dnf > /dev/null; then
        command="${root:+$root }dnf install -y gcc gcc-c++ cmake ninja-build pkgconf jansson-devel utf8proc-devel oniguruma-devel xxhash-devel"
        command="$command libzstd-devel zlib-devel libmicrohttpd-devel libcmocka-devel"
    elif command -v apk > /dev/null; then
        command="${root:+$root }apk add build-base cmake samurai pkgconf jansson-dev utf8proc-dev oniguruma-dev xxhash-dev zstd-dev zlib-dev"
        command="$command libmicrohttpd-dev cmocka-dev"
    elif command -v pacman > /dev/null; then
        command="${root:+$root }pacman -S --needed --noconfirm gcc cmake ninja pkgconf jansson libutf8proc oniguruma xxhash zstd zlib libmicrohttpd cmocka"
    else
        echo "setup: something that the build needs is missing; install the counterparts of:" $packages >&2
        exit 1
    fi
    [ -z "$check" ] || { echo "setup: something that the build needs is missing; install it: $command" >&2; exit 1; }
    echo "setup: $command"
    exec $command
fi

missing=
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2> /dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if [ -n "$check" ]; then
    echo "setup: missing:$missing" >&2
    echo "setup: install them with your package manager, or: sh tools/setup.sh${1:+ $1}" >&2
    exit 1
fi

[ -z "$root" ] || command -v sudo > /dev/null || { echo "setup: needs root (or sudo) to install:$missing" >&2; exit 1; }
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
if ! $root apt-get install -y -qq $only $missing > build/setup.log 2>&1; then      # lists of packages may be old or absent
    $root apt-get update -qq >> build/setup.log 2>&1
    $root apt-get install -y -qq $only $missing >> build/setup.log 2>&1 || { tail -5 build/setup.log >&2; exit 1; }
fi
