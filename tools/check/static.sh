#!/bin/sh
# static.sh PROGRAM STATIC — the program of tools/static.sh needs nothing of the system: it answers in a root that holds it and a model
# alone, with the bytes of PROGRAM, which is linked with glibc; and its server answers.
set -eu
cd "$(dirname "$0")/../.."
native=$(realpath "$1") static=$(realpath "$2")
fail() { echo "check_static: $*" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-static-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
! ldd "$static" > /dev/null 2>&1 || fail "$static is linked with shared libraries"
mkdir "$work/root"
cp "$static" "$work/root/roformer"
cp -R models/roformer-small-en models/roformer-small-en-sentences "$work/root/"
[ "$(ls "$work/root" | wc -l)" = 3 ] || fail "the root holds more than the program and models"
printf '%s\n' "A dog barks." "The hound is loud." "Prices fell." > "$work/lines"
enter=
[ "$(id -u)" = 0 ] || enter="unshare --map-root-user"

# In the empty root and outside of it: the same command gives the same bytes.
same() {
    folder=$1
    shift
    (cd models && "$native" "$@" -m "$folder") < "$work/lines" > "$work/glibc"
    # shellcheck disable=SC2086
    env -i PATH="$PATH" $enter chroot "$work/root" /roformer "$@" -m "/$folder" < "$work/lines" > "$work/musl"
    [ -s "$work/glibc" ] && cmp "$work/glibc" "$work/musl" || fail "$*: another answer than that of $native"
}
for dtype in f32 bf16 int8; do
    same roformer-small-en fill-mask --dtype $dtype --json --top-k 5 "the capital of france is [MASK] ."
done
same roformer-small-en-sentences similarity
same roformer-small-en-sentences tokenize --json "Une étoile, deux étoiles."

# Chinese words need the dictionary next to the program, which is found where /proc is.
for program in "$native" "$static"; do
    env -i "$program" tokenize -m models/roformer-small-zh --json "今天天气很好。" || fail "$program: no Chinese words"
done > "$work/words"
[ "$(sort -u "$work/words" | wc -l)" = 1 ] && [ "$(wc -l < "$work/words")" = 2 ] || fail "tokenize: other words than those of $native"

# The server, asked by a program outside of the root.
# shellcheck disable=SC2086
env -i PATH="$PATH" $enter chroot "$work/root" /roformer serve -m /roformer-small-en --port 0 > "$work/server" 2>&1 &
server=$!
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
for i in $(seq 100); do
    port=$(sed -n 's|.*http://[^:/]*:\([0-9]*\).*|\1|p' "$work/server" | head -1)
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || { cat "$work/server" >&2; fail "the server does not start"; }
python3 -c 'import sys, urllib.request; print(urllib.request.urlopen("http://127.0.0.1:%s/health" % sys.argv[1]).status)' "$port" | grep -qx 200 ||
    fail "the server does not answer"
echo "check_static: $(wc -c < "$static") bytes; in an empty root: fill-mask in f32, bf16 and int8, similarity and tokenize as with glibc; serve"
