#!/bin/sh
# image.sh   does what deploy/Dockerfile says in Debian roots made by debootstrap (image.py), then starts the result as a container would:
# chroot, its user, a read-only root with an empty /tmp, no capability.  No container engine takes part; arm64 is not run.  Needs root.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin
[ "$(id -u)" = 0 ] || { echo "image: needs root, for chroot"; exit 77; }
for tool in debootstrap cpio unshare; do
    command -v $tool > /dev/null || { echo "image: $tool is not installed (sh tools/setup.sh deploy)"; exit 77; }
done
unshare --mount true 2> /dev/null || { echo "image: needs a mount namespace, which is not allowed here"; exit 77; }
root=$PWD/build/image
mkdir -p "$root"
python3 -B tools/check/image.py deploy/Dockerfile "$root" > "$root/settings"
. "$root/settings"
fail() { echo "image: $*" >&2; exit 1; }

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
environment="$environment ROFORMER_PORT=$port"
health=$(echo "$health" | sed "s/8080/$port/")
# (inside COMMAND...)   in the container: chroot and mounts first, which need rights, then the user without any.  It takes the shell's
# place.
inside() {
    exec unshare --mount --propagation private python3 -c '
import ctypes, os, subprocess, sys
image, user, environment = sys.argv[1:4]
for words in (["--bind", image, image], ["--bind", "/proc", image + "/proc"], ["--bind", "/dev", image + "/dev"],
              ["-t", "tmpfs", "none", image + "/tmp"], ["-o", "remount,bind,ro", image]):
    subprocess.run(["mount", *words], check=True)
os.chroot(image)
os.chdir("/")
for capability in range(64):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)      # PR_CAPBSET_DROP
os.setgroups([])
uid, gid = map(int, user.split(":"))
os.setgid(gid)
os.setuid(uid)
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)                   # PR_SET_NO_NEW_PRIVS
os.execve("/usr/bin/env", ["env", *sys.argv[4:]], dict(x.split("=", 1) for x in environment.split()) | {"PATH": "/usr/bin:/bin"})
' "$image" "$user" "$environment" "$@"
}

[ "$(inside id -u)" = "${user%:*}" ] || fail "it does not run as $user"
! (inside sh -c 'touch /here 2> /dev/null || touch /usr/here 2> /dev/null') || fail "the root can be written to"
eval "set -- $command"
inside "$@" 2> "$root/err" &
pid=$!
trap 'kill $pid 2> /dev/null || true' EXIT
tries=0
eval "set -- $health"
until (inside "$@") > /dev/null 2>&1; do
    kill -0 $pid 2> /dev/null && [ $tries -lt 200 ] || { cat "$root/err"; fail "it is not healthy"; }
    sleep 0.1
    tries=$((tries + 1))
done
grep -q '^CapEff:	0*$' /proc/$pid/status || fail "it has capabilities"
[ "$(sed -n 's/^Uid:	\([0-9]*\).*/\1/p' /proc/$pid/status)" = "${user%:*}" ] || fail "it does not run as $user"
answer=$(python3 -c 'import sys, urllib.request; print(len(urllib.request.urlopen(sys.argv[1], b"{\"inputs\": \"a\"}").read()))' "http://127.0.0.1:$port/embed")
[ "$answer" -gt 1000 ] || fail "no vector"
kill $pid
wait $pid || fail "it ended with $?"
trap - EXIT
echo "image: built, and answers as ${user} on a read-only root; $(du -sm "$image" | cut -f1) MB, the program's files $(du -sm "$image/usr/share/roformer" "$image/usr/bin/roformer" | awk '{n += $1} END {print n}') MB"
