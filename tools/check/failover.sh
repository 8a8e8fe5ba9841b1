#!/bin/sh
# failover.sh [PROGRAM]   three replicas behind HAProxy with deploy/haproxy.cfg; under load one is killed, one drained, one reloaded, and
# all are replaced: clients that repeat a request once see no failure (failover.py).  All on this machine's loopback.
set -eu
cd "$(dirname "$0")/../.."
program=${1:-build/release/roformer}
haproxy=$(command -v haproxy || echo /usr/sbin/haproxy)
[ -x "$haproxy" ] || { echo "failover: haproxy is not installed (sh tools/setup.sh deploy)"; exit 77; }
"$program" serve --port 0 -m nowhere 2>&1 | grep -q 'got one without' && { echo "failover: a program without libmicrohttpd"; exit 77; }
exec python3 -B tools/check/failover.py "$program" "$haproxy" deploy/haproxy.cfg
