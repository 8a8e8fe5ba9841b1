#!/bin/sh
# deploy.sh [PROGRAM]   the files of deploy/, read by the programs that they are for: systemd (rating at most 2.0), HAProxy, nginx,
# docker-compose, kubernetes-validate (fetched by pip), logrotate (with a server that writes its log).
set -eu
cd "$(dirname "$0")/../.."
program=$(cd "$(dirname "${1:-build/release/roformer}")" && pwd)/roformer
PATH=$PATH:/usr/sbin
for tool in systemd-analyze haproxy nginx docker-compose logrotate strace; do
    command -v $tool > /dev/null || { echo "deploy: $tool is not installed (sh tools/setup.sh deploy)"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-deploy-XXXXXX")
pid=
trap '[ -z "$pid" ] || kill "$pid" 2> /dev/null || true; rm -rf "$work"' EXIT
fail() { echo "deploy: $*" >&2; exit 1; }

echo "== systemd"
systemd-analyze security --offline=true --threshold=20 deploy/roformer.service > "$work/rating" || { tail -3 "$work/rating"; fail "the rating is above 2.0"; }
tail -1 "$work/rating"
mkdir "$work/units"
sed "s|/usr/bin/roformer|$program|" deploy/roformer.service > "$work/units/roformer.service"
cp deploy/roformer.socket "$work/units"
systemd-analyze verify "$work/units/roformer.service" "$work/units/roformer.socket" 2> "$work/verify" || true
! grep "$work/units" "$work/verify" || fail "systemd does not accept the units"
# every option of the command that the unit runs exists, and the program takes the socket that it is given
python3 -B - "$program" <<'END'
import http.client, os, signal, socket, subprocess, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
port = s.getsockname()[1]
code = 'import os, sys; os.dup2(int(sys.argv[2]), 3); os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1"); os.execv(sys.argv[1], [sys.argv[1], "serve"])'
p = subprocess.Popen([sys.executable, "-c", code, sys.argv[1], str(s.fileno())], pass_fds=[s.fileno()], stderr=subprocess.DEVNULL)
s.close()
c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
c.request("GET", "/ping")                      # waits in the socket until the program takes it
assert c.getresponse().status == 200
p.send_signal(signal.SIGTERM)
assert p.wait(60) == 0
print("the program answers on a socket that it inherits")
END

# what the server asks of the kernel, from its start over a request and a reload to its end, the filter allows
strace -f -o "$work/trace" "$program" serve --port 0 --access-log "$work/traced" 2> "$work/err" &
pid=$!
until port=$(sed -n 's|.*listening on http://127.0.0.1:||p' "$work/err"); [ -n "$port" ]; do kill -0 $pid || fail "no server"; sleep 0.05; done
server=$(sed -n '1s/ .*//p' "$work/trace")
until grep -q ' loaded in ' "$work/err"; do kill -0 $pid || fail "no model"; sleep 0.1; done
python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], b"{\"inputs\": [\"a\", \"b c\"]}").read()' "http://127.0.0.1:$port/embed"
kill -HUP "$server"
until [ "$(grep -c ' loaded in ' "$work/err")" = 2 ]; do kill -0 $pid || fail "no second model"; sleep 0.1; done
kill "$server"
wait $pid || fail "the server ended with $?"
pid=
python3 -B tools/check/syscalls.py "$work/trace" deploy/roformer.service || fail "the unit's filter refuses system calls of the server"

echo "== HAProxy, nginx"
haproxy -q -c -f deploy/haproxy.cfg
nginx -q -t -c "$PWD/deploy/nginx.conf"

echo "== docker-compose"
docker-compose -f deploy/docker-compose.yml config > "$work/compose"
[ "$(grep -c 'read_only: true' "$work/compose")" = 4 ] || fail "docker-compose: not all containers are read-only"

echo "== Kubernetes"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q kubernetes-validate 2> "$work/pip" || { tail -3 "$work/pip"; fail "pip"; }
"$work/venv/bin/kubernetes-validate" --strict deploy/kubernetes/*.yaml deploy/kubernetes/batch/*.yaml

echo "== logrotate"
log=$work/access.jsonl
"$program" serve --port 0 --access-log "$log" 2> "$work/err" &
pid=$!
until port=$(sed -n 's|.*listening on http://127.0.0.1:||p' "$work/err"); [ -n "$port" ]; do kill -0 $pid || fail "no server"; sleep 0.05; done
ask() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()' "http://127.0.0.1:$port/ping"; }
ask
sed "s|/var/log/roformer/\*.jsonl|$log|; s|su root root||; s|delaycompress||; s|compress||" deploy/roformer.logrotate > "$work/rotate"
logrotate -f -s "$work/state" "$work/rotate"
[ ! -s "$log" ] && grep -q '"/ping"' "$log.1" || fail "logrotate did not move the lines"
ask
[ "$(wc -l < "$log")" = 1 ] && grep -q '^{.*"/ping"' "$log" || fail "after a rotation, the log is not one whole line"
kill $pid
wait $pid || fail "the server ended with $?"
pid=
echo "deploy: every file is accepted"
