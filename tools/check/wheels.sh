#!/bin/sh
# wheels.sh OUT — the wheels of `tools/wheel.sh --all OUT` hold what their names promise (wheels.py), pip takes each of
# them for its system, and those that can run here do:
#
#     manylinux x86_64    installed; the command roformer, without and with the models; tests of the package
#     musllinux x86_64    the library in a C program (musl-tools), and the program with its server
#     ... aarch64         both under qemu, of musllinux with the musl of Debian's arm64, which apt fetches
#     win_amd64           both under Wine; Python's part is not run
#     macosx              nothing
#
# The vector of a text is that of the installed package to 1e-6.
# What the machine lacks for a row is said (sh tools/setup.sh ports).
set -eu
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
ports=$PWD/build/ports
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-wheels-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() { echo "check_wheels: $*" >&2; exit 1; }
say() { echo "check_wheels: $*"; }
quietly() { "$@" > "$work/log" 2>&1 || { tail -40 "$work/log" >&2; fail "failed: $*"; }; }

# ---- what is in them -------------------------------------------------------------------------------------------------

tools=build/wheel/tools/bin
[ -x "$tools/python" ] || python3 -m venv build/wheel/tools
quietly "$tools/pip" install -q --only-binary :all: 'auditwheel>=6' pyelftools macholib pefile
"$tools/python" tools/check/wheels.py "$out"/roformer_c-*.whl
for wheel in "$out"/roformer_c-*linux_*.whl; do
    "$tools/auditwheel" show "$wheel" > "$work/show" 2>&1 || { cat "$work/show" >&2; fail "auditwheel show $wheel"; }
    found=$(tr '\n' ' ' < "$work/show" | sed -n 's/.*platform tag: *"\([^"]*\)".*/\1/p')
    promised=$(echo "$wheel" | sed 's/.*-\([a-z]*_[0-9]*_[0-9]*_.*\)\.whl/\1/')
    newest=$(printf '%s\n' "$found" "$promised" | sort -V | tail -1)
    [ "$newest" = "$promised" ] && [ "${found%%linux*}" = "${promised%%linux*}" ] ||
        fail "$wheel: auditwheel says $found"
    say "$promised: auditwheel says $found"
done

serves() {              # PLATFORM COMMAND...: `serve --demo`: its page and an answer; an interrupt ends it
    platform=$1
    shift
    "$@" serve --demo --port 0 2> "$work/served" &
    server=$!
    "$python/python" tools/check/served.py "$work/served" > "$work/got" || { cat "$work/served" >&2; kill $server; fail "$platform: serve"; }
    kill -INT $server
    wait $server || fail "$platform: serve ended with $?"
    say "$platform, serve: $(cat "$work/got")"
}

# ---- the package, here -----------------------------------------------------------------------------------------------

version=$(find "$out" -name 'roformer_c-*.tar.gz' | sed 's/.*-\(.*\)\.tar\.gz/\1/')
text="A dog barks."
python=$work/env/bin
pip_here() { quietly env CC=/bin/false "$python/pip" install -q --only-binary :all: --find-links "$out" "$@"; }
quietly python3 -m venv "$work/env"
pip_here "roformer-c==$version"
"$python/roformer" demo > "$work/demo" 2>&1 && fail "roformer demo without models: expected an error"
grep -q 'pip install roformer-c-models' "$work/demo" || { cat "$work/demo" >&2; fail "roformer demo without models"; }
pip_here "roformer-c-models==$version"
"$python/roformer" demo > "$work/demo" && grep -q medal "$work/demo" || fail "roformer demo does not answer"
code=0
"$python/roformer" nonsense 2> "$work/log" || code=$?
[ $code = 2 ] || fail "roformer nonsense: expected the program's exit code 2, got $code"
"$python/python" -c "import roformer_c as r
print(r.processor(), *r.SentenceTransformer('roformer-small-en-sentences').encode('$text'))" > "$work/expected"
tests="test_sentence test_pipelines test_tokenizer test_index test_numbers test_training test_processes test_program test_docs"
# shellcheck disable=SC2086
(cd python/tests && "$python/python" -W error::ResourceWarning -m unittest -q $tests 2>&1) || fail "a test failed"
say "installed here: command and tests ok"
serves "installed here" "$python/roformer"

# ---- the others ------------------------------------------------------------------------------------------------------

unpacked() {            # PLATFORM: pip's choice for it in $work/PLATFORM
    [ -n "$(find "$out" -name "roformer_c-*-$1.whl")" ] || return 1
    quietly "$python/pip" install -q --no-index --no-deps --only-binary :all: --platform "$1" --target "$work/$1" \
        --find-links "$out" "roformer-c==$version"
    mkdir "$work/$1/roformer_c_models"
    ln -s "$models" "$work/$1/roformer_c_models/models"
    native=$work/$1/roformer_c/native
}
close_to() {            # WHAT VECTOR
    paste -d ' ' "$work/expected" "$2" | awk -v what="$1" '
        NF % 2 == 0 && NF > 200 {
            n = NF / 2
            for (i = 2; i <= n; i++) { d = $i - $(n + i); if (d < 0) d = -d; if (!(d <= worst)) worst = d }
            printf "check_wheels: %s%s: at most %.1e from %s here\n", what, $(n + 1) == "-" ? "" : ", " $(n + 1), worst, $1
            ok = worst <= 1e-6
        }
        END { exit !ok }' || fail "$1: the vector is another: $(cut -c1-200 "$2")"
}
library() {             # PLATFORM FILE COMMAND...: the C program's vector; the command runs it
    platform=$1 file=$2
    shift 2
    "$@" "$native/$file" "$models/roformer-small-en-sentences" "$text" > "$work/got" || fail "$platform: $file"
    tr -d '\r' < "$work/got" > "$work/vector"
    close_to "$platform, library" "$work/vector"
}
program() {             # PLATFORM COMMAND...: the program, which finds the models
    platform=$1
    shift
    "$@" fill-mask "She won the gold [MASK] at the Olympic Games." | grep -q medal || fail "$platform: fill-mask"
    echo "$text" | "$@" embed -q -f jsonl > "$work/got" || fail "$platform: embed"
    tr -d '\r[]' < "$work/got" | tr ',' ' ' | sed 's/^ */- /' > "$work/vector"
    close_to "$platform, program" "$work/vector"
}
compiled() {            # COMPILER OPTION...: wheels.c
    "$@" -std=gnu11 -Iinclude -o "$work/loads.exe" tools/check/wheels.c || fail "$*"
}
models=$PWD/models

if unpacked musllinux_1_2_x86_64; then
    program musllinux_1_2_x86_64 "$native/roformer"
    serves musllinux_1_2_x86_64 "$native/roformer"
    if command -v musl-gcc > /dev/null; then
        compiled musl-gcc
        library musllinux_1_2_x86_64 libroformer.so "$work/loads.exe"
    else say "musl-gcc is not installed: the library for musl is not loaded"; fi
fi
if unpacked manylinux_2_28_aarch64; then
    if command -v qemu-aarch64 aarch64-linux-gnu-gcc > /dev/null; then
        compiled aarch64-linux-gnu-gcc
        qemu="qemu-aarch64 -L /usr/aarch64-linux-gnu"
        # shellcheck disable=SC2086
        library manylinux_2_28_aarch64 libroformer.so $qemu "$work/loads.exe"
        # shellcheck disable=SC2086
        program manylinux_2_28_aarch64 $qemu "$native/roformer"
        # shellcheck disable=SC2086
        serves manylinux_2_28_aarch64 $qemu "$native/roformer"
    else say "qemu-aarch64 or aarch64-linux-gnu-gcc is not installed: nothing of Arm is run"; fi
fi
arm_musl() {            # $work/musl: Debian's musl for arm64; the machine's packages are not touched
    . /etc/os-release
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    apt=$work/apt keys=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 2> /dev/null | grep -m 1 '/debian/*$' ||
        echo http://deb.debian.org/debian)
    echo "deb [signed-by=$keys] $mirror $VERSION_CODENAME main" > "$apt/sources.list"
    : > "$apt/status"
    set -- -qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$apt" \
        -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User= \
        -o APT::Architecture=arm64 -o APT::Architectures=arm64
    quietly apt-get "$@" update
    (cd "$work" && quietly apt-get "$@" download musl)
    dpkg-deb -x "$work"/musl_*.deb "$work/musl"
}
if unpacked musllinux_1_2_aarch64 && command -v qemu-aarch64 > /dev/null; then
    program musllinux_1_2_aarch64 qemu-aarch64 "$native/roformer"
    arm_musl
    compiled "$ports/aarch64-linux-musl/zig-cc" -O2 -dynamic
    library musllinux_1_2_aarch64 libroformer.so qemu-aarch64 -L "$work/musl" "$work/loads.exe"
fi
if unpacked win_amd64; then
    if [ -x "$ports/x86_64-windows/run" ]; then
        compiled x86_64-w64-mingw32-gcc-posix -D__USE_MINGW_ANSI_STDIO=1 -static
        library win_amd64 roformer.dll "$ports/x86_64-windows/run" "$work/loads.exe"
        program win_amd64 "$ports/x86_64-windows/run" "$native/roformer.exe"
        serves win_amd64 "$ports/x86_64-windows/run" "$native/roformer.exe"
    else say "Wine is not installed: nothing of Windows is run"; fi
fi
for platform in macosx_11_0_arm64 macosx_11_0_x86_64; do
    ! unpacked $platform || say "$platform: not run"
done
