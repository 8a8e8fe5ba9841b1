#!/bin/sh
# older.sh [ROOT...] — older and other systems, in roots that mmdebstrap makes (sh tools/setup.sh deb):
#
#     bullseye        Debian 11: glibc 2.31, gcc 10, CMake 3.18, Python 3.9
#     jammy, noble    Ubuntu 22.04 and 24.04; UBUNTU_ARCHIVE is the address of its archive, UBUNTU_KEYRING a folder with its keys
#
# In each (bullseye, if none is named): `make demo`, tests of the kernels, the library and the tokenizer, and, if WHEELS names the folder
# that `tools/wheel.sh --all` made, the wheel of the package, with encode calls.  Roots are kept in build/older.
set -eu
cd "$(dirname "$0")/../.."
fail() { echo "older: $*" >&2; exit 1; }
command -v mmdebstrap > /dev/null || fail "needs mmdebstrap (sh tools/setup.sh deb)"
[ "$(id -u)" = 0 ] || fail "needs root, for chroot"
mkdir -p build/older
[ $# -gt 0 ] || set -- bullseye
for suite; do
    root=$PWD/build/older/$suite log=$PWD/build/older/$suite.log
    include=make,git,ca-certificates,python3-venv,python3-pip
    if [ ! -d "$root" ]; then
        rm -f "$root.tar"
        case $suite in
        jammy | noble)
            mmdebstrap --variant=apt --components='main universe' --keyring="${UBUNTU_KEYRING:?a folder with the keys of Ubuntu}" \
                --include=$include $suite "$root.tar" "${UBUNTU_ARCHIVE:?the address of Ubuntu's archive}" > "$log" 2>&1
            ;;
        *) mmdebstrap --variant=apt --include=$include "$suite" "$root.tar" > "$log" 2>&1 ;;
        esac || { tail -5 "$log" >&2; fail "$suite: no root"; }
        mkdir "$root" && tar -xf "$root.tar" -C "$root" && rm "$root.tar"
        cp -L /etc/resolv.conf "$root/etc/"
    fi
    rm -rf "$root/src" "$root/wheels" && mkdir "$root/src" "$root/wheels"
    git ls-files | tar -c -T - | tar -x -C "$root/src"
    [ -z "${WHEELS:-}" ] || cp "$WHEELS"/*manylinux*_"$(uname -m)".whl "$WHEELS"/roformer_c_models-*.whl "$root/wheels/"
    cat > "$root/script" << 'END'
set -eux
cd /src
make demo
tests='base_test_os kernel_test_ladder kernel_test_gemm_i8 text_test_tokenizer'
cmake --build build/release --target $tests
for test in $tests; do build/release/tests/$test; done
if [ -n "$(ls /wheels)" ]; then
    rm -rf /env && python3 -m venv /env
    /env/bin/pip install -q --only-binary :all: --find-links /wheels roformer-c roformer-c-models
    /env/bin/roformer demo
    /env/bin/python -c 'import roformer_c as r
m = r.SentenceTransformer("roformer-small-en-sentences")
assert m.encode(["A dog.", "Prices fell."]).shape == (2, 256)
assert float(m.similarity(m.encode("A dog barks."), m.encode("A puppy barks."))[0][0]) > 0.5'
fi
END
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" sh /script' "$root" > "$log" 2>&1 || { tail -30 "$log" >&2; fail "$suite: failed, see $log"; }
    echo "older: $suite: ok, $(chroot "$root" sh -c 'gcc -dumpversion; cmake --version | sed -n "s/cmake version //p"; python3 --version' | tr '\n' ' ')"
done
